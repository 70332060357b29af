"""Retention: delete old events that no query about the retained period needs."""

from headwater.plugin import Plugin

plugin = Plugin(
    commands=["headwater.plugins.retention.commands:commands"],
    workers=["headwater.plugins.retention.pruner:workers"],
)
