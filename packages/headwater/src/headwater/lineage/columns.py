"""Queries about columns: upstream and downstream trees, and all dependents of a column.

They use the same runs as the tree of the dataset, so that both agree. A *direct* edge passes on the
value; an *indirect* one filters, joins, groups or sorts. A *place* is a column with the runs that a
path to it passed through (its `marks`): data may reach a column only through some of them. A
*generation* is the runs of a task under one parent run. It is *present* if it is effective, or if
data flows from it to an effective one.
"""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Callable, Set
from functools import cache, lru_cache
from typing import Annotated, Any, Literal, NamedTuple

from headwater import deadline, memory
from headwater.datasets.schemas import reported_schemas
from headwater.errors import NotFoundError
from headwater.events import EVERY_ROW, Evidence
from headwater.graph.column_graph import Column
from headwater.graph.current import generations_of
from headwater.graph.generations import Generations
from headwater.graph.levels import Level
from headwater.graph.nodes import Node, dataset_ref, fields_of, node_id
from headwater.graph.placeholders import is_job
from headwater.graph.run_edges import Edges
from headwater.graph.walk import reached
from headwater.identity import DatasetName
from headwater.lineage.models import ColumnNode, ColumnsAnswer
from headwater.lineage.tags import Tags, tags_of_tree
from headwater.lineage.timed_columns import ColumnPlace, TimedColumns
from headwater.lineage.timed_flows import Marks, Seen, united
from headwater.lookup import find_dataset
from headwater.projection import State
from headwater.query.parameters import Depth, Field, Grade, Name, WithGrade
from headwater.query.registry import Times, query

_NAMED = 20  # columns in a message
_NONE: list[Any] = []
"""The tags and children of nodes without any; one list, because an answer may have many nodes."""
_ref = lru_cache(4_096)(dataset_ref)


class Step(NamedTuple):
    """A neighbor of a column, with the transformations and the job between them.

    `how` has their names, such as `IDENTITY`, and is empty for the column that a query is about.
    `job` is the name of the job, and empty if a dataset is derived without one. `is_direct` is
    False if the column only filters, joins, groups or sorts. `evidence` is None before the edge is
    known.
    """

    column: Column
    how: str
    job: str
    is_direct: bool
    evidence: Evidence | None = None
    is_failed: bool = False
    """True if the edge comes only from failed or aborted runs."""


class Dependents(NamedTuple):
    """The columns that depend on a column, each with its nearest step and its distance."""

    direct: dict[Step, int]
    """Columns that take values from the column."""
    indirect: dict[Step, int]
    """Columns that it filters, joins, groups or sorts, and everything downstream of them."""


@query("columns", Times.THEN)
def columns_answer(
    state: State,
    node: Name,
    field: Field = None,
    direction: Annotated[Literal["up", "down"], "Upstream or downstream."] = "up",
    depth: Depth = 20,
    *,
    indirect: Annotated[bool, "Include columns that only filter, join, group or sort."] = False,
    evidence: WithGrade = None,
) -> ColumnsAnswer:
    """Return the columns upstream or downstream of a dataset or of one column, with tags."""
    root, generations = find_dataset(state, node), generations_of(state)
    name = root.dataset_name
    walk = _walk(generations, root, direction)
    found = sorted(walk.graph.columns(name, direction, indirect=indirect))
    if field is not None and field not in found:
        check_column(generations, root, field)
    # The dataset is the top of the tree, and its columns the first level.
    top = _column_node(Step(Column(name, ""), "", "", is_direct=True), "dataset")
    shown = found if field is None else [field]
    seen: set[ColumnPlace] = set()
    every = _steps(walk, indirect=indirect)

    def next_of(place: ColumnPlace) -> list[_Next]:
        return [found for found in every(place) if evidence in (None, _grade_of(found.step))]

    top["children"] = [_grow(next_of, Column(name, column), depth, seen) for column in shown]
    _add_tags(top, tags_of_tree(generations, root, direction, Level.TASK))
    answer: ColumnsAnswer = {"node": node_id(root), "direction": direction, "depth": depth}
    answer["up" if direction == "up" else "down"] = top
    return answer


def _add_tags(top: ColumnNode, tags: Tags) -> None:
    """Set the tags of every column in a tree, in place."""
    open_ = [top]
    for leaf in deadline.popped(open_):
        name = DatasetName(leaf["namespace"], leaf["name"])
        leaf["tags"] = tags.as_info(name, leaf["field"]) or _NONE
        open_ += leaf["children"]


def columns_below(generations: Generations, root: Node, field: str, depth: int) -> Dependents:
    """Return the direct and the indirect dependents of a column and of the fields nested in it.

    Raises:
        NotFoundError: the dataset has no such column.

    `depth` is the maximum number of steps.
    """
    start = Column(root.dataset_name, field)
    walk = _walk(generations, root, "down")
    if field not in walk.graph.columns(start.dataset, "down", indirect=True):
        check_column(generations, root, field)
    direct = _within(walk, _steps_of_parts(walk, indirect=False), start, depth)
    values = {step.column for step in direct}
    every = _within(walk, _steps_of_parts(walk, indirect=True), start, depth)
    others = {step: distance for step, distance in every.items() if step.column not in values}
    return Dependents(direct, others)


def combined(found: Set[Evidence]) -> Evidence:
    """Return the evidence of an edge from the evidence of each run: verified if these differ.

    `found` is not empty. `reported` and `sql` together verify an edge.
    """
    return next(iter(found)) if len(found) == 1 else "verified"


def check_column(generations: Generations, root: Node, field: str) -> None:
    """Raise NotFoundError unless a column is in the dataset's schema or column lineage.

    The dataset may still have the column: reported schemas can be partial. For example, those of
    dbt only have documented columns.

    This distinguishes a column without lineage from a misspelled one.
    """
    name = root.dataset_name
    named = set(fields_of(generations.state, root))
    for way in ("up", "down"):
        named |= _walk(generations, root, way).graph.columns(name, way, indirect=True)
    if field in named:
        return
    named.discard(EVERY_ROW)
    listed = ", ".join(sorted(named)[:_NAMED]) + (" and more" if len(named) > _NAMED else "")
    reports = reported_schemas(generations.state, name)
    if any(field in report.schema.fields for report in reports):
        message = f"the newest schema of {root.name} no longer has column {field!r}; reported: "
    else:
        sources = f"neither a schema nor column lineage of {root.name}"  # a SQL text may name it
        message = f"{sources} has a column {field!r}; reported: "
    spelled = {column.lower(): column for column in sorted(named)}
    close = difflib.get_close_matches(field.lower(), spelled, n=3)
    raise NotFoundError(message + (listed or "no column"), [spelled[column] for column in close])


def _walk(generations: Generations, root: Node, way: str) -> TimedColumns:
    """Return the column edges of the runs that the tree of a dataset shows, in one direction.

    Upstream, these are the runs that its present rows come from; downstream, those that use them,
    without outputs that were replaced since, unless other data was derived from these.
    """
    found = reached(generations, root, way, Level.TASK)
    if way == "down":  # without outputs that were replaced, unless other data was derived from them
        present = generations.present
        current = cache(lambda name: {writer.original for writer in generations.writing(name)})
        for generation, edges in found.items():
            is_present = generation in present.of(generation.job)
            part = present.part_of(generation) if is_present else generation.edges
            used = {flow.dataset for user, flow in present.flows_from(generation) if user in found}
            left = {n for n in edges.writes if n in used or generation.original in current(n)}
            if part is not generation.edges or left < edges.writes:
                found[generation] = edges.within(Edges(part.reads, part.writes & left))
    return TimedColumns(generations, found, root, way)


class _Next(NamedTuple):
    """A step, and the place that it leads to."""

    step: Step
    place: ColumnPlace


_Steps = Callable[[ColumnPlace], list[_Next]]
"""The next steps from a column."""


def _steps(walk: TimedColumns, *, indirect: bool) -> _Steps:
    """Return a function that gives the steps from a column in the direction of a walk.

    Edges of several runs between two columns become one step. It counts as failed only if each of
    these runs failed.
    """

    @cache  # a tree may visit a column repeatedly
    def steps(place: ColumnPlace) -> list[_Next]:
        """Return the steps from a column, sorted and each once, with their combined evidence."""
        found: defaultdict[Step, set[Evidence]] = defaultdict(set)
        beyond: defaultdict[Step, set[Marks]] = defaultdict(set)
        succeeded: set[Step] = set()
        for edge, (other, marks) in walk.edges(place, indirect=indirect):
            job = edge.job.name if is_job(edge.job) else ""
            step = Step(other, edge.label, job, edge.is_direct)
            found[step].add(edge.evidence)
            beyond[step].add(marks)
            if not edge.is_failed:
                succeeded.add(step)
        memory.charge(320 * len(found))  # bytes, about, of one step in the answer
        return [
            _Next(
                step._replace(evidence=combined(found[step]), is_failed=step not in succeeded),
                ColumnPlace(step.column, united(beyond[step])),
            )
            for step in sorted(found)
        ]

    return steps


def _steps_of_parts(walk: TimedColumns, *, indirect: bool) -> _Steps:
    """Return the steps downstream from a column and from all fields nested in it.

    A field `address.city` is nested in `address`: a change of the latter affects what uses it.
    """
    steps = _steps(walk, indirect=indirect)

    def next_of(place: ColumnPlace) -> list[_Next]:
        column, marks = place
        inner = [
            column._replace(field=field)
            for field in walk.graph.edges_from(column.dataset)
            if field.startswith(f"{column.field}.")
        ]
        return [found for part in (column, *inner) for found in steps(ColumnPlace(part, marks))]

    return next_of


def _within(walk: TimedColumns, next_of: _Steps, start: Column, depth: int) -> dict[Step, int]:
    """Return the steps to the columns within `depth` steps of a column, each with its distance.

    A breadth-first search. A column that was reached before is followed again if a path through
    other runs leads to it, but has no second distance.
    """
    found: dict[Step, int] = {}
    reached, seen = {start}, dict[Column, Seen]()
    level = walk.unseen([ColumnPlace(start)], seen)
    for distance in range(1, depth + 1):
        if not level:
            break
        new: set[Step] = set()
        further: set[ColumnPlace] = set()
        for step, place in (following for at in level for following in next_of(at)):
            deadline.check()
            if step.column not in reached:
                new.add(step)
            further.add(place)
        found |= dict.fromkeys(new, distance)
        reached |= {step.column for step in new}
        level = walk.unseen(further, seen)
    return found


def _grow(next_of: _Steps, root: Column, depth: int, seen: set[ColumnPlace]) -> ColumnNode:
    """Return the tree of a column; each column is expanded once, where it is first reached.

    `seen` has the columns that were expanded before. The trees of one answer share it.
    """
    top = _column_node(Step(root, "", "", is_direct=True))
    open_ = [(ColumnPlace(root), top, 0)]
    for place, leaf, steps in deadline.popped(open_):
        others = next_of(place)
        if place in seen:
            leaf["isRepeated"] = bool(others)
            continue
        if steps == depth:
            leaf["hasMore"] = bool(others)
            continue
        seen.add(place)
        leaf["children"] = [_column_node(other.step) for other in others]
        below = zip(others, leaf["children"], strict=True)
        open_ += reversed([(other.place, child, steps + 1) for other, child in below])
    return top


def _column_node(step: Step, type_: Literal["dataset", "column"] = "column") -> ColumnNode:
    """Return a column as part of an answer, or the dataset at the top of a tree.

    It has no children yet: the list that all nodes without children share must not be changed.
    """
    memory.charge(400)
    return {
        **_ref(step.column.dataset),
        "type": type_,
        "field": step.column.field or None,
        "transformation": step.how,
        "isDirect": step.is_direct,
        "evidence": step.evidence,
        "grade": _grade_of(step),
        "job": step.job,
        "isFailed": step.is_failed,
        "tags": _NONE,
        "isRepeated": False,
        "hasMore": False,
        "children": _NONE,
    }


def _grade_of(step: Step) -> Grade | None:
    """Return the grade of a step; None for the column that the query is about."""
    if step.evidence is None:
        return None
    return "verified" if step.evidence == "verified" else "reported"
