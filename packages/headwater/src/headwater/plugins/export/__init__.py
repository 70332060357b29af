"""Export the projection as JSON, diagrams and Parquet tables."""

from headwater.plugin import Plugin

plugin = Plugin(
    commands=["headwater.plugins.export.commands:commands"],
    queries=["headwater.plugins.export.queries"],
)
