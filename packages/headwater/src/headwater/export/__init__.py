"""Export the projection as JSON, diagrams and Parquet tables."""

from headwater.plugins import Plugin

plugin = Plugin(
    commands=["headwater.export.commands:commands"], queries=["headwater.export.queries"]
)
