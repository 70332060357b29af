"""Evidence of the edges of a tree (reported, read from SQL, verified by SQL), and times.

A generation is the runs of a task under one parent run.
"""

from __future__ import annotations

from functools import cache

from headwater.events import JobRef, shown_time
from headwater.graph.edges import LevelGraph
from headwater.graph.effective import EffectiveGraph
from headwater.graph.generation import Generation
from headwater.graph.generations import Generations
from headwater.graph.levels import Level
from headwater.graph.nodes import Node
from headwater.identity import DatasetName
from headwater.lineage.models import Seen
from headwater.lineage.staleness import may_be_replaced, missed_runs
from headwater.lineage.statements import (
    DECLARED,
    Statements,
    combined_statements,
    has_edge,
    statements_by_run,
    statements_of,
)
from headwater.lineage.uses import COARSE, uses_of_runs
from headwater.projection import Run
from headwater.projection.derived import descendants_of
from headwater.query.parameters import Grade

_MOST_OUTPUTS = 20


class EdgeEvidence:
    """The evidence of the edges of one graph.

    `graph` has the edges, at `level`. A tree has thousands of edges, so the runs of a job are
    determined once.
    """

    def __init__(self, generations: Generations, graph: LevelGraph, level: Level) -> None:
        self._generations, self._graph, self._level = generations, graph, level
        self._members = cache(self._runs_of)
        self.differs_by_output = cache(self._differs_by_output)

    def statements(
        self, job: Node, source: DatasetName | None, target: DatasetName | None
    ) -> Statements:
        """Return the statements about an edge from or to a job in the newest run with the edge.

        A statement is a kind (explicit lineage, column lineage, SQL text, inputs and outputs) and
        its producer. None stands for the job in place of the source or the target. For a task, all
        its runs in the newest pipeline run with the edge count. An edge without a run is declared.
        """
        if self._level is Level.TASK:
            found = _newest_statements(self._generations, job.job_ref, source, target)
        else:
            runs, state = self._members(job), self._generations.state
            parts = uses_of_runs(state, runs[0].key, runs).of(source, target) if runs else ()
            found = combined_statements(statements_of(uses, source, target) for uses in parts)
        return found if found.found else Statements(frozenset({DECLARED}))

    def _differs_by_output(self, node: Node) -> bool:
        """Return True if the sources of some outputs of a job are marked as unknown.

        Whether an edge of such a job is only possible depends on the output that a tree came from,
        so the tree expands the job once per output.
        """
        uses = (use for run in self._members(node) for use in run.outputs.values())
        return any(use.dataset_facets.get(COARSE) for use in uses)

    def _runs_of(self, node: Node) -> list[Run]:
        """Return the run of a job in the graph and all runs below it; none for a dataset."""
        run = self._graph.runs.get(node.job_ref) if node.type == "job" else None
        return [run, *descendants_of(self._generations.state, run)] if run else []


def grade_of_edge(generations: Generations, graph: EffectiveGraph, start: Node, end: Node) -> Grade:
    """Return the grade of the edge between a task and a dataset, as shown in graphs.

    `start` and `end` are the nodes of the edge in the direction of the data, so the task is the end
    of an edge that it reads. An output is `possible` if another job may have replaced it since, an
    input if no source states that it feeds one of the outputs. At most 20 outputs of a task are
    examined, so that one task with thousands does not slow down the whole graph.
    """
    is_read = end.type == "job"
    job, dataset = (end, start) if is_read else (start, end)
    name = dataset.dataset_name
    evidence = EdgeEvidence(generations, graph.part_of(job.job_ref), Level.TASK)
    stated = evidence.statements(job, *((name, None) if is_read else (None, name)))
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
    generations: Generations, ref: JobRef, source: DatasetName | None, target: DatasetName | None
) -> Seen | None:
    """Return when an edge of a task was first and last reported; None if no run reported it.

    None stands for the task in place of the source or the target. The runs of the task are searched
    from both ends, so the cost grows with their number only if the edge was added late or
    disappeared long ago.
    """

    def is_reported(generation: Generation) -> bool:
        return bool(generation.runs) and has_edge(generation.edges, source, target)

    runs = generations.history(ref)
    first, last = (next(filter(is_reported, order), None) for order in (runs, reversed(runs)))
    if first is None or last is None:
        return None
    return {"first": shown_time(first.started), "last": shown_time(last.started)}


def statements_of_pair(
    generations: Generations, job: Node, source: Node, target: Node
) -> Statements:
    """Return the statements of the newest run of a task that an input feeds an output.

    Without a task between two datasets, or without a run that has the edge, there are no
    statements.
    """
    if job.type != "job" or "job" in (source.type, target.type):
        return Statements()
    return _newest_statements(generations, job.job_ref, source.dataset_name, target.dataset_name)


def _newest_statements(
    generations: Generations, ref: JobRef, source: DatasetName | None, target: DatasetName | None
) -> Statements:
    """Return the statements about an edge of the newest generation of a task that has it.

    None stands for the task in place of the source or the target.
    """
    for generation in reversed(generations.history(ref)):
        if has_edge(generation.edges, source, target):
            stated = statements_by_run(generations.state, generation, source, target)
            return combined_statements(found for _, found in stated)
    return Statements()
