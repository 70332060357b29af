"""The edges of one run or declaration: its inputs, its outputs and which input feeds which output.

Precedence (OpenLineage, proposals/explicit_lineage_facet, "Precedence rules for consumers"): an
explicit lineage facet states the sources of each output. Without one, each of several outputs with
column lineage depends on the inputs that its columns name, and on those that no column of any
output names. Otherwise every output depends on every input.

Explicit lineage also connects jobs that share no dataset (a *handoff*), and datasets that no job
connects (a *derivation*); see headwater.graph.placeholders. An *entry* of explicit lineage has a
target, a dataset or a job, and its sources. `parsed(facet, parse)` returns a stored facet parsed by
a function, once for equal facets. The *primary name* of a dataset is the one of its joined names
under which it is shown. *Stated sources* are the inputs that feed one output.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from headwater.events import Entry, JobRef, parse_entries, source_datasets
from headwater.events.facets import DbtExposures
from headwater.graph.lifecycle import former_names, removes_data
from headwater.graph.placeholders import handoff
from headwater.graph.sql_lineage import sql_lineage
from headwater.identity import DatasetName, canonical_name
from headwater.projection import Job, Run, State
from headwater.projection.derived import newest_of
from headwater.projection.facet_books import FacetBook, parsed
from headwater.projection.state import Declared

READ_BACK = "headwater_readBack"
"""Facet of an output of which the run wrote all rows before it, or a run below it, read them."""

Sources = dict[DatasetName, set[DatasetName]]
"""The sources of each output: the inputs that feed it."""

Side = Literal["reads", "writes"]
"""A direction of an edge between a job and a dataset: the job reads or writes it."""
SIDES: tuple[Side, ...] = "reads", "writes"


@dataclass(slots=True)
class Edges:
    """The inputs and outputs of one job, under the primary names of the datasets."""

    reads: set[DatasetName] = field(default_factory=set)
    writes: set[DatasetName] = field(default_factory=set)
    stated_sources: Sources | None = None
    """The sources of some outputs, from explicit or column lineage; None if there are none."""
    default_sources: set[DatasetName] | None = None
    """The sources of all other outputs; None means all inputs."""
    partly_stated: set[DatasetName] = field(default_factory=set)
    """Outputs whose sources only some of the runs state; the default sources feed them too."""
    passed: frozenset[DatasetName] = frozenset()
    """Of one run: the outputs that it reads after it wrote them, by its SQL text or `READ_BACK`."""
    replaced: frozenset[DatasetName] = frozenset()
    """Those of them that it does not read before."""

    def add(self, other: Edges) -> None:
        """Add the edges of another run, so that inputs of one may feed outputs of the other.

        The order of runs does not matter. An output of both whose sources only one states also has
        the default sources (`partly_stated`).
        """
        common = self.writes & other.writes
        stated, other_stated = (set(edges.stated_sources or ()) for edges in (self, other))
        self.partly_stated |= other.partly_stated | (common & (stated ^ other_stated))
        if self.default_sources is not None or other.default_sources is not None:
            self.default_sources = self._defaults() | other._defaults()
        self.reads |= other.reads
        self.writes |= other.writes
        if other.stated_sources is not None:
            self.stated_sources = self.stated_sources or {}
            for target, sources in other.stated_sources.items():
                self.stated_sources[target] = self.stated_sources.get(target, set()) | sources

    @property
    def is_cross_product(self) -> bool:
        """Return True if every output depends on every input."""
        return self.stated_sources is None and self.default_sources is None

    def sources_of(self, target: DatasetName) -> set[DatasetName]:
        """Return the inputs that feed an output."""
        found = (self.stated_sources or {}).get(target)
        if found is None:
            return self._defaults()
        return found | self._defaults() if target in self.partly_stated else found

    def targets_of(self, source: DatasetName) -> set[DatasetName]:
        """Return the outputs that an input feeds."""
        if self.is_cross_product:
            return self.writes
        return {target for target in self.writes if source in self.sources_of(target)}

    def bypass(self, name: DatasetName) -> None:
        """Replace a source by its own ones: after `a -> staging -> b`, `b` has the source `a`."""
        sources = self.sources_of(name)
        if self.default_sources is not None and name in self.default_sources:
            self.default_sources = (self.default_sources | sources) - {name}
        if self.stated_sources is not None:
            self.stated_sources = {
                target: (found | sources) - {name} if name in found else found
                for target, found in self.stated_sources.items()
            }

    def within(self, part: Edges) -> Edges:
        """Return the edges whose datasets are in `part`, without `passed` and `replaced`."""
        stated = (self.stated_sources or {}).items()
        return Edges(
            self.reads & part.reads,
            self.writes & part.writes,
            {t: s & part.reads for t, s in stated if t in part.writes} or None,
            None if self.default_sources is None else self.default_sources & part.reads,
            self.partly_stated & part.writes,
        )

    def _defaults(self) -> set[DatasetName]:
        """Return the sources of an output without stated ones: all inputs, unless set."""
        return self.reads if self.default_sources is None else self.default_sources


def merged(parts: Iterable[Edges]) -> Edges:
    """Return the edges of several runs, like `Edges.add`, but change none of them."""
    edges = Edges()
    for part in parts:
        edges.add(part)
    return edges


def side_by_side(parts: list[Edges]) -> Edges:
    """Return the edges of separate runs, where inputs of one do not feed outputs of another.

    The result states no sources if each run has all inputs and states none.
    """
    if len(parts) == 1:
        return parts[0]
    reads = {name for part in parts for name in part.reads}
    writes = {name for part in parts for name in part.writes}
    if all(part.is_cross_product and part.reads == reads for part in parts):
        return Edges(reads, writes)
    stated: Sources = {}
    for part in parts:
        for name in part.writes:
            stated.setdefault(name, set()).update(part.sources_of(name))
    return Edges(reads, writes, stated, set())


def run_edges(state: State, run: Run) -> Edges:
    """Return the edges that the events of a run report, without those of the runs below it.

    The sources come from explicit lineage, else from a rename, else from the SQL text, else from
    the column lineage of several outputs. A dropped or emptied output is not written.
    """
    written = (name for name, use in run.outputs.items() if not removes_data(run, use))
    edges = _of_names(state, run.inputs, written)
    if run.lineage:
        entries = [entry for facet in run.lineage for entry in parsed(facet, parse_entries)]
        _take_entries(state, edges, run.key.job, entries)
        marked = (n for n, use in run.outputs.items() if use.dataset_facets.get(READ_BACK))
        edges.passed = edges.replaced = frozenset(map(state.identity.primary, marked))
    elif former := former_names(state, run):
        edges.reads |= set(former.values())
        edges.writes |= set(former)
        _take_renames(edges, former)
    elif (sql := sql_lineage(state, run)) is not None:
        targets = sql.sources.keys() & edges.writes
        _take_sources(edges, {target: set(sql.sources[target]) for target in targets})
        edges.passed, edges.replaced = sql.passed, sql.replaced
    elif len(edges.writes) > 1 and (sources := _sources_by_columns(state, run, edges)):
        _take_sources(edges, sources)
    return _with_handoff(state, edges, run.key.job)


def _take_renames(edges: Edges, former: dict[DatasetName, DatasetName]) -> None:
    """Use the former name of each renamed output as its only source, and as that of no other."""
    if len(edges.writes) > 1 or len(edges.reads) > 1:
        edges.default_sources = edges.reads.difference(former.values())
        edges.stated_sources = {name: {source} for name, source in former.items()}


def declared_edges(state: State, job: Job) -> Edges:
    """Return the edges of a job that JobEvents, other jobs and datasets that it exposes state.

    Other jobs state them in explicit lineage (`stated_by`), and datasets that an exposure of dbt,
    such as a dashboard, uses in their facets.
    """
    edges = Edges()
    if (declared := job.declared) is not None:
        edges = _of_names(state, declared.inputs, declared.outputs)
        if declared.lineage:
            _take_entries(state, edges, job.ref, parsed(declared.lineage, parse_entries))
    entries = (item for ref in job.stated_by or () for item in _explicit_lineage_of(state, ref))
    for entry in entries:
        if entry.target == job.ref:
            edges.reads |= sources_of_entry(state, entry, job.ref)
    for name in state.exposed.get(job.ref, ()):
        facets = state.datasets[name].facets
        is_current = declared is None or not _replaces(declared, name, facets)
        if is_current and job.ref.name in facets.parsed(DbtExposures).exposures:
            edges.reads.add(state.identity.primary(name))
    return _with_handoff(state, edges, job.ref)


def _replaces(declared: Declared, name: DatasetName, facets: FacetBook) -> bool:
    """Return True if a later JobEvent of an exposure lists the tables of a schema that feed it."""
    schema = name.namespace, name.name.rpartition(".")[0]
    schemas = {(other.namespace, other.name.rpartition(".")[0]) for other in declared.inputs}
    stamp = facets.stamp_of(DbtExposures.KEY)
    return schema in schemas and stamp is not None and stamp < declared.stamp


def _with_handoff(state: State, edges: Edges, job: JobRef) -> Edges:
    """Add the handoff of a job, if any. No facet states its sources: all inputs feed it."""
    if job in state.handoffs:
        edges.writes.add(handoff(job))
        if not edges.is_cross_product:
            edges.stated_sources = {**(edges.stated_sources or {}), handoff(job): set(edges.reads)}
    return edges


def states_lineage_of_other_jobs(state: State, run: Run) -> bool:
    """Return True if the job of a run with explicit lineage states lineage of other jobs."""
    ref = run.key.job
    runs = map(state.runs.__getitem__, state.jobs[ref].runs) if run.lineage else ()
    facets = {facet for other in runs for facet in other.lineage or ()}
    targets = (entry.target for facet in facets for entry in parsed(facet, parse_entries))
    return any(isinstance(target, JobRef) and target != ref for target in targets)


def _of_names(state: State, inputs: Iterable[DatasetName], outputs: Iterable[DatasetName]) -> Edges:
    primary = state.identity.primary
    return Edges({primary(name) for name in inputs}, {primary(name) for name in outputs})


def _take_entries(state: State, edges: Edges, own: JobRef, entries: Iterable[Entry]) -> None:
    """Use explicit lineage as the sources of each output; an output without an entry has none.

    `own` is the job of the edges. An entry about it, or about no target, only names its inputs; one
    about another job is an edge of that job (`declared_edges`).
    """
    edges.default_sources = set()
    edges.stated_sources = {target: set() for target in edges.writes}
    for entry in entries:
        sources = sources_of_entry(state, entry, own)
        if not entry.is_job or entry.target in (None, own):
            edges.reads |= sources
        if not entry.is_job and entry.target is not None:
            target = state.identity.primary(canonical_name(*entry.target))
            edges.stated_sources[target] = edges.stated_sources.get(target, set()) | sources


def _take_sources(edges: Edges, named: Sources) -> None:
    """Add the sources that are named for some outputs; those named for none feed all of them."""
    unnamed = edges.reads.difference(*named.values())
    edges.reads |= unnamed.union(*named.values())
    if len(edges.writes) > 1:
        edges.stated_sources = {target: sources | unnamed for target, sources in named.items()}


def sources_of_entry(state: State, entry: Entry, own: JobRef | None) -> set[DatasetName]:
    """Return the datasets and handoffs that an entry names as sources, without its job `own`."""
    primary = state.identity.primary
    found = {primary(canonical_name(*dataset)) for dataset in entry.datasets}
    return found | {handoff(ref) for ref in entry.jobs if ref != own}


def _explicit_lineage_of(state: State, ref: JobRef) -> Iterable[Entry]:
    """Return the explicit lineage of a job: of its newest run that has any, and of its JobEvent."""
    job = state.jobs[ref]
    newest = newest_of(run for run in map(state.runs.__getitem__, job.runs) if run.lineage)
    facets = set((newest.lineage if newest else None) or ())
    if job.declared is not None and job.declared.lineage:
        facets.add(job.declared.lineage)
    return [entry for facet in facets for entry in parsed(facet, parse_entries)]


def _sources_by_columns(state: State, run: Run, edges: Edges) -> Sources:
    """Return the sources of the outputs with column lineage that are inputs of the run."""
    primary = state.identity.primary
    sources_of_target: Sources = {}
    for spelled, use in run.outputs.items():
        if facet := use.dataset_facets.get("columnLineage"):
            sources = {primary(canonical_name(*dataset)) for dataset in source_datasets(facet)}
            sources_of_target.setdefault(primary(spelled), set()).update(sources & edges.reads)
    return sources_of_target
