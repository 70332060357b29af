"""The sources of an edge, their producers, and the grade that follows from them.

Lists of inputs and outputs, column lineage and explicit lineage of one run are one source, because
one producer states them. The SQL text is a source of its own, and so is another run below the same
task that another producer reports, such as a Spark query below an Airflow task.

An edge between an input and an output is only possible if no source states that one feeds the
other: the producer marks the sources of the output as unknown, or the run (or all runs of a task
together) has several inputs and several outputs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Literal, NamedTuple

from headwater.events import ONLY_IN_TEXT, DatasetId, Json, parse_entries
from headwater.graph.generation import Generation
from headwater.graph.run_edges import only_datasets
from headwater.graph.sql_lineage import SqlLineage, sql_lineage
from headwater.identity import DatasetName, canonical_name
from headwater.lineage.models import EdgeStatement
from headwater.lineage.staleness import STALE_AFTER
from headwater.projection import Run, State
from headwater.projection.facet_books import parsed
from headwater.projection.state import Use
from headwater.query.parameters import Grade

StatementKind = Literal["explicit", "columns", "sql", "datasets", "declared"]

_PARTS = re.compile(r"https?://[^/]+/|/tree/|/blob/")
_NAMES = {"headwater": "headwater-client"}
"""Names of producers, by the repository in their URL."""
_NUMBER = re.compile(r"v?\d")


class Statement(NamedTuple):
    """A kind of statement and its producer, such as `dbt 1.54.0`; None if not reported."""

    kind: StatementKind
    producer: str | None = None

    def answer(self) -> EdgeStatement:
        """Return the statement as part of an answer."""
        return {"kind": self.kind, "producer": self.producer}


DECLARED = Statement("declared")

COARSE = "headwater_coarseLineage"
"""Facet of an output whose sources are unknown: each input may feed it."""


class Statements(NamedTuple):
    """The statements of one or more runs about an edge."""

    found: frozenset[Statement] = frozenset()
    is_contradicted: bool = False
    """True if the SQL text was read completely, has sources, and does not name the dataset."""
    is_possible: bool = False
    """True if no source states that the input feeds the output."""

    def grade(self, missed: int = 0, *, may_be_replaced: bool = False) -> Grade:
        """Return the grade of the edge, given the newer finished runs that lack it.

        `may_be_replaced` is True for a write whose rows another job may have replaced since.
        """
        if missed >= STALE_AFTER:
            return "stale"
        if may_be_replaced:
            return "possible"
        sources = {"" if item.kind == "sql" else _tool(item.producer) for item in self.found}
        if len(sources) > 1:
            return "verified"
        if self.is_contradicted:
            return "contradicted"
        return "possible" if self.is_possible else "reported"


def combined_statements(parts: Iterable[Statements]) -> Statements:
    """Return the statements of several runs; the text of one may name what another lacks."""
    every = [part for part in parts if part.found]
    found = frozenset(item for part in every for item in part.found)
    is_named = any(item.kind == "sql" for item in found)
    return Statements(
        found,
        not is_named and any(part.is_contradicted for part in every),
        bool(every) and all(part.is_possible for part in every),
    )


def statements_of(
    state: State, run: Run, source: DatasetName | None, target: DatasetName | None
) -> Statements:
    """Return the statements of a run about an edge between two datasets, or to or from its job."""
    text = sql_lineage(state, run)
    reads = [] if source is None else list(_uses(state, run.inputs, source))
    writes = [] if target is None else list(_uses(state, run.outputs, target))
    if (source is not None and not reads) or (target is not None and not writes):
        return Statements()
    kinds = set(_of_facets(state, run, source, target, writes))
    is_reported = not any(use.facets.get(ONLY_IN_TEXT) for use in reads)
    if is_reported and (source is None or target is None or not kinds):
        kinds.add("datasets")
    producer = producer_of_run(state, run)
    found = frozenset(Statement(kind, producer) for kind in kinds)
    if text is not None and _is_named(text, source, target):
        return Statements(frozenset({*found, Statement("sql")}))
    is_contradicted = text is not None and text.is_complete and bool(text.sources)
    is_pair = source is not None and target is not None
    is_possible = is_pair and kinds == {"datasets"} and _has_unknown_sources(run, writes)
    return Statements(found, is_contradicted, is_possible)


def statements_by_run(
    state: State, generation: Generation, source: DatasetName | None, target: DatasetName | None
) -> list[tuple[Run, Statements]]:
    """Return the runs of a generation that state an edge, with their statements.

    If one run read the source and another wrote the target, return the runs that read the source.
    """
    every = [(run, statements_of(state, run, source, target)) for run in generation.runs]
    if not any(found.found for _, found in every):
        edges = generation.edges
        sides = map(len, (only_datasets(edges.reads), only_datasets(edges.writes)))
        is_product = None not in (source, target) and min(sides) > 1
        every = [
            (run, statements_of(state, run, source, None)._replace(is_possible=is_product))
            for run in generation.runs
        ]
    return [(run, found) for run, found in every if found.found]


def _has_unknown_sources(run: Run, writes: Iterable[Use]) -> bool:
    """Return True if a run without lineage facets does not state the sources of an output."""
    is_product = not run.lineage and min(len(run.inputs), len(run.outputs)) > 1
    return is_product or any(use.dataset_facets.get(COARSE) for use in writes)


def _is_named(text: SqlLineage, source: DatasetName | None, target: DatasetName | None) -> bool:
    """Return True if a text has an edge."""
    targets = text.sources if target is None else {target} & text.sources.keys()
    return any(source is None or source in text.sources[name] for name in targets)


def _uses(state: State, uses: dict[DatasetName, Use], name: DatasetName) -> Iterator[Use]:
    primary = state.identity.primary
    return (use for spelled, use in uses.items() if primary(spelled) == name)


def _of_facets(
    state: State,
    run: Run,
    source: DatasetName | None,
    target: DatasetName | None,
    writes: Iterable[Use],
) -> Iterator[StatementKind]:
    """Yield the kinds of facets that have the edge: explicit lineage, or else column lineage."""
    primary = state.identity.primary
    coarse = {primary(name) for name, use in run.outputs.items() if use.dataset_facets.get(COARSE)}
    for facet in run.lineage or ():
        for entry in parsed(facet, parse_entries):
            own = (
                primary(canonical_name(*entry.target))
                if isinstance(entry.target, DatasetId)
                else None
            )
            named = {primary(canonical_name(*dataset)) for dataset in entry.datasets}
            is_stated = own not in coarse and (source is None or source in named)
            if is_stated and target in (None, own):
                yield "explicit"
    every = writes if target is not None else run.outputs.values()
    for use in () if run.lineage else every:
        links = use.dataset_facets.column_lineage().links
        named = {primary(canonical_name(link.namespace, link.name)) for link in links}
        if named and (source is None or source in named):
            yield "columns"


def producer_of_run(state: State, run: Run) -> str | None:
    """Return the short name of the producer of a run, such as `dbt 1.54.0`; None if unnamed."""
    uses = (*run.outputs.values(), *run.inputs.values())
    books = [run.code, *(book for use in uses for book in (use.dataset_facets, use.facets))]
    facets = (book.get(name) for book in books for name in sorted(book.stamped()))
    about_job = state.jobs[run.key.job].facets.get("jobType")
    others = (run.facets.get(name) for name in sorted(run.facets.stamped()))
    every = chain([run.facets.get("processing_engine")], facets, [about_job], others)
    named = (_short(facet, about_job) for facet in every if facet)
    return next(filter(None, named), None)


def producer_of_columns(state: State, run: Run) -> str | None:
    """Return the short name of the producer of a run's column lineage; None if unnamed."""
    about_job = state.jobs[run.key.job].facets.get("jobType")
    facets = (use.dataset_facets.get("columnLineage") for use in run.outputs.values())
    return next(filter(None, (_short(facet, about_job) for facet in facets)), None)


def _short(facet: Json, about_job: Json) -> str | None:
    """Return the name and version of a producer.

    OpenLineage's client has the name of the integration that uses it. A producer whose URL has only
    a repository has the name of the repository.
    """
    producer = facet.get("_producer")
    if not isinstance(producer, str) or not producer:
        return None
    *before, path = _PARTS.split(producer)
    parts = [part for part in path.split("/") if part]
    numbers = [part for part in parts if _NUMBER.match(part)]
    names = [part for part in parts if part not in numbers]
    if names[-2:] in (["client", "python"], ["client", "java"]):
        kind = about_job.get("integration")
        names = [str(kind).lower() if kind else f"openlineage-{names[-1]}"]
    elif not names and numbers and before[-1]:
        repository = before[-1].rpartition("/")[2]
        names = [_NAMES.get(repository, repository)]
    return " ".join([*names[-1:], *numbers[:1]]) or producer


def _tool(producer: str | None) -> str:
    """Return the name of a producer without its version."""
    return (producer or "unnamed").split(" ")[0]
