"""Trust in the lineage: freshness, completeness, health, gates and contracts. Pure functions."""

from headwater.plugins import Plugin

plugin = Plugin(
    commands=["headwater.trust.commands:commands"],
    queries=["headwater.trust.queries"],
    routers=["headwater.trust.endpoints:router"],
    tables=["headwater.trust.tables:metadata"],
)
