"""Rewrite events for one kind of backend with minimal loss: pure functions."""

from headwater.plugins.delivery.rewrite._datahub import DATAHUB
from headwater.plugins.delivery.rewrite._marquez import MARQUEZ
from headwater.plugins.delivery.rewrite._openmetadata import OPENMETADATA
from headwater.plugins.delivery.rewrite._rewriting import Rewriting
from headwater.plugins.delivery.rewrite.datazone import DATAZONE

REWRITINGS = {
    "datahub": DATAHUB,
    "datazone": DATAZONE,
    "marquez": MARQUEZ,
    "openmetadata": OPENMETADATA,
}
"""Rewritings by the `type` of a backend."""

__all__ = ["DATAHUB", "MARQUEZ", "OPENMETADATA", "REWRITINGS", "Rewriting"]
