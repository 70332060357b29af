"""Marquez's API under /api/v1, over the same state."""

from headwater.plugin import Plugin

plugin = Plugin(routers=["headwater.plugins.marquez.endpoints:router"])
