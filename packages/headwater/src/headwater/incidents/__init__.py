"""Incidents: who made and used a version of a dataset."""

from headwater.plugins import Plugin

plugin = Plugin(
    commands=["headwater.incidents.commands:commands"],
    queries=["headwater.incidents.queries"],
)
