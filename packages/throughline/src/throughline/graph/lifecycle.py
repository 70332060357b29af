"""Changes of datasets as a whole: dropped, emptied and renamed ones."""

from __future__ import annotations

from math import inf

from throughline.identity import DatasetName
from throughline.projection import State
from throughline.projection.derived import records_of


def lifecycle_of(state: State, name: DatasetName) -> list[tuple[int, str]]:
    """Return the changes of a dataset under all of its names, oldest first, with their times."""
    changes = {
        (stamp.time, kind)
        for record in records_of(state, name)
        for stamp, kind in (record.lifecycle or {}).items()
    }
    return sorted(changes)


def emptied_at(state: State, name: DatasetName, until: float = inf) -> float:
    """Return the last time at which no earlier row was left in a dataset.

    Without a time, a dropped or moved dataset keeps its last rows, so that its lineage can still be
    shown. A renamed dataset takes the rows of another one, which the renaming job reads.
    """
    kinds = {"TRUNCATE", "RENAME"} if until == inf else {"DROP", "TRUNCATE", "RENAME", "MOVE"}
    times = (time for time, kind in lifecycle_of(state, name) if kind in kinds and time < until)
    return max(times, default=-inf)
