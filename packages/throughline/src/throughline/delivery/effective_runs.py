"""The effective runs of a job, for backends that store lineage per job instead of per run."""

from __future__ import annotations

from heapq import nlargest

from throughline.events import EventType, JobRef
from throughline.graph.levels import Level, Levels
from throughline.projection import Run, RunKey, State, start_of
from throughline.projection.derived import children_of

_MOST_CHECKED = 5  # number of completed runs to search for one with data
_MOST_SIBLINGS = 100  # otherwise the payloads of a task of n elements would take n² space

NewestRuns = dict[JobRef, RunKey | None]
"""A cache of the newest completed run with inputs or outputs, by job."""


def effective_runs(state: State, run: Run, newest_runs: NewestRuns) -> list[Run]:
    """Return the runs that determine a job's inputs and outputs after an event of `run`."""
    members = with_subruns(state, [run, *_siblings(state, run)])
    job = run.key.job
    newest = _newest_completed(state, job, newest_runs)
    if newest is not None and newest.key in {member.key for member in members}:
        newest = None
    if newest is not None and start_time(newest) > start_time(run):
        return with_subruns(state, [newest, *_siblings(state, newest)])
    if _is_completed(run) and any(member.inputs or member.outputs for member in members):
        newest_runs[job] = run.key
        return members
    if newest is None:
        return members
    return members + with_subruns(state, [newest, *_siblings(state, newest)])


def _find_newest_completed(state: State, job: JobRef) -> RunKey | None:
    record = state.jobs.get(job)  # None for a view, whose derivation has the place of a job
    runs = record.runs if record else ()
    completed = filter(_is_completed, map(state.runs.__getitem__, runs))
    for run in nlargest(_MOST_CHECKED, completed, key=start_time):
        if any(member.inputs or member.outputs for member in with_subruns(state, [run])):
            return run.key
    return None


def _is_completed(run: Run) -> bool:
    return run.end is not None and run.end[1] is EventType.COMPLETE


def start_time(run: Run) -> int:
    """Return the start of a run in microseconds; 0 if it is unknown."""
    return start_of(run) or 0


def _siblings(state: State, run: Run) -> list[Run]:
    if run.parent is None:
        return []
    children = state.runs[run.parent[1]].children or set()
    fewer, others = sorted((children, state.jobs[run.key.job].runs), key=len)
    siblings = [state.runs[key] for key in fewer if key in others and key != run.key]
    if len(siblings) > _MOST_SIBLINGS:
        siblings = nlargest(_MOST_SIBLINGS, siblings, key=lambda run: (start_time(run), run.key))
    return siblings


def newest_effective_runs(state: State, job: JobRef, newest_runs: NewestRuns) -> list[Run]:
    """Return the effective runs of a job's newest completed run with data; empty without one."""
    newest = _newest_completed(state, job, newest_runs)
    return [] if newest is None else with_subruns(state, [newest, *_siblings(state, newest)])


def _newest_completed(state: State, job: JobRef, newest_runs: NewestRuns) -> Run | None:
    if job not in newest_runs:
        newest_runs[job] = _find_newest_completed(state, job)
    key = newest_runs[job]
    return None if key is None else state.runs[key]


def with_subruns(state: State, runs: list[Run]) -> list[Run]:
    """Return the runs with their descendants below task level; pipelines are not expanded."""
    levels, members = Levels(state), {run.key: run for run in runs}
    waiting = [run for run in runs if levels.of(run.key.job) <= Level.TASK]
    while waiting:
        for child in children_of(state, waiting.pop()):
            if child.key not in members and levels.of(child.key.job) < Level.TASK:
                members[child.key] = child
                waiting.append(child)
    return list(members.values())
