"""The datasets of each version that runs reported."""

from __future__ import annotations

from headwater.identity import DatasetName
from headwater.projection import State


class Versions:
    """The reported names of datasets by version; a version that a run withdrew stays."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._names: dict[str, tuple[DatasetName, ...]] = {}
        self._revision = -1

    def datasets(self, version: str) -> set[DatasetName]:
        """Return the datasets that may have a version: a reported one, or the id of a run."""
        state = self._state
        changed = state.changed_runs.since(self._revision)
        for key in state.runs if changed is None else changed:
            for name, use in state.runs[key].outputs.items():
                for written in use.versions:
                    names = self._names.get(written.name, ())
                    if name not in names:
                        self._names[written.name] = (*names, name)
        self._revision = state.revision
        by_id = (state.runs[key].outputs for key in state.runs_by_id.get(version, ()))
        found = {*self._names.get(version, ()), *(name for outputs in by_id for name in outputs)}
        return {dataset for name in found for dataset in state.identity.datasets(name)}
