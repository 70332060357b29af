"""Alert rules, and the actions that run when one of them is violated."""

from headwater.plugins import Plugin

plugin = Plugin(
    routers=["headwater.alerts.endpoints:router"],
    tables=["headwater.alerts.tables:metadata"],
    workers=["headwater.alerts.watch:workers"],
)
