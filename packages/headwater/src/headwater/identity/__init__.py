"""Dataset identity: names, aliases and symlinks of one dataset."""

from headwater.identity._classes import Identity, symlinks_of
from headwater.identity._names import (
    DatasetName,
    canonical_name,
    folders_above,
    glue_table,
    is_local,
    is_location,
)
from headwater.identity._places import with_places
from headwater.identity._union import Union

__all__ = [
    "DatasetName",
    "Identity",
    "Union",
    "canonical_name",
    "folders_above",
    "glue_table",
    "is_local",
    "is_location",
    "symlinks_of",
    "with_places",
]
