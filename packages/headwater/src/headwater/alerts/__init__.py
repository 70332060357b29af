"""Alert rules, and the actions that run when one of them is violated."""

from headwater.plugins import Plugin

plugin = Plugin(
    alerts={
        kind: f"headwater.alerts._causes:find_{kind}"
        for kind in ("failed", "lost", "late", "quality", "schema")
    },
    routers=["headwater.alerts.endpoints:router"],
    tables=["headwater.alerts.tables:metadata"],
    workers=["headwater.alerts.watch:workers"],
)
