"""Impact: what a change affects, if a column can be dropped, and paths between nodes."""

from headwater.plugin import Plugin

plugin = Plugin(
    commands=["headwater.plugins.impact.commands:commands"],
    queries=["headwater.plugins.impact.queries"],
)
