"""Retention: delete old events that no query about the retained period needs."""

from headwater.plugins import Plugin

plugin = Plugin(
    commands=["headwater.retention.commands:commands"],
    workers=["headwater.retention.pruner:workers"],
)
