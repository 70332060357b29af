"""The map of all groups of datasets and jobs, and the list of pipelines."""

from headwater.plugin import Plugin

plugin = Plugin(
    commands=["headwater.plugins.map.commands:commands"],
    queries=["headwater.plugins.map.queries"],
)
