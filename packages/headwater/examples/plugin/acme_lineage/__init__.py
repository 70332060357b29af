"""ACME's plugin for headwater. This module should import nothing else, to load quickly."""

from headwater.plugin import Plugin

plugin = Plugin(
    backends={"csv": "acme_lineage.backend:Csv"},
    findings=["acme_lineage.owners:tables_without_owner"],
)
