"""Impact of a change, the verdict on dropping a column, and paths between nodes."""

from headwater.plugin import Plugin

plugin = Plugin(
    commands=["headwater.plugins.impact.commands:commands"],
    queries=["headwater.plugins.impact.queries"],
)
