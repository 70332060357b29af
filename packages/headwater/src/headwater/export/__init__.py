"""Export the projection as JSON, diagrams and Parquet tables."""

from headwater.plugins import Plugin

plugin = Plugin(queries=["headwater.export.queries"])
