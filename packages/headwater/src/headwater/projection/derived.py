"""Values derived from the state and never stored: parents, ends, versions.

A run is *open* without an end event, and *lost* (stale) if it is open and silent for too long. A
run without events is only named by others, such as a parent that sends none. Times are
microseconds. A *stamp* is (event time, event hash).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from functools import wraps
from typing import NamedTuple, TypeVar

from headwater.events import EventType
from headwater.events.facets import JobType
from headwater.identity import DatasetName
from headwater.projection.state import DatasetRecord, Run, RunKey, State, Use


class RunState(StrEnum):
    """The state of a run: Marquez's states, and LOST for a stale run without an end event."""

    NEW = "NEW"
    RUNNING = "RUNNING"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    ABORTED = "ABORTED"
    LOST = "LOST"


_ENDS = {
    EventType.COMPLETE: RunState.COMPLETED,
    EventType.FAIL: RunState.FAILED,
    EventType.ABORT: RunState.ABORTED,
}


class Outcome(NamedTuple):
    """The state of a run and its end in microseconds, None if it is open."""

    state: RunState
    ended: int | None


_Answer = TypeVar("_Answer")


def _cached_per_revision(
    derive: Callable[[State, Run], _Answer],
) -> Callable[[State, Run], _Answer]:
    """Cache a derived value until the next event: a run can have thousands of descendants.

    The key in `state.derived` is the name of the function and the run.
    """

    @wraps(derive)
    def cached(state: State, run: Run) -> _Answer:
        key = derive.__name__, run.key
        if key not in state.derived:
            state.derived[key] = derive(state, run)
        answer: _Answer = state.derived[key]
        return answer

    return cached


def resolve(state: State, key: RunKey) -> Run | None:
    """Return the run of a reference: that exact key, or the run with events under its id.

    A producer may name the parent's job differently than the parent itself does. Of several runs
    with events, the one with the least key; a run without events if there is no other.
    """
    exact = state.runs.get(key)
    if exact is not None and exact.has_events:
        return exact
    reported = [key for key in state.runs_by_id.get(key.run_id, ()) if state.runs[key].has_events]
    return state.runs[min(reported)] if reported else exact


def parent_of(state: State, run: Run) -> Run | None:
    """Return the parent; for a run without events, the root that its children name.

    `run.parent` and `run.root_hint` are (stamp, key of the parent).
    """
    register = run.parent or (None if run.has_events else run.root_hint)
    return resolve(state, register[1]) if register else None


def ancestry_of(state: State, run: Run) -> Iterator[Run]:
    """Yield the run and its ancestors, nearest first; stop at a cycle."""
    visited: set[RunKey] = set()
    current: Run | None = run
    while current is not None and current.key not in visited:
        visited.add(current.key)
        yield current
        current = parent_of(state, current)


def has_reported_ancestor(state: State, run: Run) -> bool:
    """Return True if an ancestor has events; one that is only referenced may never have any."""
    return any(ancestor.has_events for ancestor in ancestry_of(state, run) if ancestor is not run)


@_cached_per_revision
def children_of(state: State, run: Run) -> list[Run]:
    """Return the child runs, ordered by key.

    `children` of the records are candidates, also under other jobs of the same run id; those count
    whose parent resolves to this run.
    """
    keys: set[RunKey] = set()
    for key in state.runs_by_id.get(run.key.run_id, ()):
        keys |= state.runs[key].children or set()
    return [
        child
        for child in (state.runs[key] for key in sorted(keys))
        if parent_of(state, child) is run and child is not run
    ]


def descendants_of(state: State, run: Run) -> list[Run]:
    """Return all runs below."""
    descendants: dict[RunKey, Run] = {}
    waiting = [run]
    while waiting:
        for child in children_of(state, waiting.pop()):
            if child.key not in descendants:
                descendants[child.key] = child
                waiting.append(child)
    return list(descendants.values())


def records_of(state: State, name: DatasetName) -> list[DatasetRecord]:
    """Return the records of a dataset under each of its names, the primary one first."""
    names = state.identity.names(name)
    return [record for alias in names if (record := state.datasets.get(alias))]


def start_of(run: Run) -> int | None:
    """Return the time of a run's START event, or else of its first event."""
    return run.started if run.started is not None else run.first


def newest_of(runs: Iterable[Run]) -> Run | None:
    """Return the run that started last; None without runs."""
    return max(runs, key=lambda run: (start_of(run) or 0, run.key), default=None)


def _nearest_with_events(state: State, run: Run) -> list[Run]:
    """Return the nearest descendants that have events, one on each path down.

    They stand for a run without events: descendants below them add nothing to its start and end.
    """
    found: list[Run] = []
    visited = {run.key}
    waiting = [run]
    while waiting:
        for child in children_of(state, waiting.pop()):
            if child.has_events:
                found.append(child)
            elif child.key not in visited:
                visited.add(child.key)
                waiting.append(child)
    return found


@_cached_per_revision
def began_at(state: State, run: Run) -> int | None:
    """Return the start of a run; without events, the earliest start of its descendants."""
    if run.has_events:
        return start_of(run)
    starts = [start_of(descendant) for descendant in _nearest_with_events(state, run)]
    return min((moment for moment in starts if moment is not None), default=None)


@_cached_per_revision
def is_streaming(state: State, run: Run) -> bool:
    """Return True for a streaming run: the job of the nearest ancestor with a type is STREAMING.

    The type is `processingType` of the jobType facet; the run itself comes first.
    """
    kinds = (_processing_type(state, ancestor) for ancestor in ancestry_of(state, run))
    return next((kind for kind in kinds if kind not in ("", "NONE")), "") == "STREAMING"


def _processing_type(state: State, run: Run) -> str:
    return (state.jobs[run.key.job].facets.parsed(JobType).processingType or "").upper()


def _is_launcher(state: State, run: Run, ancestor: Run) -> bool:
    """Return True if an ancestor only started a streaming run, so that its end means nothing."""
    is_batch = ancestor is not run and _processing_type(state, ancestor) == "BATCH"
    return is_batch and is_streaming(state, run)


def outcome(state: State, run: Run) -> Outcome:
    """Return the outcome of a run; without an end, that of its nearest ancestor with one.

    The end of a DAG run ends its open tasks, but not before their last event. A batch run that
    completed does not end the streaming runs that it started, since it only submitted them; if it
    failed or was aborted, its engine stops them too. Runs above that batch run do not count: they
    end with it, while the streaming run continues.
    """
    for ancestor in ancestry_of(state, run):
        if ancestor.end is not None:
            is_completed = ancestor.end[1] is EventType.COMPLETE
            if is_completed and _is_launcher(state, run, ancestor):
                break
            stamp, type_ = ancestor.end
            if ancestor is run:  # events after the end do not extend a run
                return Outcome(_ENDS[type_], stamp.time)
            return Outcome(_ENDS[type_], max(stamp.time, run.last or stamp.time))
    if not run.has_events:
        return _outcome_without_events(state, run)
    return Outcome(RunState.RUNNING if run.is_running else RunState.NEW, None)


def is_lost(state: State, run: Run) -> bool:
    """Return True for an open run if its last event and those below it are before `stale_before`.

    `state.stale_before` is a time before now, a day by default. A streaming run can be silent for
    any time, and so can one that waits for it.
    """
    if outcome(state, run).ended is not None or last_event_time(state, run) >= state.stale_before:
        return False
    members = (run, *descendants_of(state, run))
    return not any(is_streaming(state, m) and outcome(state, m).ended is None for m in members)


@_cached_per_revision
def last_event_time(state: State, run: Run) -> int:
    """Return the time of the last event of a run and of those below it, in microseconds."""
    return max(item.last or 0 for item in (run, *descendants_of(state, run)))


def version_of(run: Run, use: Use) -> str:
    """Return the version of a dataset in a run: the version facet, or else the run id."""
    return use.version or run.key.run_id


def versions_of(run: Run, use: Use) -> list[str]:
    """Return the versions of a dataset in a run, oldest first: as reported, or else the run id."""
    return [version.name for version in use.versions] or [run.key.run_id]


@_cached_per_revision
def _outcome_without_events(state: State, run: Run) -> Outcome:
    """Return the outcome of a run without events; it is over when all of its children are.

    Its end is the last of theirs. Without an end, it is RUNNING, or NEW if no run below has events.
    """
    ends = [descendant.end for descendant in _nearest_with_events(state, run)]
    over = [end for end in ends if end is not None]
    if not over or len(over) < len(ends):
        return Outcome(RunState.RUNNING if ends else RunState.NEW, None)
    stamp, type_ = max(over)
    return Outcome(_ENDS[type_], stamp.time)


def ended_at(state: State, run: Run) -> int:
    """Return the end of a run, or else the time of its last event, in microseconds."""
    return outcome(state, run).ended or run.last or 0
