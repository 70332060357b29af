"""Search, lists of datasets, jobs, owners and tags, and the freshness of datasets."""

from headwater.plugin import Plugin

plugin = Plugin(
    commands=["headwater.plugins.search.commands:commands"],
    queries=["headwater.plugins.search.queries"],
    workers=["headwater.plugins.search.background:workers"],
)
