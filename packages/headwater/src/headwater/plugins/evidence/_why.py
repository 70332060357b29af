"""The evidence of the edges between two nodes: their sources, and the runs that report them.

- statement: a source that states an edge: explicit lineage, column lineage, the SQL text, inputs
  and outputs, or a declaration without a run; the grade follows from the statements
- generation: the runs of a task under one parent run, or a declaration without runs
- missed: the newer generations of the task that completed without the edge
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import Annotated, NamedTuple
from urllib.parse import quote

from headwater import deadline
from headwater.errors import ConfigError, NotFoundError
from headwater.events import JobRef, shown_time
from headwater.graph.column_graph import Column, ColumnEdge, ColumnGraph, edges_of_run
from headwater.graph.current import generations_of
from headwater.graph.edges import without_empty_writes
from headwater.graph.folders import renames
from headwater.graph.generation import Generation
from headwater.graph.generations import Generations
from headwater.graph.lifecycle import emptied_before, former_names
from headwater.graph.nodes import Node, name_of, node_id, node_ref
from headwater.graph.placeholders import is_job
from headwater.graph.sql_changes import renamed_by_text
from headwater.identity import DatasetName
from headwater.lineage.models import EdgeStatement
from headwater.lineage.producers import producer_of_run
from headwater.lineage.staleness import may_be_replaced
from headwater.lineage.statements import (
    DECLARED,
    Statement,
    StatementKind,
    Statements,
    combined_statements,
    has_edge,
    statements_by_run,
)
from headwater.lookup import find_node
from headwater.plugins.evidence import models
from headwater.projection import Run, State
from headwater.query.models import NodeRef
from headwater.query.parameters import Limit, Name
from headwater.query.registry import Times, query
from headwater.runs.summary import run_line

_Fields = tuple[str | None, str | None]
_Field = Annotated[str | None, "A column of the dataset; needs one of the other dataset, too."]


class _Edge(NamedTuple):
    """The datasets that a task reads and writes for an edge; None for the side that is the task."""

    job: JobRef
    source: DatasetName | None
    target: DatasetName | None


@query("why", Times.THEN)
def why_answer(
    state: State,
    from_: Name,
    to: Name,
    from_field: _Field = None,
    to_field: _Field = None,
    limit: Limit = 5,
) -> models.WhyAnswer:
    """Return the evidence of the edges between two neighbors, with the runs that state them.

    The nodes are a job and a dataset, or two datasets with one job between them, in any order. With
    a column of each dataset, only the edges between these columns count. `limit` counts the runs of
    each job.
    """
    if (from_field is None) != (to_field is None):
        raise ConfigError(
            "fromField, toField: received one of both, expected both or none; at the command line,"
            " these are --column and --to-column"
        )
    start, end, generations = find_node(state, from_), find_node(state, to), generations_of(state)
    for first, last, fields in (
        (start, end, (from_field, to_field)),
        (end, start, (to_field, from_field)),
    ):
        edges = list(_edges(generations, first, last))
        jobs = [job for edge in edges if (job := _why(generations, edge, fields, limit))]
        if jobs:
            jobs.sort(key=lambda job: job["seen"]["last"] if job["seen"] else "", reverse=True)
            source_field, target_field = fields
            return {
                "source": node_id(first),
                "target": node_id(last),
                "sourceField": source_field,
                "targetField": target_field,
                "jobs": jobs,
            }
    shown = [node_id(node) + (f".{field}" if field else "") for node, field in (
        (start, from_field), (end, to_field))]  # fmt: skip
    raise NotFoundError(
        f"no edge between {shown[0]} and {shown[1]}; `path` finds the nodes between them"
    )


def _edges(generations: Generations, first: Node, last: Node) -> Iterator[_Edge]:
    """Yield the edges from a node to another, through each task that has them.

    Of two datasets, these are the tasks that read one and write the other.
    """
    if first.type == last.type == "job":
        return
    if first.type == "job":
        yield _Edge(first.job_ref, None, last.dataset_name)
    elif last.type == "job":
        yield _Edge(last.job_ref, first.dataset_name, None)
    else:
        source, target = first.dataset_name, last.dataset_name
        readers = set(generations.readers(source))
        yield from (
            _Edge(ref, source, target) for ref in generations.writers(target) if ref in readers
        )


def _why(
    generations: Generations, edge: _Edge, fields: _Fields, limit: int
) -> models.WhyJob | None:
    """Return the evidence of the edges through a job; None if there is no edge.

    `fields` are the columns of source and target; both are None without columns. `limit` is the
    number of runs to list.
    """
    state, history = generations.state, generations.history(edge.job)
    edges_of = without_empty_writes(generations, history)
    stated = [  # oldest first, like the history
        generation
        for generation in deadline.watched(history)
        if has_edge(edges_of[generation], edge.source, edge.target)
        and _is_stated(generations, generation, edge, fields)
    ]
    if not stated:
        return None
    newest = stated[-1]
    listed = {g: _stated(state, g, edge, fields) for g in reversed(stated[-limit:])}
    newer = history[history.index(newest) + 1 :]
    missed = sum(other.is_complete and bool(other.runs) for other in newer)
    statements = combined_statements(found for _, found in listed[newest])
    if not newest.runs:
        statements = Statements(frozenset({DECLARED}))
    replaced = _replaced(generations, newest, edge)
    runs = [generation for generation in stated if generation.runs]
    return {
        "job": name_of(edge.job) if is_job(edge.job) else None,
        "reads": _ref(edge.source),
        "writes": _ref(edge.target),
        "grade": statements.grade(missed, may_be_replaced=replaced == "maybe"),
        "replaced": replaced,
        "statedBy": _answers(statements),
        "seen": {"first": shown_time(runs[0].started), "last": shown_time(runs[-1].started)}
        if runs
        else None,
        "runCount": len(runs),
        "missedCount": missed,
        "runs": [_run(state, run, found) for parts in listed.values() for run, found in parts][
            :limit
        ],
    }


def _replaced(generations: Generations, newest: Generation, edge: _Edge) -> models.Replaced | None:
    """Return `yes` if the rows of the newest run with an edge were replaced or removed since.

    Return `maybe` if they may have been. None if no run is known to have done so, for an edge
    that only reads, and without runs.
    """
    if edge.target is None or not newest.runs:
        return None
    written = generations.times.of_writes(newest, edge.target).end
    # rows that were written before this time are not in the dataset any more
    if written < emptied_before(generations.state, edge.target, inf):
        return "yes"
    return "maybe" if may_be_replaced(generations, edge.job, edge.target) else None


def _is_stated(
    generations: Generations, generation: Generation, edge: _Edge, fields: _Fields
) -> bool:
    """Return True if a generation with the edge also states it for the columns, if any."""
    source, target = fields
    if source is None or target is None:
        return True
    if generation.runs:
        return bool(_stated(generations.state, generation, edge, fields))
    if edge.source is None or edge.target is None:
        return False
    # A DatasetEvent or a JobEvent states the edge.
    former = {name for name, _ in renames(generations.state, edge.target)}
    graph = ColumnGraph.of(generations, {generation: generation.edges})
    inputs = graph.inputs(Column(edge.target, target), indirect=True)
    is_renamed = edge.source in former and source == target
    return is_renamed or Column(edge.source, source) in {found.source for found in inputs}


def _stated(
    state: State, generation: Generation, edge: _Edge, fields: _Fields
) -> list[tuple[Run, Statements]]:
    """Return the runs of a generation that state an edge, each with its statements.

    `fields` are both None or both set. Without columns, if no single run states the edge, these are
    the runs that read the source. With columns, only runs with a statement about both are returned.
    """
    if fields == (None, None):
        return statements_by_run(state, generation, edge.source, edge.target)
    every = [(run, _of_columns(state, run, edge, fields)) for run in generation.runs]
    return [(run, found) for run, found in every if found.found]


def _of_columns(state: State, run: Run, edge: _Edge, fields: _Fields) -> Statements:
    """Return the statements of a run about an edge between two columns."""

    def is_wanted(found: ColumnEdge) -> bool:
        """Return True for an edge of the two columns, or of the source to all rows."""
        source, target = found.source, found.target
        return (source.dataset, target.dataset) == (edge.source, edge.target) and (
            (source.field, target.field) == fields
            or (source.field == fields[0] and not target.field)
        )

    found: set[Statement] = set()
    former = former_names(state, run).get(edge.target) if edge.target else None
    if former and former == edge.source and fields[0] == fields[1]:
        kind: StatementKind = "rename" if edge.target in renamed_by_text(state, run) else "columns"
        found.add(Statement(kind, producer_of_run(state, run)))
    for column_edge in filter(is_wanted, edges_of_run(state, run, edge.job)):
        if column_edge.evidence != "sql":
            found.add(
                Statement("explicit" if run.lineage else "columns", producer_of_run(state, run))
            )
        if column_edge.evidence != "reported":
            found.add(Statement("sql"))
    return Statements(frozenset(found))


def _run(state: State, run: Run, found: Statements) -> models.WhyRun:
    """Return a run and its statements as part of the answer, with the address of its events."""
    return {
        "run": run_line(state, run),
        "statedBy": _answers(found),
        "events": f"/api/v2/events?run={quote(run.key.run_id)}",
    }


def _answers(found: Statements) -> list[EdgeStatement]:
    """Return statements as part of the answer, in a stable order."""
    return [item.answer() for item in sorted(found.found, key=str)]


def _ref(name: DatasetName | None) -> NodeRef | None:
    """Return a dataset as part of the answer; None stays None."""
    return None if name is None else node_ref(Node.of_dataset(name))
