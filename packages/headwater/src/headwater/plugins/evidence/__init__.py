"""Evidence of edges, and the code that writes a column."""

from headwater.plugin import Plugin

plugin = Plugin(
    commands=["headwater.plugins.evidence.commands:commands"],
    queries=["headwater.plugins.evidence.queries"],
)
