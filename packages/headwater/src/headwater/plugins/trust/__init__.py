"""Trust in the lineage: completeness, findings, problems, gates and contracts."""

from headwater.plugin import Plugin

plugin = Plugin(
    alerts={"completeness": "headwater.plugins.trust.completeness:find_violations"},
    commands=["headwater.plugins.trust.commands:commands"],
    mutes=["headwater.plugins.trust.finding_states:muted"],
    queries=["headwater.plugins.trust.queries"],
    routers=["headwater.plugins.trust.endpoints:router"],
    tables=["headwater.plugins.trust.tables:metadata"],
)
