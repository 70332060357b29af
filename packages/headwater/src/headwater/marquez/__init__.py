"""Marquez's API under /api/v1, over the same state."""

from headwater.plugins import Plugin

plugin = Plugin(routers=["headwater.marquez.endpoints:router"])
