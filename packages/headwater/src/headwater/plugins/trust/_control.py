"""Control dependencies between runs: earlier tasks, and the tasks that triggered a run.

A gate checks them: data may be wrong because a task failed that had to end before it was written,
though no data came from that task.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import inf

from headwater import deadline
from headwater.events import JobRef
from headwater.events.facets import Airflow, Reference
from headwater.projection import Run, RunKey, State, outcome
from headwater.projection.derived import (
    ancestry_of,
    began_at,
    children_of,
    newest_of,
    parent_of,
    resolve,
)


def control_upstream(state: State, runs: Iterable[Run]) -> list[Run]:
    """Return the direct and indirect control dependencies of runs and of their ancestors.

    Control dependencies are those of the jobDependencies facet, and the upstream tasks that Airflow
    reports. If a pipeline triggered another one, its tasks are dependencies too.
    """
    found: dict[RunKey, Run] = {}
    waiting = list(runs)
    walked: set[RunKey] = set()
    for run in deadline.popped(waiting):
        for ancestor in ancestry_of(state, run):
            if ancestor.key in walked:  # then those above it were walked too
                break
            walked.add(ancestor.key)
            for upstream in _direct(state, ancestor):
                if upstream.key not in found:
                    found[upstream.key] = upstream
                    waiting.append(upstream)
    return list(found.values())


def _direct(state: State, run: Run) -> Iterator[Run]:
    """Yield the runs that a run names as upstream, if they began before it ended.

    Airflow names the upstream tasks of a task; these are its siblings under one DAG run. The facet
    jobDependencies names jobs or runs; of a root run, such as a DAG run, its tasks count as well.
    """
    until = outcome(state, run).ended or inf
    parent = parent_of(state, run)
    siblings = [] if parent is None else children_of(state, parent)
    named = set() if parent is None else _airflow_tasks(run, parent)
    upstream = [other for other in siblings if other.key.job in named]
    for reference in run.upstream or ():
        for other in _referenced(state, reference, siblings, until):
            upstream += [other] if parent_of(state, other) else [other, *children_of(state, other)]
    yield from (other for other in upstream if (began_at(state, other) or 0) <= until)


def _airflow_tasks(run: Run, parent: Run) -> set[JobRef]:
    """Return the jobs of the tasks that had to end before an Airflow task."""
    dag = parent.key.job
    names = run.facets.parsed(Airflow).upstream_tasks
    return {JobRef(dag.namespace, f"{dag.name}.{name}") for name in names}


def _referenced(
    state: State, reference: Reference, siblings: Iterable[Run], until: float
) -> list[Run]:
    """Return the runs of a dependency; without a run id, siblings or the newest run."""
    if reference.run_id is not None:
        run = resolve(state, RunKey(reference.run_id, reference.job))
        return [run] if run is not None and run.has_events else []
    if same := [other for other in siblings if other.key.job == reference.job]:
        return same
    job = state.jobs.get(reference.job)
    runs = [state.runs[key] for key in job.runs] if job is not None else []
    newest = newest_of(run for run in runs if (began_at(state, run) or 0) <= until)
    return [newest] if newest is not None else []
