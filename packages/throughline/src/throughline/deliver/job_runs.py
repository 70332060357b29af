"""Which runs stand for a job, for backends that keep what a job does rather than each run of it."""

from __future__ import annotations

from heapq import nlargest

from throughline.graph.levels import Level, Levels
from throughline.projection import Run, RunKey, State, start_of
from throughline.projection.derived import children_of
from throughline.spec import EventType, JobRef

_LOOKED_BACK = 5  # completed runs among which one is looked for that did something
_MOST_SIBLINGS = 100  # else what is sent of a task of n elements would grow with the square of n

Done = dict[JobRef, RunKey | None]
"""The newest run of each job that completed and read or wrote something, as far as was asked."""


def generation_of(state: State, run: Run, done: Done) -> list[Run]:
    """The runs whose datasets are those of the job once this run has come so far."""
    members = members_of(state, [run, *_siblings(state, run)])
    job = run.key.job
    newest = _newest(state, job, done)
    if newest is not None and newest.key in {each.key for each in members}:
        newest = None
    if newest is not None and began(newest) > began(run):
        return members_of(state, [newest, *_siblings(state, newest)])
    if _is_completed(run) and any(each.inputs or each.outputs for each in members):
        done[job] = run.key
        return members
    if newest is None:
        return members
    return members + members_of(state, [newest, *_siblings(state, newest)])


def _find_newest(state: State, job: JobRef) -> RunKey | None:
    completed = filter(_is_completed, map(state.runs.__getitem__, state.jobs[job].runs))
    for run in nlargest(_LOOKED_BACK, completed, key=began):
        if any(each.inputs or each.outputs for each in members_of(state, [run])):
            return run.key
    return None


def _is_completed(run: Run) -> bool:
    return run.end is not None and run.end[1] is EventType.COMPLETE


def began(run: Run) -> int:
    """When a run began, in microseconds."""
    return start_of(run) or 0


def _siblings(state: State, run: Run) -> list[Run]:
    if run.parent is None:
        return []
    above = state.runs[run.parent[1]].children or set()
    fewer, others = sorted((above, state.jobs[run.key.job].runs), key=len)
    found = [state.runs[key] for key in fewer if key in others and key != run.key]
    if len(found) > _MOST_SIBLINGS:
        found = nlargest(_MOST_SIBLINGS, found, key=lambda each: (began(each), each.key))
    return found


def newest_of(state: State, job: JobRef, done: Done) -> list[Run]:
    """The runs of a job's newest generation that completed with inputs or outputs; else none."""
    newest = _newest(state, job, done)
    return [] if newest is None else members_of(state, [newest, *_siblings(state, newest)])


def _newest(state: State, job: JobRef, done: Done) -> Run | None:
    if job not in done:
        done[job] = _find_newest(state, job)
    held = done[job]
    return None if held is None else state.runs[held]


def members_of(state: State, runs: list[Run]) -> list[Run]:
    """The runs and, where they are tasks or finer, what is below them up to other tasks."""
    levels, found = Levels(state), {run.key: run for run in runs}
    open_ = [run for run in runs if levels.of(run.key.job) <= Level.TASK]
    while open_:
        for each in children_of(state, open_.pop()):
            if each.key not in found and levels.of(each.key.job) < Level.TASK:
                found[each.key] = each
                open_.append(each)
    return list(found.values())
