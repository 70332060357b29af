"""Cache of values that depend on events and on which open runs are stale."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from math import inf
from typing import TypeVar, cast

from headwater.events import JobRef
from headwater.graph.current import generations_of
from headwater.projection import Run, State
from headwater.projection.derived import last_event_time

Answer = TypeVar("Answer")


def until_stale(compute: Callable[[State], Answer]) -> Callable[[State], Answer]:
    """Cache the result of a function of a state that depends on which runs are stale.

    The result is valid until the next event, or until an open run becomes stale.

    A run is stale if it has no end event and no event since `state.stale_before`. That time moves
    on with each query, but the result only changes when it passes the last event of an open run.
    `state.derived`, which every event empties, has the range of that time and the result.
    """

    @wraps(compute)
    def cached(state: State) -> Answer:
        since, until, answer = state.derived.get(compute, (inf, -inf, None))
        if not since <= state.stale_before <= until:
            now = state.stale_before
            answer = compute(state)
            state.derived[compute] = now, _next_stale(state), answer
        return cast("Answer", answer)

    return cached


def _next_stale(state: State) -> float:
    """Return the time of the last event of the open run that becomes stale next."""
    jobs = jobs_with_open_runs(state)
    times = (last_event_time(state, run) for ref in jobs for run in _open_runs(state, ref))
    return min((time for time in times if time >= state.stale_before), default=inf)


def jobs_with_open_runs(state: State) -> set[JobRef]:
    """Return the jobs with a run without an end event."""
    generations = generations_of(state)
    return generations.jobs_where("open", lambda ref: bool(_open_runs(state, ref)), _is_open)


def _open_runs(state: State, ref: JobRef) -> list[Run]:
    generations = generations_of(state)
    return generations.of_runs(ref, "open", lambda runs: [run for run in runs if _is_open(run)])


def _is_open(run: Run) -> bool:
    return run.end is None
