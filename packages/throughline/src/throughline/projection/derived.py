"""What follows from the state and is never stored: parents, ends, versions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum
from functools import wraps
from typing import NamedTuple, TypeVar

from throughline.projection.state import Run, RunKey, State, Use
from throughline.spec import EventType


class RunState(StrEnum):
    """The state of a run, in Marquez's words, and one more: no end came, and nothing else does."""

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
    """How a run stands, and since when it is over."""

    state: RunState
    ended: int | None


_Answer = TypeVar("_Answer")


def _once(
    derive: Callable[[State, Run], _Answer],
) -> Callable[[State, Run], _Answer]:
    """Derive it once until the next event: a run can have many thousand others below it."""

    @wraps(derive)
    def remembered(state: State, run: Run) -> _Answer:
        key = derive.__name__, run.key
        if key not in state.derived:
            state.derived[key] = derive(state, run)
        answer: _Answer = state.derived[key]
        return answer

    return remembered


def resolve(state: State, key: RunKey) -> Run | None:
    """The run that a reference means: exactly that one, or the one known under its run id."""
    exact = state.runs.get(key)
    if exact is not None and exact.is_known:
        return exact
    known = [k for k in state.runs_by_id.get(key.run_id, ()) if state.runs[k].is_known]
    return state.runs[min(known)] if known else exact


def parent_of(state: State, run: Run) -> Run | None:
    """The run above; for a run that never spoke, the root that its children name."""
    register = run.parent or (None if run.is_known else run.hint)
    return resolve(state, register[1]) if register else None


def lineage_of(state: State, run: Run) -> Iterator[Run]:
    """The run itself and those above it, nearest first; a circle ends where it closes."""
    seen: set[RunKey] = set()
    above: Run | None = run
    while above is not None and above.key not in seen:
        seen.add(above.key)
        yield above
        above = parent_of(state, above)


def is_below_known(state: State, run: Run) -> bool:
    """Whether a run that spoke is above; one that others only name may never come."""
    return any(above.is_known for above in lineage_of(state, run) if above is not run)


@_once
def children_of(state: State, run: Run) -> list[Run]:
    """The runs right below, in the order of their keys."""
    named: set[RunKey] = set()
    for key in state.runs_by_id.get(run.key.run_id, ()):
        named |= state.runs[key].children or set()
    return [
        child
        for child in (state.runs[key] for key in sorted(named))
        if parent_of(state, child) is run and child is not run
    ]


def descendants_of(state: State, run: Run) -> list[Run]:
    """Every run below."""
    found: dict[RunKey, Run] = {}
    open_ = [run]
    while open_:
        for child in children_of(state, open_.pop()):
            if child.key not in found:
                found[child.key] = child
                open_.append(child)
    return list(found.values())


def start_of(run: Run) -> int | None:
    """When a run began: its START, or else the first thing heard of it."""
    return run.started if run.started is not None else run.first


def _first_that_spoke(state: State, run: Run) -> list[Run]:
    """Of what is below a run that never spoke, the first that did on each way down."""
    found: list[Run] = []
    seen = {run.key}
    silent = [run]
    while silent:
        for child in children_of(state, silent.pop()):
            if child.is_known:
                found.append(child)
            elif child.key not in seen:
                seen.add(child.key)
                silent.append(child)
    return found


@_once
def begin_of(state: State, run: Run) -> int | None:
    """When a run began; one that never spoke began with the first run below it."""
    if run.is_known:
        return start_of(run)
    starts = [start_of(each) for each in _first_that_spoke(state, run)]
    return min((moment for moment in starts if moment is not None), default=None)


def outcome(state: State, run: Run) -> Outcome:
    """How a run stands. One without an end takes it from the nearest run above that has one."""
    for above in lineage_of(state, run):
        if above.end is not None:
            stamp, type_ = above.end
            if above is run:  # an event that comes after its end makes a run no longer
                return Outcome(_ENDS[type_], stamp.time)
            return Outcome(_ENDS[type_], max(stamp.time, run.last or stamp.time))
    if not run.is_known:
        return _outcome_of_silent(state, run)
    return Outcome(RunState.RUNNING if run.is_running else RunState.NEW, None)


def is_lost(state: State, run: Run) -> bool:
    """Whether a run is open, and it and all below it have been silent for too long."""
    if outcome(state, run).ended is not None:
        return False
    return _last_heard(state, run) < state.silent_before


@_once
def _last_heard(state: State, run: Run) -> int:
    return max(each.last or 0 for each in (run, *descendants_of(state, run)))


def version_of(run: Run, use: Use) -> str:
    """The version of a dataset that a run met: the version facet, or else the run itself."""
    return use.version[1] if use.version else run.key.run_id


@_once
def _outcome_of_silent(state: State, run: Run) -> Outcome:
    """A run that never spoke is over when all that it started is."""
    ends = [each.end for each in _first_that_spoke(state, run)]
    over = [end for end in ends if end is not None]
    if not over or len(over) < len(ends):
        return Outcome(RunState.RUNNING if ends else RunState.NEW, None)
    stamp, type_ = max(over)
    return Outcome(_ENDS[type_], stamp.time)
