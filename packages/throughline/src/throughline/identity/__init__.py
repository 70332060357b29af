"""Dataset identity: names, aliases and symlinks of one dataset."""

from throughline.identity._classes import Identity, symlinks_of
from throughline.identity._names import (
    DatasetName,
    canonical_name,
    glue_table,
    is_local,
    is_location,
)
from throughline.identity._places import with_places
from throughline.identity._union import Union

__all__ = [
    "DatasetName",
    "Identity",
    "Union",
    "canonical_name",
    "glue_table",
    "is_local",
    "is_location",
    "symlinks_of",
    "with_places",
]
