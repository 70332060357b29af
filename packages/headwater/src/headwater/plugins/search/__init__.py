"""Search and lists: datasets, jobs, owners, tags, and when datasets are due."""

from headwater.plugin import Plugin

plugin = Plugin(
    commands=["headwater.plugins.search.commands:commands"],
    queries=["headwater.plugins.search.queries"],
)
