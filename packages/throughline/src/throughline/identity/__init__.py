"""Many names, one dataset."""

from throughline.identity.classes import Identity
from throughline.identity.names import DatasetName, canonical_name, is_location

__all__ = ["DatasetName", "Identity", "canonical_name", "is_location"]
