"""One run in a line: its state, start, end and code."""

from __future__ import annotations

from functools import partial
from urllib.parse import unquote

from headwater import deadline
from headwater.events import JobRef, shown_time
from headwater.events.facets import SourceCodeLocation
from headwater.graph.current import generations_of
from headwater.graph.nodes import name_of
from headwater.projection import Run, RunState, State, outcome
from headwater.projection.derived import began_at, is_lost, is_streaming, last_event_time
from headwater.query.models import CodeLocation
from headwater.runs.models import RunSummary


def newest_run(state: State, ref: JobRef) -> Run | None:
    """Return the run of a job that started last."""
    newest = partial(max, key=partial(place_of_run, state), default=None)
    found: Run | None = generations_of(state).of_runs(ref, "newest run", newest)
    return found


def place_of_run(state: State, run: Run) -> tuple[int | str, ...]:
    """Return the sort key of a run: its start, then its id."""
    return began_at(state, run) or 0, run.key.run_id, *run.key.job


def condition_of(state: State, run: Run) -> RunState:
    """Return the state of a run; LOST if it has no end event and its last event is too old."""
    return RunState.LOST if is_lost(state, run) else outcome(state, run).state


def run_line(state: State, run: Run) -> RunSummary:
    """Return a run in one line: job, state, start, end and duration.

    Times are in UTC as text. `durationMs` is None while the run is open.
    """
    deadline.check()
    condition, ended = condition_of(state, run), outcome(state, run).ended
    started = began_at(state, run)
    line: RunSummary = {
        "runId": run.key.run_id,
        "job": name_of(run.key.job),
        "state": condition,
        "startedAt": shown_time(started),
        "endedAt": shown_time(ended),
        "durationMs": None if (lasted := duration(state, run)) is None else lasted // 1_000,
    }
    if condition is RunState.RUNNING and is_streaming(state, run):
        line["lastEventAt"] = shown_time(last_event_time(state, run))
    return line


def duration(state: State, run: Run) -> int | None:
    """Return the microseconds from start to end; None if only the end of the run was reported."""
    started, ended = began_at(state, run), outcome(state, run).ended
    if ended is None or started is None or (run.started is None and started == ended):
        return None
    return ended - started


def code_of(run: Run) -> CodeLocation:
    """Return the location of a run's code (sourceCodeLocation); empty if it was not reported.

    A local repository is a path; some producers report it as a `file://` URL.
    """
    if not run.code.get(SourceCodeLocation.KEY):
        return {}
    place = run.code.parsed(SourceCodeLocation)
    repository = place.repoUrl
    if repository and repository.startswith("file:///"):
        repository = unquote(repository.removeprefix("file://"))
    return {"repoUrl": repository, "path": place.path, "version": place.version}
