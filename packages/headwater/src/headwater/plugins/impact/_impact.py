"""The impact of a change of a node or column.

It follows the data edges of the generations that the node's tree shows. A generation is the runs of
a task under one parent run, or a view without runs. `walked` has those downstream of the node with
their edges on the way. Replaced datasets were written again since, from other data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from typing import NamedTuple

from headwater import deadline, memory
from headwater.datasets.removal import removal_of
from headwater.events import UNKNOWN_COLUMN
from headwater.filter_values import type_of
from headwater.graph.column_graph import (
    ColumnGraph,
    described_by,
    edges_of_run,
    is_text_complete,
)
from headwater.graph.edges import LevelGraph
from headwater.graph.frontier import Walked
from headwater.graph.generations import Generations
from headwater.graph.levels import Level
from headwater.graph.nodes import Node, node_ref
from headwater.graph.placeholders import is_job, only_datasets
from headwater.graph.sql_lineage import sql_lineage
from headwater.graph.walk import neighbors, parts_of, reached
from headwater.health.states import health_of
from headwater.identity import DatasetName
from headwater.lineage.columns import Step, columns_below
from headwater.lineage.models import AffectedNode
from headwater.lineage.producers import producer_of_run
from headwater.lineage.tags import Tags, tags_of_tree
from headwater.lineage.timed_walk import TimedWalk
from headwater.lineage.walked_graph import replaced
from headwater.node_facets import kind_of, owners_of
from headwater.projection import Run, State
from headwater.projection.derived import newest_of
from headwater.runs.summary import newest_run, run_line

Affected = list[AffectedNode]


def impact(generations: Generations, root: Node, level: Level, depth: int) -> Affected:
    """Return every node downstream of a node, nearest first.

    Readers of a dataset are at the distance 1, the datasets that they write at 2. A dataset whose
    contents were replaced since is only passed through: nothing in it depends on the node now.

    `depth` is in edges; -1 has no limit.
    """
    walked = reached(generations, root, "down", level)
    graph = LevelGraph.build(generations, level, walked)
    parts = parts_of(generations, graph, root, level) if root.type == "job" else []
    walk = TimedWalk(generations, graph, walked, root, "down", level)
    steps = walk.reach((root, *parts), depth)
    left_out = {root, *map(Node.of_dataset, replaced(generations, walked))}
    found = sorted((n, node) for node, n in steps.items() if node not in left_out)
    describe = _Describe(generations, graph, tags_of_tree(generations, root, "down", level))
    return [describe.node(node, distance) for distance, node in found]


class ColumnImpact(NamedTuple):
    """The nodes that a change of a column affects, nearest first."""

    affected: Affected
    """Columns that take values from the column."""
    indirect: Affected
    """Columns whose rows it filters, joins, groups or sorts, and everything downstream of them."""
    possible: Affected
    """Jobs that read such a dataset without column lineage, and everything downstream of them."""
    unreported: list[str]
    """The names of these jobs, with their producers, and of views without column lineage; no others
    in `possible`."""


def column_impact(generations: Generations, root: Node, field: str, depth: int) -> ColumnImpact:
    """Return the dependents of a column, including possible ones without column lineage.

    Raises:
        NotFoundError: the dataset has no such column.
    """
    found = columns_below(generations, root, field, depth)
    walked = reached(generations, root, "down", Level.TASK)
    graph = LevelGraph.build(generations, Level.TASK, walked)
    describe = _Describe(generations, graph, tags_of_tree(generations, root, "down", Level.TASK))

    passed = replaced(generations, walked)

    def described(steps: dict[Step, int]) -> Affected:
        ordered = sorted((distance, step) for step, distance in steps.items())
        left = ((distance, step) for distance, step in ordered if step.column[0] not in passed)
        return [describe.step(step, distance) for distance, step in left]

    datasets = {step.column.dataset for step in (*found.direct, *found.indirect)}
    datasets.add(root.dataset_name)
    walk = TimedWalk(generations, graph, walked, root, "down", Level.TASK)
    steps = walk.reach([root], depth)
    possible, unreported = _possibly_affected(generations, graph, walked, datasets)
    # Something unknown always has a name, so that the verdict (`_drop`) cannot be "safe": within
    # the depth, the nodes without column lineage, or else those that may be affected through them.
    blamed = unreported & set(steps) or possible & set(steps)
    return ColumnImpact(
        described(found.direct),
        described(found.indirect),
        [describe.node(n, steps[n]) for n in sorted(possible & set(steps), key=_by(steps))],
        [_with_producer(generations, node) for node in sorted(blamed, key=_by(steps))],
    )


def _with_producer(generations: Generations, node: Node) -> str:
    """Return the name of a node; for a job, with the producer of its newest run."""
    state = generations.state
    run = newest_run(state, node.job_ref) if node.type == "job" else None
    producer = producer_of_run(state, run) if run is not None else None
    return f"{node.name} ({producer})" if producer else node.name


def _by(steps: Mapping[Node, int]) -> Callable[[Node], tuple[int, Node]]:
    """Return a sort key: the distance of a node, then the node."""
    return lambda node: (steps[node], node)


def _possibly_affected(
    generations: Generations, graph: LevelGraph, walked: Walked, datasets: set[DatasetName]
) -> tuple[set[Node], set[Node]]:
    """Return the jobs that read some datasets without column lineage, and all nodes downstream.

    The second set has only these jobs, and the outputs of views that no job wrote. `walked` has the
    generations downstream with their edges, and `graph` is made of it.
    """
    found: set[Node] = set()
    unreported: set[Node] = set()
    open_: list[Node] = []
    for generation, edges in walked.items():
        deadline.check()
        if not edges.reads & datasets:
            continue
        state = generations.state
        described: set[DatasetName] = set()  # outputs of which it is known what their columns use
        for run in generation.runs:
            described |= _described_datasets(state, run)
        if not generation.runs:
            columns = ColumnGraph.of(generations, {generation: generation.edges})
            described |= {name for name in edges.writes if columns.edges_into(name)}
        for run in generation.runs:
            described -= _from_unnamed_columns(state, run, datasets)
        if bare := edges.writes - described - datasets:
            # without handoffs, which pass data to another job directly, through no dataset
            named = only_datasets(bare)
            open_ += map(Node.of_dataset, named)
            unreported |= set() if is_job(generation.job) else set(map(Node.of_dataset, named))
            open_ += graph.linked(Node.of_job(generation.job), "down") if named < bare else ()
        is_known = any(generation.runs) and all(is_text_complete(state, r) for r in generation.runs)
        if bare or not (edges.writes or is_known):
            found.add(Node.of_job(generation.job))
            unreported.add(Node.of_job(generation.job))
    for node in deadline.popped(open_):
        if node not in found:
            found.add(node)
            open_ += neighbors(graph, node, "down")
    return found, unreported


def _described_datasets(state: State, run: Run) -> set[DatasetName]:
    """Return the outputs of a run whose columns are known, also if no column comes from others."""
    found = {column.dataset for column in described_by(state, run)}
    sql = sql_lineage(state, run)
    return found | sql.certain if sql is not None and sql.is_complete else found


def _from_unnamed_columns(state: State, run: Run, sources: Set[DatasetName]) -> set[DatasetName]:
    """Return the datasets with a column that comes from an unnamed column of some sources.

    Any column of the source may be meant, so these outputs count as not described.
    """
    return {
        edge.target.dataset
        for edge in edges_of_run(state, run, run.key.job)
        if edge.source.field == UNKNOWN_COLUMN and edge.source.dataset in sources
    }


class _Describe:
    """Descriptions of the nodes and columns that a change affects.

    `graph` has the jobs below the changed node, and `tags` the tags there.
    """

    def __init__(self, generations: Generations, graph: LevelGraph, tags: Tags) -> None:
        self._generations, self._graph, self._tags = generations, graph, tags

    def node(self, node: Node, distance: int) -> AffectedNode:
        """Describe a job with its newest run, or a dataset with its tags."""
        if node.type == "dataset":
            affected = self._dataset(node, distance)
            affected["tags"] = self._tags.as_info(node.dataset_name)
            return affected
        affected = self._affected(node, distance, type_of(self._generations.state, node))
        run = newest_run(self._generations.state, node.job_ref)
        affected["run"] = run_line(self._generations.state, run) if run else None
        return affected

    def step(self, step: Step, distance: int) -> AffectedNode:
        """Describe a column, with how it is computed and by which job."""
        name, field = step.column
        return {
            **self._dataset(Node.of_dataset(name), distance),
            "type": "column",
            "field": field or None,
            "tags": self._tags.as_info(name, field),
            "transformation": step.how,
            "job": step.job,
        }

    def _dataset(self, node: Node, distance: int) -> AffectedNode:
        """Describe a dataset with its removal, its newest writer and their owners."""
        state = self._generations.state
        affected = self._affected(node, distance, kind_of(state, node))
        affected["removal"] = removal_of(state, node.dataset_name)
        writers = self._graph.writers_of(node.dataset_name)
        owners = {name for ref in writers for name in owners_of(state, Node.of_job(ref))}
        newest = newest_of(self._graph.runs[ref] for ref in writers if ref in self._graph.runs)
        affected["jobOwners"] = sorted(owners)
        affected["writtenBy"] = run_line(state, newest) if newest else None
        return affected

    def _affected(self, node: Node, distance: int, kind: str) -> AffectedNode:
        """Return a description with the fields that all types have, and the others empty."""
        memory.charge()
        return {
            "distance": distance,
            **node_ref(node),
            "kind": kind,
            "owners": owners_of(self._generations.state, node),
            "run": None,
            "jobOwners": [],
            "writtenBy": None,
            "tags": [],
            "field": None,
            "transformation": "",
            "job": "",
            "health": health_of(self._generations.state, node),
            "removal": None,
        }
