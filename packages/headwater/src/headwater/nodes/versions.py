"""The datasets of each version that runs reported to have written or read."""

from __future__ import annotations

from collections.abc import Iterator

from headwater import deadline
from headwater.datasets.writes import writes_of
from headwater.graph.current import generations_of
from headwater.identity import DatasetName
from headwater.kept import kept
from headwater.projection import RunKey, State
from headwater.projection.derived import records_of


def datasets_with_version(state: State, version: str) -> list[DatasetName]:
    """Return the datasets with a version: a reported one, or the id of a run that wrote it.

    Names are primary names, sorted.
    """
    candidates = sorted(kept(state, _Versions).datasets(version))
    return [name for name in deadline.watched(candidates) if has_version(state, name, version)]


def has_version(state: State, name: DatasetName, version: str) -> bool:
    """Return True if a run wrote a version of a dataset, or reported to have read it."""
    writes = writes_of(generations_of(state), name)
    return any(write.version == version for write in writes) or version in versions_read(
        state, name
    )


def versions_read(state: State, name: DatasetName) -> set[str]:
    """Return the versions of a dataset that runs reported to have read."""
    return {
        version
        for record in records_of(state, name)
        for key in deadline.watched(record.readers)
        if (use := state.runs[key].inputs.get(record.name)) is not None
        for version in use.version_names
    }


class _Versions:
    """The reported names of datasets by version; a version that a run withdrew stays.

    One object belongs to a state and reads only the runs that changed since it was last used.
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self._names: dict[str, tuple[DatasetName, ...]] = {}
        self._revision = -1

    def datasets(self, version: str) -> set[DatasetName]:
        """Return the datasets that may have a version: a reported one, or the id of a run.

        Only runs that changed since the last call are read; all if too many did (None).
        """
        state = self._state
        changed = state.changed_runs.since(self._revision)
        for key in state.runs if changed is None else changed:
            for name, used in self._reported(key):
                names = self._names.get(used, ())
                if name not in names:
                    self._names[used] = (*names, name)
        self._revision = state.revision
        by_id = (state.runs[key].outputs for key in state.runs_by_id.get(version, ()))
        found = {*self._names.get(version, ()), *(name for outputs in by_id for name in outputs)}
        return {dataset for name in found for dataset in state.identity.datasets(name)}

    def _reported(self, key: RunKey) -> Iterator[tuple[DatasetName, str]]:
        """Yield the datasets with the versions that a run wrote or read."""
        run = self._state.runs[key]
        for uses in (run.outputs, run.inputs):
            for name, use in uses.items():
                yield from ((name, version.name) for version in use.versions)
