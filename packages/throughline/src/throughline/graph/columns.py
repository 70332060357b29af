"""Which columns a column is made of, from the columnLineage facets of the runs that count.

The runs are those that the tree of the dataset is made of, so that both agree. A column made
DIRECTly of another takes its value from it; INDIRECTly, it only decides which rows there are or
how they are grouped or ordered (OpenLineage's ColumnLineageDatasetFacet, `transformations`).
"""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from throughline import deadline
from throughline.errors import NotFoundError
from throughline.graph.generations import Generation, Generations
from throughline.graph.levels import Level
from throughline.graph.nodes import Node, facets_of, node_id
from throughline.graph.schemas import fields_of
from throughline.graph.walk import reached
from throughline.identity import DatasetName, canonical_name
from throughline.projection import Run, State

_NAMED = 20  # columns in a message


class Column(NamedTuple):
    """A field of a dataset, which is under its shown name."""

    dataset: DatasetName
    field: str


class Told(NamedTuple):
    """What the facet's first form says of how a column is made; new producers leave it out."""

    type: str | None
    description: str | None


class Step(NamedTuple):
    """How one column is made of another: the transformation's subtype (or type), and the job."""

    column: Column
    how: str
    job: str


_TOLD = ("Type", "Description")


def columns(
    known: Generations, root: Node, field: str | None, way: str, *, depth: int, indirect: bool
) -> dict[str, Any]:
    """The tree of a dataset's columns, or of one, as JSON; its shape is that of `walk.tree`.

    Raises:
        NotFoundError: the dataset has no such column.
    """
    name = DatasetName(root.namespace, root.name)
    edges = _Edges(known, root, way, indirect=indirect)
    found = sorted(edges.fields(name))
    if field is not None and field not in found:
        other = "down" if way == "up" else "up"
        told = {*found, *_Edges(known, root, other, indirect=True).fields(name)}
        _check_column(known.state, root, field, told)
    top = {**_leaf(node_id(root), "dataset", root.namespace, root.name)}
    shown = found if field is None else [field]
    seen: set[Column] = set()
    top["children"] = [_grow(edges, Column(name, each), depth, seen) for each in shown]
    return {"node": node_id(root), "direction": way, "depth": depth, way: top}


def columns_below(known: Generations, root: Node, field: str, depth: int) -> dict[Step, int]:
    """Every column that one goes into or decides on, as its nearest step, with its distance.

    Raises:
        NotFoundError: the dataset has no such column.
    """
    name = DatasetName(root.namespace, root.name)
    edges = _Edges(known, root, "down", indirect=True)
    start = Column(name, field)
    told = edges.fields(name)
    if field not in told:
        told = told | _Edges(known, root, "up", indirect=True).fields(name)
        if field not in told:
            _check_column(known.state, root, field, told)
    found: dict[Step, int] = {}
    seen, level = {start}, [start]
    for distance in range(1, depth + 1):
        deadline.check()
        steps = {step for column in level for step in edges.of(column)}
        new = sorted(step for step in steps if step.column not in seen)
        found |= dict.fromkeys(new, distance)
        level = sorted({step.column for step in new})
        seen.update(level)
    return found


def column_steps(
    known: Generations, generations: Iterable[Generation]
) -> set[tuple[Column, Column, str, bool]]:
    """Each column, one that it is made of, how, and whether directly."""
    found: set[tuple[Column, Column, str, bool]] = set()
    for generation in generations:
        for run in generation.runs:
            direct = {pair[:2] for pair in _made(known.state, run, indirect=False)}
            for made, of, how in _made(known.state, run, indirect=True):
                found.add((made, of, how, (made, of) in direct))
    return found


def columns_told(state: State, facet: dict[str, Any]) -> list[tuple[str, Told, list[Column]]]:
    """The fields of a columnLineage facet: each with how it is made, and of which columns."""
    return [
        (field, _how_told(told), sorted({of for of, _ in _inputs(state, told, indirect=True)}))
        for field, told in _fields_of(facet)
    ]


def _text(value: Any) -> str | None:
    return str(value) if value else None


def _check_column(state: State, root: Node, field: str, told: Iterable[str]) -> None:
    """Raise NotFoundError unless a schema or the column lineage `told` names the column."""
    known = set(told)
    for book in facets_of(state, root):
        known |= {".".join(path) for path in fields_of(book.get("schema"))}
    if field in known:
        return
    names = ", ".join(sorted(known)[:_NAMED]) + (", …" if len(known) > _NAMED else "")
    there = f"it has {names}" if known else "none of its columns are known"
    near = {each.lower(): each for each in sorted(known)}
    close = difflib.get_close_matches(field.lower(), near, n=3)
    raise NotFoundError(
        f"{root.name} has no column {field!r}; {there}", [near[each] for each in close]
    )


def _grow(edges: _Edges, root: Column, depth: int, seen: set[Column]) -> dict[str, Any]:
    top = _column_leaf(Step(root, "", ""))
    open_ = [(root, top, 0)]
    while open_:
        deadline.check()
        column, leaf, steps = open_.pop()
        others = sorted(edges.of(column))
        if column in seen:
            leaf["isRepeated"] = bool(others)
            continue
        if steps == depth:
            leaf["hasMore"] = bool(others)
            continue
        seen.add(column)
        leaf["children"] = [_column_leaf(step) for step in others]
        below = zip(others, leaf["children"], strict=True)
        open_ += reversed([(step.column, child, steps + 1) for step, child in below])
    return top


class _Edges:
    """The column edges around a dataset one way, told by the generations that its tree is made of.

    Only the facets of the runs that a walk comes by are decoded.
    """

    def __init__(self, known: Generations, root: Node, way: str, *, indirect: bool) -> None:
        self._state, self._way, self._indirect = known.state, way, indirect
        self._runs: dict[DatasetName, list[tuple[Run, str]]] = defaultdict(list)
        self._found: dict[DatasetName, dict[str, set[Step]]] = {}
        for generation in reached(known, root, way, Level.TASK):
            for run in generation.runs:
                for name in known.own(run).writes if way == "up" else known.reading(run):
                    self._runs[name].append((run, generation.job.name))

    def of(self, column: Column) -> set[Step]:
        """The steps that lead on from a column."""
        return self._at(column.dataset).get(column.field) or set()

    def fields(self, name: DatasetName) -> set[str]:
        """The columns of a dataset from which steps lead on."""
        return set(self._at(name))

    def _at(self, name: DatasetName) -> dict[str, set[Step]]:
        if name not in self._found:
            found: dict[str, set[Step]] = defaultdict(set)
            for run, job in self._runs[name]:
                deadline.check()
                for made, of, how in _made(self._state, run, indirect=self._indirect):
                    start, end = (made, of) if self._way == "up" else (of, made)
                    if start.dataset == name:
                        found[start.field].add(Step(end, how, job))
            self._found[name] = dict(found)
        return self._found[name]


def _made(state: State, run: Run, *, indirect: bool) -> Iterator[tuple[Column, Column, str]]:
    """Each column that a run wrote, a column that it is made of, and how."""
    for name, field, told in fields_of_run(state, run):
        for of, how in _inputs(state, told, indirect=indirect):
            yield Column(name, field), of, how


def fields_of_run(state: State, run: Run) -> Iterator[tuple[DatasetName, str, dict[str, Any]]]:
    """Each column that a run wrote, and what the facet tells of it."""
    for spelled, use in run.outputs.items():
        name = state.identity.primary(spelled)
        for field, told in _fields_of(use.about.get("columnLineage")):
            yield name, field, told


def _fields_of(facet: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    fields = facet.get("fields")
    listed = fields.items() if isinstance(fields, dict) else ()
    return [(str(field), told) for field, told in listed if isinstance(told, dict)]


def _how_told(told: dict[str, Any]) -> Told:
    return Told(*(_text(told.get(f"transformation{each}")) for each in _TOLD))


def _inputs(state: State, told: dict[str, Any], *, indirect: bool) -> Iterator[tuple[Column, str]]:
    for column, transformations in inputs_of(state, told):
        how = _how(transformations, indirect=indirect)
        if how is not None:
            yield column, how


def inputs_of(state: State, told: dict[str, Any]) -> Iterator[tuple[Column, list[dict[str, Any]]]]:
    """Each column that another is told to be made of, with the transformations on the way."""
    listed = told.get("inputFields")
    for each in listed if isinstance(listed, list) else ():
        if not isinstance(each, dict):
            continue
        texts = [each.get(key) for key in ("namespace", "name", "field")]
        if not all(isinstance(text, str) and text for text in texts):
            continue
        namespace, name, field = map(str, texts)
        spelled = canonical_name(namespace, name)
        shown = state.identity.primary(spelled) if spelled in state.identity else spelled
        kinds = each.get("transformations")
        kinds = kinds if isinstance(kinds, list) else []
        yield Column(shown, field), [kind for kind in kinds if isinstance(kind, dict)]


def _how(kinds: list[dict[str, Any]], *, indirect: bool) -> str | None:
    """The direct transformations in a word, and whether all of them mask.

    None if there are only indirect ones, which were not asked for.
    """
    wanted = [each for each in kinds if indirect or each.get("type") != "INDIRECT"]
    if kinds and not wanted:
        return None
    words = sorted({str(each.get("subtype") or each.get("type")) for each in wanted})
    direct = [each for each in wanted if each.get("type") != "INDIRECT"]
    is_masked = bool(direct) and all(each.get("masking") is True for each in direct)
    return ", ".join([*words, "MASKED"] if is_masked else words)


def _column_leaf(step: Step) -> dict[str, Any]:
    name = step.column.dataset
    leaf = _leaf(node_id(Node.of_dataset(name)), "column", name.namespace, name.name)
    return {**leaf, "field": step.column.field, "transformation": step.how, "job": step.job}


def _leaf(id_: str, type_: str, namespace: str, name: str) -> dict[str, Any]:
    return {
        "id": id_,
        "type": type_,
        "namespace": namespace,
        "name": name,
        "isRepeated": False,
        "hasMore": False,
        "children": [],
    }
