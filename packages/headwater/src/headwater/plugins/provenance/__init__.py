"""Provenance: every run, input version and code version that contents come from."""

from headwater.plugin import Plugin

plugin = Plugin(
    commands=["headwater.plugins.provenance.commands:commands"],
    queries=["headwater.plugins.provenance.queries"],
)
