"""The number of runs with events, updated after events instead of being counted again."""

from __future__ import annotations

from headwater.kept import kept
from headwater.projection import RunKey, State


def number_of_reported_runs(state: State) -> int:
    """Return the number of runs that sent events; others are only named by their children."""
    silent = kept(state, _SilentRuns)  # the object of this state, from the first call on
    silent.update()
    return len(state.runs) - len(silent.keys)


class _SilentRuns:
    """The runs without events, as of the last update."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._revision = -1
        self.keys: set[RunKey] = set()

    def update(self) -> None:
        """Check the runs that changed since the last update, or all if these are not recorded."""
        runs = self._state.runs
        changed = None
        if self._revision >= 0:
            changed = self._state.changed_runs.since(self._revision)
        if changed is None:
            self.keys = {key for key, run in runs.items() if not run.has_events}
        for key in changed or ():
            (self.keys.discard if runs[key].has_events else self.keys.add)(key)
        self._revision = self._state.revision
