"""The edges of one run or declaration: inputs, outputs and the flow between them.

Precedence (OpenLineage, proposals/explicit_lineage_facet, "Precedence rules for consumers"): an
explicit lineage facet states the sources of each output. Without one, each of several outputs with
column lineage depends on the inputs that its columns name, and on those that no column of any
output names. Otherwise every output depends on every input.

Explicit lineage also connects jobs that share no dataset, and datasets that no job connects. Two
placeholders represent these inside a generation: a handoff is data that a job passes on directly,
and a derivation takes the place of the missing job. LevelGraph turns both into direct links.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from throughline.events import Entry, JobRef, parse_derivation, parse_entries, source_datasets
from throughline.events.facets import CommitReport
from throughline.identity import DatasetName, canonical_name
from throughline.projection import Job, Run, State, start_of
from throughline.projection.derived import newest_of, records_of
from throughline.projection.facets import parsed

Stated = dict[DatasetName, set[DatasetName]]
"""The reported sources of datasets."""


@dataclass(slots=True)
class Edges:
    """The inputs and outputs of one job; datasets under their shown names."""

    reads: set[DatasetName] = field(default_factory=set)
    writes: set[DatasetName] = field(default_factory=set)
    stated: Stated | None = None
    free: set[DatasetName] | None = None
    """The inputs of outputs that are not in `stated`; None means all inputs."""

    def add(self, other: Edges) -> None:
        """Unite with the edges of another run."""
        if self.free is not None or other.free is not None:
            self.free = self._free() | other._free()
        self.reads |= other.reads
        self.writes |= other.writes
        if other.stated is not None:
            self.stated = self.stated or {}
            for target, sources in other.stated.items():
                self.stated[target] = self.stated.get(target, set()) | sources

    @property
    def is_product(self) -> bool:
        """Return True if every output depends on every input."""
        return self.stated is None and self.free is None

    def sources_of(self, target: DatasetName) -> set[DatasetName]:
        """Return the datasets that one written dataset depends on."""
        found = (self.stated or {}).get(target)
        return self._free() if found is None else found

    def targets_of(self, source: DatasetName) -> set[DatasetName]:
        """Return the written datasets that depend on a dataset."""
        if self.is_product:
            return self.writes
        return {target for target in self.writes if source in self.sources_of(target)}

    def bypass(self, name: DatasetName) -> None:
        """Replace an inner dataset, as a source of others, with its own sources."""
        sources = self.sources_of(name)
        if self.free is not None and name in self.free:
            self.free = (self.free | sources) - {name}
        if self.stated is not None:
            self.stated = {
                target: (found | sources) - {name} if name in found else found
                for target, found in self.stated.items()
            }

    def within(self, part: Edges) -> Edges:
        """Return the edges that are also in a part of the generation."""
        stated = {t: s & part.reads for t, s in (self.stated or {}).items() if t in part.writes}
        return Edges(
            self.reads & part.reads,
            self.writes & part.writes,
            stated or None,
            None if self.free is None else self.free & part.reads,
        )

    def _free(self) -> set[DatasetName]:
        return self.reads if self.free is None else self.free


def united(one: Edges | None, other: Edges) -> Edges:
    """Return the edges of two runs under one task; neither is changed."""
    if one is None:
        return other
    both = Edges()
    both.add(one)
    both.add(other)
    return both


def side_by_side(parts: list[Edges]) -> Edges:
    """Return the edges of separate runs: inputs of one run do not feed outputs of another."""
    if len(parts) == 1:
        return parts[0]
    reads = {name for part in parts for name in part.reads}
    writes = {name for part in parts for name in part.writes}
    if all(part.is_product and part.reads == reads for part in parts):
        return Edges(reads, writes)
    stated: Stated = {}
    for part in parts:
        for name in part.writes:
            stated.setdefault(name, set()).update(part.sources_of(name))
    return Edges(reads, writes, stated, set())


def run_edges(state: State, run: Run) -> Edges:
    """Return the edges that the events of a run itself report."""
    edges = _of_names(state, run.inputs, run.outputs)
    if run.lineage:
        entries = [entry for facet in run.lineage for entry in parsed(facet, parse_entries)]
        _take_entries(state, edges, run.key.job, entries)
    elif len(edges.writes) > 1:
        edges.stated = _stated_by_columns(state, run, edges)
    if run.key.job in state.handoffs:
        edges.writes.add(handoff(run.key.job))
    return edges


def declared_edges(state: State, job: Job) -> Edges:
    """Return the edges that JobEvents and the explicit lineage of other jobs declare for a job."""
    declared = job.declared
    edges = Edges()
    if declared is not None:
        edges = _of_names(state, declared.inputs, declared.outputs)
        if declared.lineage:
            _take_entries(state, edges, job.ref, parsed(declared.lineage, parse_entries))
    for ref in job.stated_by or ():
        for entry in _explicit_lineage_of(state, ref):
            if entry.target == job.ref:
                edges.reads |= _sources(state, entry, job.ref)
    if job.ref in state.handoffs:
        edges.writes.add(handoff(job.ref))
    return edges


def derived_edges(state: State, name: DatasetName) -> Edges:
    """Return the datasets that one is derived from without a job, such as a view."""
    edges = Edges(set(), {name})
    for record in records_of(state, name):
        if record.derivation is not None:
            entry = parsed(record.derivation[1], parse_derivation)
            edges.reads |= _sources(state, entry, None) - {name}
    return edges


def handoff(job: JobRef) -> DatasetName:
    """Return the name of the handoff of a job, which passes on data without a dataset."""
    return DatasetName("", "\0".join(job))


def handed_by(name: DatasetName) -> JobRef | None:
    """Return the job of a handoff; None for a real dataset."""
    if name.namespace:
        return None
    namespace, _, job = name.name.partition("\0")
    return JobRef(namespace, job)


def only_datasets(names: Iterable[DatasetName]) -> set[DatasetName]:
    """Return the names without handoffs."""
    return {name for name in names if name.namespace}


def derivation(name: DatasetName) -> JobRef:
    """Return the name of the derivation that takes the place of a derived dataset's missing job."""
    return JobRef("", "\0".join(name))


def derived_by(ref: JobRef) -> DatasetName | None:
    """Return the dataset of a derivation; None for a real job."""
    if ref.namespace:
        return None
    namespace, _, name = ref.name.partition("\0")
    return DatasetName(namespace, name)


def states_other_jobs(state: State, run: Run) -> bool:
    """Return True if a run's job has explicit lineage, which the run may replace, of other jobs."""
    ref = run.key.job
    runs = map(state.runs.__getitem__, state.jobs[ref].runs) if run.lineage else ()
    facets = {facet for other in runs for facet in other.lineage or ()}
    targets = (entry.target for facet in facets for entry in parsed(facet, parse_entries))
    return any(isinstance(target, JobRef) and target != ref for target in targets)


def _of_names(state: State, inputs: Iterable[DatasetName], outputs: Iterable[DatasetName]) -> Edges:
    primary = state.identity.primary
    return Edges({primary(name) for name in inputs}, {primary(name) for name in outputs})


def _take_entries(state: State, edges: Edges, own: JobRef, entries: Iterable[Entry]) -> None:
    """Use explicit lineage as the sources of each output; an output without an entry has none."""
    edges.free = set()
    edges.stated = {target: set() for target in edges.writes}
    for entry in entries:
        if entry.is_job:
            if entry.target in (None, own):
                edges.reads |= _sources(state, entry, own)
        elif entry.target is not None:
            sources = _sources(state, entry, own)
            edges.reads |= sources
            target = state.identity.primary(canonical_name(*entry.target))
            edges.stated[target] = edges.stated.get(target, set()) | sources


def _sources(state: State, entry: Entry, own: JobRef | None) -> set[DatasetName]:
    primary = state.identity.primary
    found = {primary(canonical_name(*dataset)) for dataset in entry.datasets}
    return found | {handoff(ref) for ref in entry.jobs if ref != own}


def _explicit_lineage_of(state: State, ref: JobRef) -> Iterable[Entry]:
    """Return the explicit lineage of a job: that of its newest run with some, and declared."""
    job = state.jobs[ref]
    newest = newest_of(run for run in map(state.runs.__getitem__, job.runs) if run.lineage)
    facets = set((newest.lineage if newest else None) or ())
    if job.declared is not None and job.declared.lineage:
        facets.add(job.declared.lineage)
    return [entry for facet in facets for entry in parsed(facet, parse_entries)]


def _stated_by_columns(state: State, run: Run, edges: Edges) -> Stated | None:
    primary = state.identity.primary
    named: Stated = {}
    for spelled, use in run.outputs.items():
        if facet := use.dataset_facets.get("columnLineage"):
            sources = {primary(canonical_name(*dataset)) for dataset in source_datasets(facet)}
            named.setdefault(primary(spelled), set()).update(sources & edges.reads)
    if not named:
        return None
    unnamed = edges.reads.difference(*named.values())
    return {target: sources | unnamed for target, sources in named.items()}


def kept_datasets(state: State, runs: Iterable[Run]) -> frozenset[DatasetName]:
    """Return the datasets with more rows after the last commit than the runs added."""
    added: dict[DatasetName, float] = defaultdict(float)
    total: dict[DatasetName, tuple[int, float]] = {}
    for run in runs:
        for spelled, use in run.outputs.items():
            report = use.facets.parsed(CommitReport)
            if report.is_reported:
                name = state.identity.primary(spelled)
                added[name] += report.added
                last = (start_of(run) or 0, report.total)
                total[name] = max(last, total.get(name, last))
    return frozenset(name for name, (_, rows) in total.items() if rows > added[name])
