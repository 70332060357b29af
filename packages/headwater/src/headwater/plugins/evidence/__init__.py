"""Evidence: why an edge is believed, and the code that writes a column."""

from headwater.plugin import Plugin

plugin = Plugin(
    commands=["headwater.plugins.evidence.commands:commands"],
    queries=["headwater.plugins.evidence.queries"],
)
