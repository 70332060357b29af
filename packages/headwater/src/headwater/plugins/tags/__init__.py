"""Tags of datasets and columns, and everything that inherits a tag."""

from headwater.plugin import Plugin

plugin = Plugin(
    commands=["headwater.plugins.tags.commands:commands"],
    queries=["headwater.plugins.tags.queries"],
)
