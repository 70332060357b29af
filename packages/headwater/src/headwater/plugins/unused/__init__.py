"""Unused datasets: written by jobs, and not read for some time."""

from headwater.plugin import Plugin

plugin = Plugin(
    commands=["headwater.plugins.unused.commands:commands"],
    queries=["headwater.plugins.unused.queries"],
)
