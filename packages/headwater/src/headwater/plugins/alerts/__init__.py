"""Alert rules, and the actions that run when one of them is violated."""

from headwater.plugin import Plugin

plugin = Plugin(
    alerts={
        kind: f"headwater.plugins.alerts._causes:find_{kind}"
        for kind in ("failed", "lost", "late", "quality", "schema")
    },
    routers=["headwater.plugins.alerts.endpoints:router"],
    tables=["headwater.plugins.alerts.tables:metadata"],
    workers=["headwater.plugins.alerts.watch:workers"],
)
