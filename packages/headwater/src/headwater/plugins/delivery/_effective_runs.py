"""The effective runs of a job, for backends that store lineage per job instead of per run.

Such a backend (DataHub) replaces the inputs and outputs of the job by those of each event. Runs
with data read or wrote something; siblings are runs of one job under the same parent run.
"""

from __future__ import annotations

from heapq import nlargest

from headwater.events import EventType, JobRef
from headwater.graph.levels import Level, Levels
from headwater.projection import Run, RunKey, State, start_of
from headwater.projection.derived import children_of, parent_of

_MOST_CHECKED = 5  # number of completed runs to search for one with data
_MOST_SIBLINGS = 100  # otherwise the payloads of a task of n elements would take n² space

NewestRuns = dict[JobRef, RunKey | None]
"""A cache of the newest completed run with inputs or outputs, by job; None if there is none.

`effective_runs` keeps it current if it is called for every event, in the order of the events. The
caller owns it: DataHub's lasts as long as its backend, that of a preview as long as the preview.
"""


def effective_runs(state: State, run: Run, newest_runs: NewestRuns) -> list[Run]:
    """Return the runs that determine a job's inputs and outputs after an event of `run`.

    Until `run` completes with data, they are `run` and the newest completed run with data. After
    that, `run` alone. If that other run started later, it alone. Each comes with its siblings, such
    as mapped tasks, and with the runs below. `newest_runs` is updated when `run` completes.
    """
    members, job = _with_siblings(state, run), run.key.job
    newest = _newest_completed(state, job, newest_runs)
    if any(member is newest for member in members):
        newest = None
    if newest is not None and start_time(newest) > start_time(run):
        return _with_siblings(state, newest)
    if _is_completed(run) and _have_data(members):
        newest_runs[job] = run.key
        return members
    # not completed: without the newest completed run, the job would lose its datasets meanwhile
    return members + (_with_siblings(state, newest) if newest else [])


def newest_effective_runs(state: State, job: JobRef, newest_runs: NewestRuns) -> list[Run]:
    """Return the effective runs of a job's newest completed run with data; empty without one."""
    newest = _newest_completed(state, job, newest_runs)
    return [] if newest is None else _with_siblings(state, newest)


def _newest_completed(state: State, job: JobRef, newest_runs: NewestRuns) -> Run | None:
    """Return the newest completed run with data, from the cache or among the last five."""
    if job not in newest_runs:
        record = state.jobs.get(job)  # None for a view, whose derivation has the place of a job
        runs = map(state.runs.__getitem__, record.runs if record else ())
        newest = nlargest(_MOST_CHECKED, filter(_is_completed, runs), key=start_time)
        found = (run.key for run in newest if _have_data(with_subruns(state, [run])))
        newest_runs[job] = next(found, None)
    key = newest_runs[job]
    return None if key is None else state.runs[key]


def _is_completed(run: Run) -> bool:
    return run.end is not None and run.end[1] is EventType.COMPLETE


def _have_data(runs: list[Run]) -> bool:
    return any(run.inputs or run.outputs for run in runs)


def start_time(run: Run) -> int:
    """Return the start of a run in microseconds; 0 if it is unknown."""
    return start_of(run) or 0


def _with_siblings(state: State, run: Run) -> list[Run]:
    """Return a run, its siblings, and the runs below them.

    Siblings are the other runs of its job under the same parent, such as the elements of a mapped
    task and retries. Of more than a hundred, the newest are returned.
    """
    siblings: list[Run] = []
    if (parent := parent_of(state, run)) is not None:
        children = parent.children or set()  # also runs that have another parent since
        # both may be large: go through the smaller set
        fewer, others = sorted((children, state.jobs[run.key.job].runs), key=len)
        both = (state.runs[key] for key in fewer if key in others and key != run.key)
        siblings = [other for other in both if parent_of(state, other) is parent]
    if len(siblings) > _MOST_SIBLINGS:
        siblings = nlargest(_MOST_SIBLINGS, siblings, key=lambda run: (start_time(run), run.key))
    return with_subruns(state, [run, *siblings])


def with_subruns(state: State, runs: list[Run]) -> list[Run]:
    """Return the runs with their descendants below task level; pipelines are not expanded.

    A task reports only a part of what the queries below it do.
    """
    levels, members = Levels(state), {run.key: run for run in runs}
    waiting = [run for run in runs if levels.of(run.key.job) <= Level.TASK]
    while waiting:
        for child in children_of(state, waiting.pop()):
            if child.key not in members and levels.of(child.key.job) < Level.TASK:
                members[child.key] = child
                waiting.append(child)
    return list(members.values())
