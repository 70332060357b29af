"""Rewrite events for one kind of backend with minimal loss: pure functions."""

from throughline.delivery.rewrite.datahub import DATAHUB
from throughline.delivery.rewrite.datazone import DATAZONE
from throughline.delivery.rewrite.marquez import MARQUEZ
from throughline.delivery.rewrite.openmetadata import OPENMETADATA
from throughline.delivery.rewrite.rewriting import Rewriting

REWRITINGS = {
    "datahub": DATAHUB,
    "datazone": DATAZONE,
    "marquez": MARQUEZ,
    "openmetadata": OPENMETADATA,
}
"""Rewritings by the `type` of a backend."""

__all__ = ["DATAHUB", "MARQUEZ", "OPENMETADATA", "REWRITINGS", "Rewriting"]
