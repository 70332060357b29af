"""The column graph: typed edges between columns, from the facets of selected runs.

An edge leads from a source column to a column that depends on it. A DIRECT edge passes on the
value; an INDIRECT one only determines which rows exist, or how they are grouped or sorted
(OpenLineage, ColumnLineageDatasetFacet, `transformations`). An edge whose target field is EVERY_ROW
affects all columns of the target dataset.

Only the facets of visited datasets are decoded, so the cost depends on the query.

A *generation* is the runs of a task under one parent run, or a declaration without runs; its
`edges` are its inputs and outputs. It is *present* if it is effective, or if data flows from it to
an effective one (graph/present.py). A side is `"reads"` or `"writes"`. The *primary name* of a
dataset is the one of its joined names under which it is shown.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from itertools import product
from typing import NamedTuple

from headwater import deadline
from headwater.events import (
    EVERY_ROW,
    UNKNOWN_COLUMN,
    ColumnLineage,
    ColumnLink,
    DatasetId,
    Entry,
    Evidence,
    JobRef,
    Json,
    Legacy,
    Transformation,
    parse_columns,
    parse_derivation,
    parse_entries,
)
from headwater.events.column_reporting import reports_indirect
from headwater.events.facets import Schema
from headwater.graph import folders
from headwater.graph.generation import Generation, latest
from headwater.graph.generations import Generations
from headwater.graph.lifecycle import emptied_before, former_names
from headwater.graph.nodes import Node, fields_of
from headwater.graph.placeholders import derived_dataset
from headwater.graph.run_edges import SIDES, Edges, Side, run_edges
from headwater.graph.sql_lineage import sql_lineage
from headwater.identity import DatasetName, canonical_name
from headwater.projection import Run, RunKey, RunState, State, outcome, start_of
from headwater.projection.derived import records_of
from headwater.projection.facet_books import parsed
from headwater.sql.facet import may_merge

_Origin = tuple[Run | None, Generation, Edges]
"""A run, its generation and the edges of the generation that count; without a run, a declaration.
Column edges are only taken between datasets of these edges.
"""

_OriginsOf = Callable[[DatasetName, Side], Iterable[_Origin]]
"""Function that returns the origins that read or wrote a dataset; it may return others, too."""

_Only = frozenset[Generation] | None
"""The generations whose edges count; None for all."""


class Column(NamedTuple):
    """A field of a dataset, under the primary name of the dataset.
    As a target, the field EVERY_ROW is the dataset as a whole; as a source, the field
    UNKNOWN_COLUMN is a column that was not named.
    """

    dataset: DatasetName
    field: str


class ColumnEdge(NamedTuple):
    """An edge between a column and one that it depends on, with the job that computes it."""

    target: Column
    source: Column
    transformations: tuple[Transformation, ...]
    is_direct: bool
    is_masked: bool
    legacy: Legacy
    job: JobRef
    evidence: Evidence = "reported"
    is_failed: bool = False
    """True if the run that it comes from failed or was aborted."""

    @property
    def label(self) -> str:
        """Return a short description of the transformations."""
        words = sorted({kind.label for kind in self.transformations})
        return ", ".join([*words, "MASKED"] if self.is_masked else words)


class ColumnGraph:
    """The column edges of a set of runs, loaded per dataset when a walk visits it."""

    def __init__(self, state: State, origins_of: _OriginsOf) -> None:
        self._state, self._origins_of = state, origins_of
        self._loaded: dict[RunKey | JobRef, list[ColumnEdge]] = {}
        self._by_field: dict[tuple[DatasetName, Side, _Only], dict[str, list[ColumnEdge]]] = {}
        self._columns: dict[DatasetName, list[str]] = {}

    @classmethod
    def of(cls, generations: Generations, parts: Mapping[Generation, Edges]) -> ColumnGraph:
        """Return the graph of some edges of generations, such as those that a walk reached.

        `parts` has the edges of each generation that count; column edges between other datasets of
        it are left out.
        """
        found: dict[tuple[DatasetName, Side], list[_Origin]] = defaultdict(list)
        for generation in deadline.watched(parts):
            part = parts[generation]
            for run, side in product(generation.runs or (None,), SIDES):
                for name in _used(generations, generation, part, run, side):
                    found[name, side].append((run, generation, part))
        return cls(generations.state, lambda name, side: found.get((name, side), ()))

    @classmethod
    def present(cls, generations: Generations) -> ColumnGraph:
        """Return the graph of the present generations."""
        present = generations.present

        def origins(name: DatasetName, side: Side) -> Iterator[_Origin]:
            for generation in (g for ref in generations.users(name, side) for g in present.of(ref)):
                part = present.part_of(generation)
                for run in generation.runs or (None,):
                    if name in _used(generations, generation, part, run, side):
                        yield run, generation, part

        return cls(generations.state, origins)

    @classmethod
    def current(cls, generations: Generations) -> ColumnGraph:
        """Return the graph of the latest run of every job, as in Marquez.

        Declarations without a run have no part in it.
        """

        def origins(name: DatasetName, side: Side) -> Iterator[_Origin]:
            for ref in generations.users(name, side):
                deadline.check()
                newest = generations.derived(ref, "latest generations", latest)
                yield from ((run, g, g.edges) for g in newest for run in g.runs)

        return cls(generations.state, origins)

    def inputs(self, column: Column, *, indirect: bool, only: _Only = None) -> list[ColumnEdge]:
        """Return the edges to a column; without `indirect`, only those that pass on its value.

        With it, also the edges to EVERY_ROW of its dataset, with this column as their target.
        """
        into = self._edges_by_field(column.dataset, "writes", only)
        if not indirect:
            return [edge for edge in into.get(column.field, ()) if edge.is_direct]
        found = list(into.get(column.field, ()))
        if column.field != EVERY_ROW:
            found += (edge._replace(target=column) for edge in into.get(EVERY_ROW, ()))
        return found

    def outputs(self, column: Column, *, indirect: bool, only: _Only = None) -> list[ColumnEdge]:
        """Return the edges from a column; without `indirect`, only those that pass on its value.

        An edge to EVERY_ROW of a dataset is returned once for each column of that dataset.
        """
        edges = self._edges_by_field(column.dataset, "reads", only).get(column.field, ())
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
        """Return the columns of a dataset that have inputs (`way` is `up`) or outputs (`down`).

        Without `indirect`, only direct edges count. With it, an edge to EVERY_ROW is an input of
        every column.
        """
        edges = self.edges_into(name) if way == "up" else self.edges_from(name)
        if indirect and way == "up" and EVERY_ROW in edges:
            return set(self._columns_of(name))
        return {
            field for field, found in edges.items() if indirect or any(e.is_direct for e in found)
        }

    def edges_into(self, name: DatasetName) -> dict[str, list[ColumnEdge]]:
        """Return the edges to a dataset by target field; EVERY_ROW has those to all rows."""
        return self._edges_by_field(name, "writes")

    def edges_from(self, name: DatasetName) -> dict[str, list[ColumnEdge]]:
        """Return the edges from a dataset by source field."""
        return self._edges_by_field(name, "reads")

    def _edges_by_field(
        self, name: DatasetName, side: Side, only: _Only = None
    ) -> dict[str, list[ColumnEdge]]:
        """Return the edges to (`writes`) or from (`reads`) a dataset, by its field.

        Only those of generations in `only`; None for all.
        """
        if (name, side, only) not in self._by_field:
            found: dict[str, list[ColumnEdge]] = defaultdict(list)
            origins = self._origins_of(name, side)
            for edge in self._edges_of_all(o for o in origins if only is None or o[1] in only):
                column = edge.target if side == "writes" else edge.source
                if column.dataset == name:
                    found[column.field].append(edge)
            self._by_field[name, side, only] = dict(found)
        return self._by_field[name, side, only]

    def _edges_of_all(self, origins: Iterable[_Origin]) -> Iterator[ColumnEdge]:
        """Yield the edges of some origins, each once per run, which may be in several generations.

        If only a part of a generation is selected, an edge counts if the part has its source as an
        input of its target. If all of it is, every edge counts, also one from a dataset that is not
        among the inputs.
        """
        seen = set[tuple[RunKey | JobRef, ColumnEdge]]()
        for run, generation, part in origins:
            key, is_whole = run.key if run else generation.job, _is_whole(generation, part)
            for edge in self._edges_of(run, generation.job):
                source, target = edge.source.dataset, edge.target.dataset
                is_in_part = target in part.writes and source in part.sources_of(target)
                if (is_in_part or is_whole) and (key, edge) not in seen:
                    seen.add((key, edge))
                    yield edge

    def _edges_of(self, run: Run | None, job: JobRef) -> list[ColumnEdge]:
        """Return the column edges that a run reported, or a declaration (no run) has; cached.

        Those of a failed or aborted run are marked: its data may not have been written.
        """
        key = run.key if run else job
        if key not in self._loaded:
            deadline.check()
            reported = _of_run(self._state, run) if run else _declared(self._state, job)
            edges = (*_edges(self._state, reported, job), *self._renamed(run, job))
            if run and outcome(self._state, run).state in (RunState.FAILED, RunState.ABORTED):
                edges = tuple(edge._replace(is_failed=True) for edge in edges)
            self._loaded[key] = list(edges)
        return self._loaded[key]

    def _renamed(self, run: Run | None, job: JobRef) -> Iterator[ColumnEdge]:
        """Yield an edge to each column of renamed datasets, from that of the former one.

        The columns are those in the schema of the new dataset that the run reported, else those
        that the former one had then, else all that are known of both.
        """
        for new, former, time in _renames(self._state, run, job):
            fields = _schema_of(self._state, run, new) or self._fields_at(former, time)
            for field in sorted(fields or self._fields_of(former) | self._fields_of(new)):
                columns = Column(new, field), Column(former, field)
                yield ColumnEdge(*columns, (_SAME,), True, False, Legacy(), job)

    def _fields_at(self, name: DatasetName, time: int) -> set[str]:
        """Return the columns that a dataset had at a time, according to its writers.

        Only runs that ended by then count, and none that ended before the dataset was last emptied.
        A run that renamed the dataset reports no columns: those of the former name count.
        """
        found: set[str] = set()
        since = emptied_before(self._state, name, time)
        for run, generation, _ in self._origins_of(name, "writes"):
            job = generation.job
            if run and not (since <= (outcome(self._state, run).ended or time) <= time):
                continue
            found |= _schema_of(self._state, run, name)
            for new, former, before in _renames(self._state, run, job):
                found |= self._fields_at(former, before) if new == name and before < time else set()
            if not any(_renames(self._state, run, job)):
                edges = self._edges_of(run, job)
                found |= {edge.target.field for edge in edges if edge.target.dataset == name}
        return found - {EVERY_ROW}

    def _fields_of(self, name: DatasetName) -> set[str]:
        """Return the columns of the schema of a dataset, and those that its readers used.

        A job that renames the dataset uses no column: its edges are derived from this result.
        """
        found = set(fields_of(self._state, Node.of_dataset(name)))
        for run, generation, _ in self._origins_of(name, "reads"):
            job = generation.job
            if not any(_renames(self._state, run, job)):
                found |= {e.source.field for e in self._edges_of(run, job) if e.source[0] == name}
        return found - {UNKNOWN_COLUMN}

    def _columns_of(self, name: DatasetName) -> list[str]:
        """Return all reported columns of a dataset; only EVERY_ROW if there are none."""
        if name not in self._columns:
            found = self.edges_into(name).keys() - {EVERY_ROW}
            found |= fields_of(self._state, Node.of_dataset(name)).keys()
            self._columns[name] = sorted(found) or [EVERY_ROW]
        return self._columns[name]


def _used(
    generations: Generations, generation: Generation, part: Edges, run: Run | None, side: Side
) -> Set[DatasetName]:
    """Return the datasets of `part` that a run read or wrote; without a run, all that it has.

    `part` has the edges of the generation that count.
    """
    edges = part if run is None else generations.own(run)
    if not _is_whole(generation, part):
        edges = edges.within(part)
    return edges.writes if side == "writes" else edges.reads


def _is_whole(generation: Generation, part: Edges) -> bool:
    """Return True if a part has all edges of a generation, and the generation those of its runs.

    They are compared by identity: an equal copy is a part, whose column edges are limited.
    """
    return part is generation.edges and not generation.is_limited


_SAME = Transformation("DIRECT", "IDENTITY")  # of a column that only got another name


def _renames(
    state: State, run: Run | None, job: JobRef
) -> list[tuple[DatasetName, DatasetName, int]]:
    """Return what a run or DatasetEvents renamed: (new name, former name, time in microseconds).

    Without a run, `job` is a derivation: the placeholder for the job that fills a dataset without
    one (graph/placeholders.py).
    """
    if run is not None:
        time = start_of(run) or 0
        return [(new, former, time) for new, former in former_names(state, run).items()]
    name = derived_dataset(job)
    return [(name, *rename) for rename in folders.renames(state, name)] if name else []


def _schema_of(state: State, run: Run | None, name: DatasetName) -> set[str]:
    """Return the columns of a dataset in the schema that a run reported when it wrote it."""
    uses = run.outputs.items() if run else ()
    found = (use for spelled, use in uses if state.identity.primary(spelled) == name)
    return {field for use in found for field in use.dataset_facets.parsed(Schema).fields}


def edges_of_run(state: State, run: Run, job: JobRef) -> Iterator[ColumnEdge]:
    """Yield the column edges that a run reported, under the primary names of the datasets."""
    return _edges(state, _of_run(state, run), job)


def source_of(state: State, link: ColumnLink) -> Column:
    """Return the source column of a link, under the primary name of its dataset."""
    name = canonical_name(link.namespace, link.name)
    return Column(state.identity.primary(name), link.field)


def described_by(state: State, run: Run) -> Iterator[Column]:
    """Yield the columns described by a run's column lineage, including those without a source."""
    for name, lineage in _of_run(state, run):
        yield from (Column(name, field) for field in lineage.columns)


def reports_every_use(state: State, run: Run) -> bool:
    """Return True if the column lineage of a run has every use of the columns that it read.

    Its producer reports filters, joins and groupings, its SQL text could be read, or a person
    stated its lineage. Of a MERGE, Spark's listener does not report the conditions.
    """
    if run.lineage:
        return True
    sql = sql_lineage(state, run)
    read = sql.certain if sql is not None and sql.is_complete else frozenset()
    is_merge = may_merge(run.key.job.name)
    return all(
        (use.dataset_facets.reports_indirect() and not is_merge)
        or state.identity.primary(name) in read
        for name, use in run.outputs.items()
    )


def is_text_complete(state: State, run: Run) -> bool:
    """Return True if the SQL text of a run was read, with every use of a column."""
    sql = sql_lineage(state, run)
    return sql is not None and sql.is_complete


def _edges(
    state: State, reported: Iterable[tuple[DatasetName, ColumnLineage]], job: JobRef
) -> Iterator[ColumnEdge]:
    """Yield an edge of `job` for each link of the column lineage reported for its targets."""
    for target, lineage in reported:
        for link in lineage.links:
            yield ColumnEdge(
                Column(target, link.target),
                source_of(state, link),
                link.transformations,
                link.is_direct,
                link.is_masked,
                lineage.columns.get(link.target, Legacy()),
                job,
                link.evidence,
            )


def _of_run(state: State, run: Run) -> Iterator[tuple[DatasetName, ColumnLineage]]:
    """Yield the column lineage of each dataset that a run wrote.

    Where explicit lineage states the columns of a dataset, the columnLineage facet does not count;
    where it states only its sources, the facet counts for these.
    """
    outputs = ((state.identity.primary(n), use.dataset_facets) for n, use in run.outputs.items())
    if not run.lineage:
        sql = sql_lineage(state, run)
        for target, about in outputs:
            reported = about.column_lineage()
            yield target, sql.combined(state, target, reported) if sql else reported
        return
    entries = [entry for facet in run.lineage for entry in parsed(facet, parse_entries)]
    explicit = list(_of_entries(state, entries))
    yield from explicit
    described = {target for target, _ in explicit}
    edges = run_edges(state, run)
    for target, about in outputs:
        if target not in described:
            columns, links = about.column_lineage()
            sources = edges.sources_of(target)
            used = (link for link in links if source_of(state, link).dataset in sources)
            yield target, ColumnLineage(columns, tuple(used))


def _declared(state: State, ref: JobRef) -> Iterator[tuple[DatasetName, ColumnLineage]]:
    """Yield the column lineage that is declared without a run.

    That of a derivation comes from DatasetEvents. That of a job comes from its newest JobEvent: its
    explicit lineage, or else the columnLineage facets of its outputs.
    """
    if (name := derived_dataset(ref)) is not None:
        for record in records_of(state, name):
            if record.derivation is not None:
                yield name, parsed(record.derivation[1], parse_derivation).columns
        return
    declared = state.jobs[ref].declared
    if declared is not None and declared.lineage:
        yield from _of_entries(state, parsed(declared.lineage, parse_entries))
    else:
        yield from ((name, parse_columns(facet)) for name, facet in _declared_facets(state, ref))


def declares_every_use(state: State, ref: JobRef) -> bool:
    """Return True unless the newest event of a job has column lineage without indirect uses."""
    return all(reports_indirect(facet) for _, facet in _declared_facets(state, ref))


def _declared_facets(state: State, ref: JobRef) -> Iterator[tuple[DatasetName, Json]]:
    """Yield the columnLineage facet of each output that has one in the newest JobEvent of a job.

    `facets_without_run` has them by the stamp (time and hash) of the event that reported them.
    """
    if ref not in state.jobs or (declared := state.jobs[ref].declared) is None:
        return
    for name in declared.outputs:
        facets = (state.datasets[name].facets_without_run or {}).get(declared.stamp, {})
        if facet := facets.get("columnLineage"):
            yield state.identity.primary(name), facet


def _of_entries(
    state: State, entries: Iterable[Entry]
) -> Iterator[tuple[DatasetName, ColumnLineage]]:
    """Yield the columns that explicit lineage states for a dataset; skip entries without any."""
    for entry in entries:
        if isinstance(entry.target, DatasetId) and any(entry.columns):
            yield state.identity.primary(canonical_name(*entry.target)), entry.columns
