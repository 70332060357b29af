"""Rewrite events for one kind of backend with minimal loss: pure functions."""

from throughline.delivery.rewrite._datahub import DATAHUB
from throughline.delivery.rewrite._marquez import MARQUEZ
from throughline.delivery.rewrite._openmetadata import OPENMETADATA
from throughline.delivery.rewrite._rewriting import Rewriting
from throughline.delivery.rewrite.datazone import DATAZONE

REWRITINGS = {
    "datahub": DATAHUB,
    "datazone": DATAZONE,
    "marquez": MARQUEZ,
    "openmetadata": OPENMETADATA,
}
"""Rewritings by the `type` of a backend."""

__all__ = ["DATAHUB", "MARQUEZ", "OPENMETADATA", "REWRITINGS", "Rewriting"]
