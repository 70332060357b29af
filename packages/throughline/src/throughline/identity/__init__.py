"""Dataset identity: names, aliases and symlinks of one dataset."""

from throughline.identity._classes import Identity, symlinks_of
from throughline.identity._names import DatasetName, canonical_name, glue_table, is_location

__all__ = ["DatasetName", "Identity", "canonical_name", "glue_table", "is_location", "symlinks_of"]
