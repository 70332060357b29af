"""The sources of an edge, their producers, and the grade that follows from them.

Lists of inputs and outputs, column lineage and explicit lineage of one run are one source, because
one producer states them. The SQL text is a source of its own, and so is another run below the same
task that another producer reports, such as a Spark query below an Airflow task.

An edge between an input and an output is only possible if no source states that one feeds the
other: the producer marks the sources of the output as unknown, or the run (or all runs of a task
together) has several inputs and several outputs.

A statement without a source or target (None) is about the edge between a dataset and its job. A
*generation* is the runs of a task under one parent run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from headwater.events import ONLY_IN_TEXT, Evidence
from headwater.graph.generation import Generation
from headwater.graph.placeholders import only_datasets
from headwater.graph.run_edges import Edges
from headwater.identity import DatasetName
from headwater.lineage.models import EdgeStatement
from headwater.lineage.producers import tool_of
from headwater.lineage.staleness import STALE_AFTER
from headwater.lineage.uses import COARSE, RunUses, uses_of_runs
from headwater.projection import Run, State
from headwater.projection.state import Use
from headwater.query.parameters import Grade

StatementKind = Literal["explicit", "columns", "sql", "rename", "datasets", "declared"]


class Statement(NamedTuple):
    """A kind of statement and its producer, such as `dbt 1.54.0`; None if not reported."""

    kind: StatementKind
    producer: str | None = None

    def answer(self) -> EdgeStatement:
        """Return the statement as part of an answer."""
        return {"kind": self.kind, "producer": self.producer}


DECLARED = Statement("declared")


class Statements(NamedTuple):
    """The statements of one or more runs about an edge."""

    found: frozenset[Statement] = frozenset()
    is_contradicted: bool = False
    """True if the SQL text was read completely, has sources, and does not name the dataset."""
    is_possible: bool = False
    """True if no source states that the input feeds the output."""

    @property
    def evidence(self) -> Evidence:
        """`sql` if only a SQL text states the edge, and `verified` if facets or inputs do, too."""
        kinds = {item.kind for item in self.found}
        if "sql" not in kinds:
            return "reported"
        return "verified" if len(kinds) > 1 else "sql"

    def grade(self, missed: int = 0, *, may_be_replaced: bool = False) -> Grade:
        """Return the grade of the edge.

        `missed` is the number of newer finished runs that lack it, see `staleness.missed_runs`.
        `may_be_replaced` is True for a write whose rows another job may have replaced since. An
        edge is verified if two different producers, or a producer and the SQL text, state it.
        """
        if missed >= STALE_AFTER:
            return "stale"
        if may_be_replaced:
            return "possible"
        sources = {"" if item.kind == "sql" else tool_of(item.producer) for item in self.found}
        if len(sources) > 1:
            return "verified"
        if self.is_contradicted:
            return "contradicted"
        return "possible" if self.is_possible else "reported"


def combined_statements(parts: Iterable[Statements]) -> Statements:
    """Return the statements of several runs, as if they were one.

    An edge is contradicted only if no run's SQL text has it: the text of one may name what another
    lacks. It is only possible if it is so in all runs.
    """
    every = [part for part in parts if part.found]
    found = frozenset(item for part in every for item in part.found)
    is_named = any(item.kind == "sql" for item in found)
    return Statements(
        found,
        not is_named and any(part.is_contradicted for part in every),
        bool(every) and all(part.is_possible for part in every),
    )


def has_edge(edges: Edges, source: DatasetName | None, target: DatasetName | None) -> bool:
    """Return True for an edge between two datasets; None stands for the job on a side."""
    if target is None:
        return source in edges.reads
    return target in edges.writes and (source is None or source in edges.sources_of(target))


def statements_of(
    uses: RunUses, source: DatasetName | None, target: DatasetName | None
) -> Statements:
    """Return the statements of a run about an edge between two datasets, or to or from its job.

    None for `source` or `target` stands for the job. No statement is found if the run does not have
    the edge. An input that only the SQL text names is no statement of the producer.
    """
    reads = [] if source is None else uses.reads.get(source, [])
    writes = [] if target is None else uses.writes.get(target, [])
    if (source is not None and not reads) or (target is not None and not writes):
        is_renamed = uses.renames_in_text.has(source, target)
        return Statements(frozenset({Statement("rename", uses.producer)} if is_renamed else ()))
    kinds = set(_of_facets(uses, source, target))
    is_reported = not any(use.io_facets.get(ONLY_IN_TEXT) for use in reads)
    if is_reported and (source is None or target is None or not kinds):
        kinds.add("datasets")
    found = frozenset(Statement(kind, uses.producer) for kind in kinds)
    if uses.in_text.has(source, target):
        return Statements(frozenset({*found, Statement("sql")}))
    text = uses.text
    is_contradicted = text is not None and text.is_complete and bool(text.sources)
    is_pair = source is not None and target is not None
    is_possible = is_pair and kinds == {"datasets"} and _has_unknown_sources(uses.run, writes)
    return Statements(found, is_contradicted, is_possible)


def statements_by_run(
    state: State, generation: Generation, source: DatasetName | None, target: DatasetName | None
) -> list[tuple[Run, Statements]]:
    """Return the runs of a generation that state an edge, with their statements.

    If one run read the source and another wrote the target, return the runs that read the source.
    The edge is then only possible if the generation has several inputs and several outputs.

    None for `source` or `target` stands for the job, as in `statements_of`.
    """
    runs = uses_of_runs(state, generation, generation.runs)
    every = [(uses.run, statements_of(uses, source, target)) for uses in runs.of(source, target)]
    if not any(found.found for _, found in every):
        edges = generation.edges
        sides = map(len, (only_datasets(edges.reads), only_datasets(edges.writes)))
        is_product = None not in (source, target) and min(sides) > 1
        every = [
            (uses.run, statements_of(uses, source, None)._replace(is_possible=is_product))
            for uses in runs.of(source, None)
        ]
    return [(run, found) for run, found in every if found.found]


def _has_unknown_sources(run: Run, writes: Iterable[Use]) -> bool:
    """Return True if a run without lineage facets does not state the sources of an output."""
    is_product = not run.lineage and min(len(run.inputs), len(run.outputs)) > 1
    return is_product or any(use.dataset_facets.get(COARSE) for use in writes)


def _of_facets(
    uses: RunUses, source: DatasetName | None, target: DatasetName | None
) -> Iterator[StatementKind]:
    """Yield the kinds of facets that have the edge: explicit lineage, or else column lineage."""
    if uses.explicit.has(source, target):
        yield "explicit"
    if uses.columns.has(source, target):
        yield "columns"
