"""Trust in the lineage: freshness, completeness, health, gates and contracts. Pure functions."""

from headwater.plugins import Plugin

plugin = Plugin(
    alerts={"completeness": "headwater.trust.completeness:find_violations"},
    commands=["headwater.trust.commands:commands"],
    mutes=["headwater.trust.finding_states:muted"],
    queries=["headwater.trust.queries"],
    routers=["headwater.trust.endpoints:router"],
    tables=["headwater.trust.tables:metadata"],
)
