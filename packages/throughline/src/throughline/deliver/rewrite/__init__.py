"""Rewrite events for one kind of backend with minimal loss: pure functions."""

from throughline.deliver.rewrite.datahub_facts import DATAHUB
from throughline.deliver.rewrite.datazone import DATAZONE
from throughline.deliver.rewrite.marquez import MARQUEZ
from throughline.deliver.rewrite.openmetadata import OPENMETADATA
from throughline.deliver.rewrite.rewriting import Rewrite, Rewriting

REWRITINGS = {
    "datahub": DATAHUB,
    "datazone": DATAZONE,
    "marquez": MARQUEZ,
    "openmetadata": OPENMETADATA,
}
"""Rewritings by the `type` of a backend."""

__all__ = ["DATAHUB", "REWRITINGS", "Rewrite", "Rewriting"]
