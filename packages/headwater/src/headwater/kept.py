"""Values of a state that are updated after events instead of being computed again."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple, TypeVar

from headwater.events import JobRef
from headwater.graph import folders
from headwater.graph.current import generations_of
from headwater.graph.nodes import Node
from headwater.identity import DatasetName
from headwater.projection import State
from headwater.projection.derived import ancestry_of

Value = TypeVar("Value")


def kept(state: State, create: Callable[[State], Value]) -> Value:
    """Return the value that a function creates once per state.

    The caller brings the value up to date before each use. It lives as long as the state.
    """
    values = generations_of(state).kept
    if create not in values:
        values[create] = create(state)
    value: Value = values[create]
    return value


class Changes(NamedTuple):
    """Names and jobs that may have changed since a revision."""

    names: Collection[DatasetName]
    """Names of datasets."""
    jobs: Collection[JobRef]


def changes_since(state: State, revision: int, rebuilds: int) -> Changes | None:
    """Return the names of datasets and the jobs that may have changed since a revision.

    Return None if everything may have changed; `rebuilds` is the number of the identity's rebuilds
    at the revision.

    A caller stores `state.revision` and `state.identity.rebuilds` after each update and passes them
    the next time. Names include former ones.
    """
    names, jobs = state.changed_names.since(revision), state.changed_jobs.since(revision)
    runs, moved = state.changed_runs.since(revision), state.moved.since(revision)
    renamed, placed = state.renamed.since(revision), state.placed.since(revision)
    changes = names, jobs, runs, moved, renamed, placed
    if state.identity.rebuilds != rebuilds or None in changes:
        return None
    above = {
        run.key.job for key in runs or () for run in ancestry_of(state, state.runs[key])
    }  # a run without events starts when its children do
    families = generations_of(state).families
    related = {member for ref in moved or () for member in families.of(ref).jobs}
    changed = {*(jobs or ()), *above, *related}
    related_names = folders.related(state, placed or ())
    return Changes(
        {*(names or ()), *(renamed or ()), *related_names},
        [ref for ref in changed if ref in state.jobs],
    )


def everything(state: State) -> Changes:
    """Return all names of datasets, and all jobs."""
    return Changes(list({*state.datasets, *state.identity}), list(state.jobs))


def exists(state: State, node: Node) -> bool:
    """Return True for a job, and for a dataset under its primary name."""
    if node.type == "job":
        return node.job_ref in state.jobs
    return node.dataset_name in state.identity.datasets(node.dataset_name)
