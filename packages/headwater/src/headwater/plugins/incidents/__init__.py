"""Versions and incidents: who wrote and used a version, and what to do if it is bad."""

from headwater.plugin import Plugin

plugin = Plugin(
    alerts={"incident": "headwater.plugins.incidents.alerts:find_incidents"},
    commands=["headwater.plugins.incidents.commands:commands"],
    queries=["headwater.plugins.incidents.queries"],
    routers=["headwater.plugins.incidents.endpoints:router"],
)
