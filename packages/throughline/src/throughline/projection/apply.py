"""Apply one event to the state: work in proportion to the event, whatever the state holds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from throughline.identity import DatasetName, canonical_name, symlinks_of
from throughline.projection.facets import Stamp, pack
from throughline.projection.state import (
    DatasetRecord,
    Declared,
    Dependency,
    Job,
    Run,
    RunKey,
    State,
    Use,
)
from throughline.spec import (
    AliasEvent,
    Dataset,
    DatasetEvent,
    DatasetId,
    EventType,
    Facets,
    JobEvent,
    JobRef,
    Logged,
    RunEvent,
    parse_derivation,
    parse_entries,
    run_id_of,
    source_datasets,
)

_MOST_TOUCHED = 10_000  # beyond it, to find all anew is cheaper

_TOLD = ("schema", "dataQualityAssertions", "dataQualityMetrics")  # also kept of inputs, a run each


def project(events: Iterable[Logged]) -> State:
    """The state of a set of events, in whatever order and however often they come."""
    state = State()
    for event in events:
        apply(state, event)
    return state


def apply(state: State, event: Logged) -> None:
    """Apply one event."""
    stamp = Stamp(event.time, event.hash)
    if isinstance(event, AliasEvent):
        _alias(state, event, stamp)
    elif isinstance(event, DatasetEvent):
        _tell(state, event.dataset, stamp)
        _derive(state, event.dataset, stamp)
    elif isinstance(event, JobEvent):
        _declare(state, event, stamp)
    else:
        _run(state, event, stamp)
    state.revision += 1
    state.derived.clear()


def _alias(state: State, event: AliasEvent, stamp: Stamp) -> None:
    one, other = sorted(canonical_name(*name) for name in event.names)
    held = state.aliases.get((one, other))
    if held is None or stamp > held[0]:
        state.aliases[one, other] = (stamp, not event.is_removed)
        state.identity.join_manually({pair for pair, (_, on) in state.aliases.items() if on})


def _declare(state: State, event: JobEvent, stamp: Stamp) -> None:
    job = _own_job(state, event.job, event.job_facets, stamp)
    outputs = frozenset(_tell(state, item, stamp) for item in event.outputs)
    inputs = frozenset(_tell(state, item, stamp) for item in event.inputs)
    for name in inputs | outputs:
        record = state.datasets[name]
        record.declaring = {event.job, *(record.declaring or ())}
    if job.declared is None or stamp > job.declared.stamp:
        job.declared = Declared(stamp, inputs, outputs, _stated(event))
        state.moves += 1
    _connect(state, event, stamp)


def _run(state: State, event: RunEvent, stamp: Stamp) -> None:
    job = _own_job(state, event.job, event.job_facets, stamp)
    run = _known_run(state, RunKey(event.run_id, job.ref))  # the job's own: one object for all
    _touch(state, run)
    job.runs.add(run.key)
    is_new = not run.is_known
    if is_new and (run.children or len(state.runs_by_id[event.run_id]) > 1):
        state.moves += 1  # whoever named it, or its id, may mean another run now
    run.first = stamp.time if run.first is None else min(run.first, stamp.time)
    run.last = stamp.time if run.last is None else max(run.last, stamp.time)
    if event.type is EventType.START:
        run.started = stamp.time if run.started is None else min(run.started, stamp.time)
    run.is_running = run.is_running or event.type in (EventType.START, EventType.RUNNING)
    if event.type.is_end and (run.end is None or stamp > run.end[0]):
        run.end = (stamp, event.type)
    run.facets.put(event.run_facets, stamp)
    if location := event.job_facets.get("sourceCodeLocation"):
        run.code.put({"sourceCodeLocation": location}, stamp)
    _place(state, run, event.run_facets.get("parent", {}), stamp, is_new=is_new)
    _depend(run, event.run_facets.get("jobDependencies", {}))
    if lineage := _stated(event):
        run.lineage = {lineage, *(run.lineage or ())}
        _connect(state, event, stamp)
    # Outputs first: a register keeps the first of two values with one stamp, and what a run says
    # of a table it writes is truer than what it says of the same table as an input.
    for item in event.outputs:
        _use(state, run.outputs, item, item.facets, stamp).writers.add(run.key)
    for item in event.inputs:
        told = _only(item.facets, _TOLD)
        _use(state, run.inputs, item, told, stamp).readers.add(run.key)
    for name in _named_in_columns(event) - run.inputs.keys():
        run.in_columns = run.in_columns or set()
        run.in_columns.add(name)
        state.in_columns.setdefault(name, set()).add(run.key)


def _stated(event: RunEvent | JobEvent) -> bytes | None:
    """Return the explicit lineage facet, packed; one without an entry says nothing."""
    facet = event.job_facets.get("lineage", {})
    return pack(facet) if parse_entries(facet) else None


def _connect(state: State, event: RunEvent | JobEvent, stamp: Stamp) -> None:
    """Note the other jobs that explicit lineage names: by where it says that data comes or goes."""
    for entry in parse_entries(event.job_facets.get("lineage", {})):
        reader = entry.target if isinstance(entry.target, JobRef) else event.job
        for source in entry.jobs - {reader}:
            _named_job(state, source)
            state.moves += _is_new(state.handoffs.setdefault(source, set()), reader)
        if reader == event.job:
            continue
        target = _named_job(state, reader)
        target.stated_by = target.stated_by or set()
        state.moves += _is_new(target.stated_by, event.job)
        for each in entry.datasets:
            record = state.datasets[_dataset(state, Dataset(*each), stamp)]
            record.declaring = {reader, *(record.declaring or ())}


def _derive(state: State, item: Dataset, stamp: Stamp) -> None:
    """Note from which datasets one is derived without a job, such as a view."""
    if not (facet := item.facets.get("lineage")):
        return
    target = canonical_name(item.namespace, item.name)
    record = state.datasets[target]
    entry = parse_derivation(facet, DatasetId(*target))
    for ref in entry.jobs:
        _named_job(state, ref)
        state.moves += ref not in state.handoffs
        state.handoffs.setdefault(ref, set())
    for source in entry.datasets:
        name = _dataset(state, Dataset(*source), stamp)
        state.derived_from.setdefault(name, set()).add(target)
    if record.derivation is None or stamp > record.derivation[0]:
        record.derivation = (stamp, pack(facet))
        state.moves += 1


def _is_new(held: set[JobRef], ref: JobRef) -> bool:
    """Add a job to a set; return whether it was not in it."""
    size = len(held)
    held.add(ref)
    return len(held) > size


def _named_in_columns(event: RunEvent) -> set[DatasetName]:
    """Return the source datasets in the column lineage of the outputs."""
    facets = (
        item.facets["columnLineage"] for item in event.outputs if "columnLineage" in item.facets
    )
    return {canonical_name(*name) for facet in facets for name in source_datasets(facet)}


def _use(
    state: State, uses: dict[DatasetName, Use], item: Dataset, told: Facets, stamp: Stamp
) -> DatasetRecord:
    name = _dataset(state, item, stamp)
    use = uses.setdefault(name, Use())
    use.facets.put(item.io_facets, stamp)
    use.about.put(told, stamp)
    version = item.facets.get("version", {}).get("datasetVersion")
    if version is not None and (use.version is None or stamp > use.version[0]):
        use.version = (stamp, str(version))
    return state.datasets[name]


def _tell(state: State, item: Dataset, stamp: Stamp) -> DatasetName:
    """Note what is said of a dataset apart from any run."""
    name = _dataset(state, item, stamp)
    if told := _only(item.facets, _TOLD):
        record = state.datasets[name]
        record.told = {stamp: told} | (record.told or {})
    return name


def _only(facets: Facets, names: Iterable[str]) -> Facets:
    return {name: facets[name] for name in names if name in facets}


def _dataset(state: State, item: Dataset, stamp: Stamp) -> DatasetName:
    name = state.identity.add(item)
    record = state.datasets.get(name)
    if record is None:
        record = state.datasets[name] = DatasetRecord(name, stamp.time, stamp.time)
    record.first, record.last = min(record.first, stamp.time), max(record.last, stamp.time)
    record.facets.put(item.facets, stamp)
    for spelled in (name, *symlinks_of(item)):
        _namespace(state, spelled.namespace, stamp)
    return name


def _place(state: State, run: Run, facet: dict[str, Any], stamp: Stamp, *, is_new: bool) -> None:
    """Put the run under its parent, and a parent that is silent so far under the root."""
    above = _reference(facet)
    if above is None or above == run.key:
        return
    if run.parent is None or stamp > run.parent[0]:
        if run.parent is None or run.parent[1] != above:
            state.moves += bool(not is_new or run.children)
        run.parent = (stamp, above)
    parent = _known_run(state, above)
    _add_child(state, parent, run.key)
    root = _reference(facet.get("root"))
    if root is None or root in (above, run.key):
        return
    if parent.hint is None or stamp > parent.hint[0]:
        if parent.hint is None or parent.hint[1] != root:
            state.moves += bool((parent.children or set()) - {run.key})
        parent.hint = (stamp, root)
    _add_child(state, _known_run(state, root), above, is_hint=True)


def _add_child(state: State, run: Run, child: RunKey, *, is_hint: bool = False) -> None:
    run.children = run.children or set()
    run.children.add(child)
    above, below = _named_job(state, run.key.job), _named_job(state, child.job)
    named = (below.hints or ()) if is_hint else below.parents
    if above.ref not in named or below.ref not in (above.children or ()):
        state.moves += 1  # the level of a job may follow from those around it
        above.children = above.children or set()
        above.children.add(below.ref)
        if is_hint:
            below.hints = {above.ref, *(below.hints or ())}
        else:
            below.parents.add(above.ref)


def _touch(state: State, run: Run) -> None:
    state.touched.add(run.key)
    if len(state.touched) > _MOST_TOUCHED:
        state.touched.clear()
        state.moves += 1


def _depend(run: Run, facet: dict[str, Any]) -> None:
    if found := _dependencies(facet.get("upstream")):
        run.upstream = (run.upstream or set()) | found
    if found := _dependencies(facet.get("downstream")):
        run.downstream = (run.downstream or set()) | found


def _dependencies(entries: Any) -> set[Dependency]:
    named = [(_job_reference(each), each) for each in entries] if isinstance(entries, list) else []
    return {Dependency(job, _run_reference(each)) for job, each in named if job is not None}


def _reference(facet: Any) -> RunKey | None:
    job, run_id = _job_reference(facet), _run_reference(facet)
    return RunKey(run_id, job) if job and run_id else None


def _names_of(reference: Any) -> tuple[Any, Any]:
    if not isinstance(reference, dict):
        return None, None
    return reference.get("namespace"), reference.get("name")


def _job_reference(facet: Any) -> JobRef | None:
    namespace, name = _names_of(facet.get("job") if isinstance(facet, dict) else None)
    if isinstance(namespace, str) and isinstance(name, str) and namespace and name:
        return JobRef(namespace, name)
    return None


def _run_reference(facet: Any) -> str | None:
    run = facet.get("run") if isinstance(facet, dict) else None
    run_id = run.get("runId") if isinstance(run, dict) else None
    return run_id_of(run_id) if isinstance(run_id, str) and run_id else None


def _own_job(state: State, ref: JobRef, facets: dict[str, Any], stamp: Stamp) -> Job:
    job = _named_job(state, ref)
    kind = job.facets.get("jobType")
    if job.first is None and job.children:
        state.moves += 1  # it needs no hint any more of where it stands
    job.first = stamp.time if job.first is None else min(job.first, stamp.time)
    job.last = stamp.time if job.last is None else max(job.last, stamp.time)
    job.facets.put(facets, stamp)
    state.moves += job.facets.get("jobType") != kind
    _namespace(state, ref.namespace, stamp)
    return job


def _named_job(state: State, ref: JobRef) -> Job:
    job = state.jobs.get(ref)
    if job is None:
        job = state.jobs[ref] = Job(ref)
    return job


def _known_run(state: State, key: RunKey) -> Run:
    run = state.runs.get(key)
    if run is None:
        run = state.runs[key] = Run(key)
        state.runs_by_id[key.run_id] = tuple(sorted((*state.runs_by_id.get(key.run_id, ()), key)))
        _named_job(state, key.job).runs.add(key)
    return run


def _namespace(state: State, name: str, stamp: Stamp) -> None:
    first, last = state.namespaces.get(name, (stamp.time, stamp.time))
    state.namespaces[name] = (min(first, stamp.time), max(last, stamp.time))
