"""Events rewritten so that one kind of backend takes them and loses least: pure functions."""

from throughline.deliver.rewrite.datahub_kept import DATAHUB
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
"""By the `type` of a backend."""

__all__ = ["DATAHUB", "REWRITINGS", "Rewrite", "Rewriting"]
