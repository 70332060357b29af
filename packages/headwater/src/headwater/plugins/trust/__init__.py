"""Trust in the lineage: freshness, completeness, health, gates and contracts. Pure functions."""

from headwater.plugin import Plugin

plugin = Plugin(
    alerts={"completeness": "headwater.plugins.trust.completeness:find_violations"},
    commands=["headwater.plugins.trust.commands:commands"],
    mutes=["headwater.plugins.trust.finding_states:muted"],
    queries=["headwater.plugins.trust.queries"],
    routers=["headwater.plugins.trust.endpoints:router"],
    tables=["headwater.plugins.trust.tables:metadata"],
)
