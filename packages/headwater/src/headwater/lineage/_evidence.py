"""Evidence of the edges of a tree (reported, read from SQL, verified by SQL), and times."""

from __future__ import annotations

from functools import cache
from typing import Literal

from headwater.events import ONLY_IN_TEXT, Evidence, shown_time
from headwater.graph.edges import LevelGraph
from headwater.graph.effective import EffectiveGraph
from headwater.graph.generation import Generation
from headwater.graph.generations import Generations
from headwater.graph.nodes import Node
from headwater.identity import DatasetName
from headwater.lineage.columns import combined
from headwater.lineage.models import Seen
from headwater.lineage.staleness import may_be_replaced, missed_runs
from headwater.lineage.statements import (
    DECLARED,
    Statements,
    combined_statements,
    statements_by_run,
    statements_of,
)
from headwater.lineage.uses import COARSE, RunUses, UsesOfRuns, uses_of_runs
from headwater.projection import State
from headwater.projection.derived import descendants_of
from headwater.projection.state import Use
from headwater.query.parameters import Grade

_MOST_OUTPUTS = 20


class EdgeEvidence:
    """The evidence of the edges of one graph."""

    def __init__(self, state: State, graph: LevelGraph) -> None:
        self._state, self._graph = state, graph
        self._uses: dict[Node, UsesOfRuns | None] = {}
        self.differs_by_output = cache(self._differs_by_output)

    def between(self, node: Node, other: Node) -> Evidence:
        """Return the evidence of the edge between a job and a dataset, in either order.

        An edge without a known run, such as one that a job declares, is reported.
        """
        job, dataset = (node, other) if node.type == "job" else (other, node)
        runs = self._runs(job)
        if runs is None or dataset.type == "job":
            return "reported"
        name = dataset.dataset_name
        evidences = {
            _evidence_of_use(uses, use, name)
            for uses in runs.with_name(name)
            for use in (*uses.reads.get(name, ()), *uses.writes.get(name, ()))
        }
        return combined(evidences) if evidences else "reported"

    def statements(self, node: Node, other: Node, *, is_read: bool) -> Statements:
        """Return the statements about the edge of a job and a dataset in the run of the edge."""
        job, dataset = (node, other) if node.type == "job" else (other, node)
        runs = self._runs(job)
        if runs is None or dataset.type == "job":
            return Statements(frozenset({DECLARED}))
        edge = (dataset.dataset_name, None) if is_read else (None, dataset.dataset_name)
        found = combined_statements(statements_of(uses, *edge) for uses in runs.of(*edge))
        return found if found.found else Statements(frozenset({DECLARED}))

    def _differs_by_output(self, node: Node) -> bool:
        """Return True if the sources of some outputs of a job are marked as unknown."""
        run = self._graph.runs.get(node.job_ref) if node.type == "job" else None
        members = (run, *descendants_of(self._state, run)) if run else ()
        return any(use.dataset_facets.get(COARSE) for m in members for use in m.outputs.values())

    def _runs(self, job: Node) -> UsesOfRuns | None:
        """Return the uses of the run of a job in the graph, and of the runs below it."""
        if job not in self._uses:
            run = self._graph.runs.get(job.job_ref) if job.type == "job" else None
            members = (run, *descendants_of(self._state, run)) if run else ()
            self._uses[job] = uses_of_runs(self._state, run.key, members) if run else None
        return self._uses[job]


def _evidence_of_use(uses: RunUses, use: Use, name: DatasetName) -> Evidence:
    if use.facets.get(ONLY_IN_TEXT):
        return "sql"
    return "verified" if uses.in_text.names(name) else "reported"


def grade_of_edge(generations: Generations, graph: EffectiveGraph, start: Node, end: Node) -> Grade:
    """Return the grade of the edge between a task and a dataset.

    An output is `possible` if another job may have replaced it since, an input if no source states
    that it feeds one of the outputs. At most 20 outputs of a task are examined.
    """
    is_read = end.type == "job"
    job, dataset = (end, start) if is_read else (start, end)
    name = dataset.dataset_name
    stated = EdgeEvidence(generations.state, graph.part_of(job.job_ref)).statements(
        job, dataset, is_read=is_read
    )
    missed = missed_runs(generations, job.job_ref, name, is_read=is_read)
    is_replaced = not is_read and may_be_replaced(generations, job.job_ref, name)
    grade = stated.grade(missed, may_be_replaced=is_replaced)
    if grade != "reported" or not is_read:
        return grade
    outputs = sorted(graph.edges_of(job.job_ref).targets_of(name) - {name})[:_MOST_OUTPUTS]
    pairs = (
        statements_of_pair(generations, job, dataset, Node.of_dataset(output)) for output in outputs
    )
    return "possible" if outputs and all(p.grade() == "possible" for p in pairs) else grade


def seen(
    generations: Generations, parent: Node, node: Node, way: Literal["up", "down"]
) -> Seen | None:
    """Return when the edge between two nodes of a tree of tasks was first and last reported.

    Return None if no run reported the edge. The runs of the task are searched from both ends, so
    the cost grows with their number only if the edge was added late or disappeared long ago.
    """
    if parent.type == node.type:
        return None
    job, dataset = (node, parent) if node.type == "job" else (parent, node)
    side = "reads" if (way == "up") == (node is dataset) else "writes"
    name = dataset.dataset_name

    def has_edge(generation: Generation) -> bool:
        edges = generation.edges
        return bool(generation.runs) and name in (edges.reads if side == "reads" else edges.writes)

    runs = generations.history(job.job_ref)
    first, last = (next(filter(has_edge, order), None) for order in (runs, reversed(runs)))
    if first is None or last is None:
        return None
    return {"first": shown_time(first.started), "last": shown_time(last.started)}


def statements_of_pair(
    generations: Generations, job: Node, source: Node, target: Node
) -> Statements:
    """Return the statements of the newest run of a task that an input feeds an output.

    Without a task and two datasets, there are none.
    """
    if job.type != "job" or "job" in (source.type, target.type):
        return Statements()
    names = source.dataset_name, target.dataset_name
    for generation in reversed(generations.history(job.job_ref)):
        edges = generation.edges
        if names[1] in edges.writes and names[0] in edges.sources_of(names[1]):
            stated = statements_by_run(generations.state, generation, *names)
            return combined_statements(found for _, found in stated)
    return Statements()
