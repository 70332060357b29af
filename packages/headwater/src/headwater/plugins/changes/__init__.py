"""Changes over time: history, timeline and differences between two moments."""

from headwater.plugin import Plugin

plugin = Plugin(
    commands=["headwater.plugins.changes.commands:commands"],
    queries=["headwater.plugins.changes.queries"],
)
