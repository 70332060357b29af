"""Aliases: names of one dataset, joined by symlinks or by users."""

from headwater.plugin import Plugin

plugin = Plugin(
    commands=["headwater.plugins.aliases.commands:commands"],
    queries=["headwater.plugins.aliases.queries"],
    routers=["headwater.plugins.aliases.endpoints:router"],
)
