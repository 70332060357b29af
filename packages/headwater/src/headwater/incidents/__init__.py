"""Versions and incidents: who wrote and used a version, and what to do if it is bad."""

from headwater.plugins import Plugin

plugin = Plugin(
    alerts={"incident": "headwater.incidents.alerts:find_incidents"},
    commands=["headwater.incidents.commands:commands"],
    queries=["headwater.incidents.queries"],
    routers=["headwater.incidents.endpoints:router"],
)
