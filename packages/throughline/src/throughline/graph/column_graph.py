"""The column graph: typed edges between columns, from the facets of the effective runs.

An edge leads from a source column to a column that depends on it. A DIRECT edge passes on the
value; an INDIRECT one only determines which rows exist, or how they are grouped or sorted
(OpenLineage, ColumnLineageDatasetFacet, `transformations`). An edge whose target field is
EVERY_ROW affects all columns of the target dataset.

Only the facets of visited datasets are decoded, so the cost depends on the query.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from throughline import deadline
from throughline.graph.generations import Generation, Generations
from throughline.graph.nodes import Node, facets_of
from throughline.graph.schemas import fields_of
from throughline.identity import DatasetName, canonical_name
from throughline.projection import Run, RunKey, State
from throughline.spec import EVERY_ROW, ColumnLink, JobRef, Legacy, Transformation

_RunsOf = Callable[[DatasetName], Iterable[tuple[Run, JobRef]]]
"""The runs that wrote or read a dataset, each with its task."""


class Column(NamedTuple):
    """A field of a dataset under its shown name; the field EVERY_ROW is the dataset as a whole."""

    dataset: DatasetName
    field: str


class ColumnEdge(NamedTuple):
    """An edge between a column and one that it depends on, with the run that reported it."""

    target: Column
    source: Column
    transformations: tuple[Transformation, ...]
    is_direct: bool
    is_masked: bool
    legacy: Legacy
    job: JobRef
    run: RunKey

    @property
    def label(self) -> str:
        """A short description of the transformations."""
        words = sorted({kind.label for kind in self.transformations})
        return ", ".join([*words, "MASKED"] if self.is_masked else words)


class ColumnGraph:
    """The column edges of a set of runs, loaded per dataset when a walk visits it."""

    def __init__(self, state: State, writing: _RunsOf, reading: _RunsOf) -> None:
        self._state, self._writing, self._reading = state, writing, reading
        self._of_run: dict[RunKey, list[ColumnEdge]] = {}
        self._into: dict[DatasetName, dict[str, list[ColumnEdge]]] = {}
        self._from: dict[DatasetName, dict[str, list[ColumnEdge]]] = {}
        self._columns: dict[DatasetName, list[str]] = {}

    @classmethod
    def of(cls, known: Generations, generations: Iterable[Generation]) -> ColumnGraph:
        """Return the graph of some effective runs."""
        writing: dict[DatasetName, list[tuple[Run, JobRef]]] = defaultdict(list)
        reading: dict[DatasetName, list[tuple[Run, JobRef]]] = defaultdict(list)
        for generation in deadline.watched(generations):
            for run in generation.runs:
                for name in known.own(run).writes:
                    writing[name].append((run, generation.job))
                for name in known.reading(run):
                    reading[name].append((run, generation.job))
        return cls(known.state, lambda name: writing[name], lambda name: reading[name])

    @classmethod
    def current(cls, known: Generations) -> ColumnGraph:
        """Return the graph of the latest run of every job, as in Marquez."""

        def runs(jobs: Iterable[JobRef]) -> Iterator[tuple[Run, JobRef]]:
            for ref in jobs:
                deadline.check()
                yield from ((run, ref) for g in known.counting(ref) for run in g.runs)

        return cls(
            known.state,
            lambda name: runs(known.writers(name)),
            lambda name: runs(known.readers(name)),
        )

    def inputs(self, column: Column, *, indirect: bool) -> list[ColumnEdge]:
        """Return the edges to a column; with `indirect`, also those to all rows of its dataset."""
        into = self.edges_into(column.dataset)
        if not indirect:
            return [edge for edge in into.get(column.field, ()) if edge.is_direct]
        found = list(into.get(column.field, ()))
        if column.field != EVERY_ROW:
            found += (edge._replace(target=column) for edge in into.get(EVERY_ROW, ()))
        return found

    def outputs(self, column: Column, *, indirect: bool) -> list[ColumnEdge]:
        """Return the edges from a column; expand an edge to all rows into one per column."""
        edges = self.edges_from(column.dataset).get(column.field, ())
        if not indirect:
            return [edge for edge in edges if edge.is_direct]
        return [
            edge._replace(target=Column(edge.target.dataset, field))
            for edge in edges
            for field in (
                self._columns_of(edge.target.dataset)
                if edge.target.field == EVERY_ROW
                else (edge.target.field,)
            )
        ]

    def columns(self, name: DatasetName, way: str, *, indirect: bool) -> set[str]:
        """Return the columns of a dataset that have inputs (`up`) or outputs (`down`)."""
        edges = self.edges_into(name) if way == "up" else self.edges_from(name)
        if indirect and way == "up" and EVERY_ROW in edges:
            return set(self._columns_of(name))
        return {
            field for field, found in edges.items() if indirect or any(e.is_direct for e in found)
        }

    def edges_into(self, name: DatasetName) -> dict[str, list[ColumnEdge]]:
        """Return the edges to a dataset by target field; EVERY_ROW has those to all rows."""
        if name not in self._into:
            found: dict[str, list[ColumnEdge]] = defaultdict(list)
            for run, job in self._writing(name):
                for edge in self._edges_of(run, job):
                    if edge.target.dataset == name:
                        found[edge.target.field].append(edge)
            self._into[name] = dict(found)
        return self._into[name]

    def edges_from(self, name: DatasetName) -> dict[str, list[ColumnEdge]]:
        """Return the edges from a dataset by source field."""
        if name not in self._from:
            found: dict[str, list[ColumnEdge]] = defaultdict(list)
            for run, job in self._reading(name):
                for edge in self._edges_of(run, job):
                    if edge.source.dataset == name:
                        found[edge.source.field].append(edge)
            self._from[name] = dict(found)
        return self._from[name]

    def _edges_of(self, run: Run, job: JobRef) -> list[ColumnEdge]:
        if run.key not in self._of_run:
            deadline.check()
            self._of_run[run.key] = list(edges_of_run(self._state, run, job))
        return self._of_run[run.key]

    def _columns_of(self, name: DatasetName) -> list[str]:
        """Return all known columns of a dataset; only EVERY_ROW if none is known."""
        if name not in self._columns:
            found = self.edges_into(name).keys() - {EVERY_ROW}
            for book in facets_of(self._state, Node.of_dataset(name)):
                found |= {".".join(path) for path in fields_of(book.get("schema"))}
            self._columns[name] = sorted(found) or [EVERY_ROW]
        return self._columns[name]


def edges_of_run(state: State, run: Run, job: JobRef) -> Iterator[ColumnEdge]:
    """Yield the column edges that a run reported, under the shown names of the datasets."""
    for spelled, use in run.outputs.items():
        lineage = use.about.column_lineage()
        target = state.identity.primary(spelled)
        for link in lineage.links:
            yield ColumnEdge(
                Column(target, link.target),
                source_of(state, link),
                link.transformations,
                link.is_direct,
                link.is_masked,
                lineage.columns.get(link.target, Legacy()),
                job,
                run.key,
            )


def source_of(state: State, link: ColumnLink) -> Column:
    """Return the source column of a link, under the shown name of its dataset."""
    name = canonical_name(link.namespace, link.name)
    return Column(state.identity.primary(name), link.field)


def described_by(state: State, run: Run) -> Iterator[Column]:
    """Yield the columns described by a run's column lineage, including those without a source."""
    for spelled, use in run.outputs.items():
        name = state.identity.primary(spelled)
        yield from (Column(name, field) for field in use.about.column_lineage().columns)
