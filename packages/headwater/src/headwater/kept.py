"""Values of a state that are updated after events instead of being computed again.

A *revision* is the number of events that a state has applied. The state records which names, jobs
and runs recent events changed, by the revision. A *family* is a pipeline with its tasks and
queries, see headwater.graph.families.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple, TypeVar

from headwater.events import JobRef
from headwater.graph import folders
from headwater.graph.current import generations_of
from headwater.graph.nodes import Node
from headwater.graph.sql_changes import stated_changes
from headwater.identity import DatasetName
from headwater.projection import Run, State
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


class LastUpdate:
    """The last update of a kept value, from which the changes since then follow.

    An update asks `is_needed`, then for what changed, and ends with `finish`.
    """

    def __init__(self, state: State) -> None:
        """Start before the first update."""
        self._state = state
        self._revision, self._shape = -1, (-1, -1)

    @property
    def is_done(self) -> bool:
        """Return True after the first update."""
        return self._revision >= 0

    @property
    def is_needed(self) -> bool:
        """Return True if the state has changed since."""
        return (self._state.revision, self._state.shape) != (self._revision, self._shape)

    def finish(self) -> None:
        """Record that the value is up to date."""
        self._revision, self._shape = self._state.revision, self._state.shape

    def changes(self, *, of_edges: bool = False) -> Changes | None:
        """Return the names of datasets and the jobs that may have changed since.

        Return None if everything may have changed, as before the first update and after the
        identity was rebuilt: then, any name may belong to another dataset. With `of_edges`, it is
        also None if an event changed edges without a run.

        Names include former ones. The jobs include those of all runs above a changed run, and all
        members of a family whose tree of runs changed.
        """
        state, revision = self._state, self._revision
        names, jobs = state.changed_names.since(revision), state.changed_jobs.since(revision)
        runs, moved = state.changed_runs.since(revision), state.moved.since(revision)
        renamed, placed = state.renamed.since(revision), state.placed.since(revision)
        changes = names, jobs, runs, moved, renamed, placed
        is_rebuilt = state.identity.rebuilds != self._shape[1]
        if is_rebuilt or (of_edges and state.shape != self._shape) or None in changes:
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

    def touched(self) -> set[Node] | None:
        """Return the nodes that events since may concern, without effects of failures.

        These are the datasets that an event names, the jobs of the families of changed jobs, and
        the datasets that these write. Only datasets that a caller passed to `watch_writers` are
        found by their writers. Return None if these may be all nodes.
        """
        state = self._state
        changes, runs = self.changes(of_edges=True), state.changed_runs.since(self._revision)
        if changes is None or runs is None:
            return None
        families, written = generations_of(state).families, kept(state, _written)
        related = {member for ref in changes.jobs for member in families.of(ref).jobs}
        used = {name for key in runs for name in _names_in(state, state.runs[key])}
        named = {*changes.names, *used}
        primary = {dataset for name in named for dataset in state.identity.datasets(name)}
        of_jobs = {name for ref in related for name in written.get(ref, ())}
        return {*map(Node.of_dataset, named | primary | of_jobs), *map(Node.of_job, related)}


def watch_writers(state: State, name: DatasetName) -> None:
    """Make `LastUpdate.touched` return a dataset after events about the jobs that write it now."""
    written = kept(state, _written)
    for ref in generations_of(state).writers(name):
        written[ref].add(name)


def _written(state: State) -> defaultdict[JobRef, set[DatasetName]]:
    del state
    return defaultdict(set)


def _names_in(state: State, run: Run) -> Iterator[DatasetName]:
    yield from (*run.inputs, *run.outputs)
    yield from (name for name, _ in stated_changes(state, run))


def everything(state: State) -> Changes:
    """Return all names of datasets, and all jobs."""
    return Changes(list({*state.datasets, *state.identity}), list(state.jobs))


def exists(state: State, node: Node) -> bool:
    """Return True for a job, and for a dataset under its primary name."""
    if node.type == "job":
        return node.job_ref in state.jobs
    return node.dataset_name in state.identity.datasets(node.dataset_name)
