"""ACME's plugin of headwater; a module with a plugin imports nothing else."""

from headwater.plugins import Plugin

plugin = Plugin(
    backends={"csv": "acme_lineage.backend:Csv"},
    findings=["acme_lineage.owners:tables_without_owner"],
)
