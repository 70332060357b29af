"""Apply one event to the state, in time proportional to the event's size."""

from __future__ import annotations

from collections.abc import Iterable

from headwater.events import (
    AliasEvent,
    Dataset,
    DatasetEvent,
    EventType,
    Facets,
    JobEvent,
    JobRef,
    Json,
    Logged,
    Relation,
    RunEvent,
    change_of,
    parse_derivation,
    parse_entries,
    source_datasets,
)
from headwater.events.assertions import DATASET_FACETS
from headwater.events.facets import (
    EXPOSURE,
    DbtExposures,
    JobDependencies,
    JobType,
    LifecycleStateChange,
    Parent,
    Reference,
)
from headwater.identity import DatasetName, canonical_name, symlinks_of
from headwater.projection.facet_books import Stamp, pack
from headwater.projection.state import (
    DatasetRecord,
    Declared,
    Job,
    LifecycleChange,
    Run,
    RunKey,
    State,
    StatedChange,
    Use,
    Version,
)  # fmt: skip

_MOST_VERSIONS = 100  # of one dataset by one run; a stream may commit forever

_INPUT_FACETS = ("schema", *DATASET_FACETS, "dataQualityMetrics")  # also per run of inputs


def project(events: Iterable[Logged]) -> State:
    """Return the state of a set of events; order and repetition do not matter."""
    state = State()
    for event in events:
        apply(state, event)
    return state


def apply(state: State, event: Logged) -> None:
    """Apply one event."""
    stamp = Stamp(event.time, event.hash)
    if isinstance(event, AliasEvent):
        _apply_alias(state, event, stamp)
    elif isinstance(event, DatasetEvent):
        _update_dataset_of_event(state, event.dataset, stamp)
        _add_derivation(state, event.dataset, stamp)
        if (former := _add_lifecycle(state, event.dataset, stamp, None)) is not None:
            _add_derivation(state, _derived(event.dataset, former), stamp)
        # No run is touched that would update the graph.
        state.structure_changes += LifecycleStateChange.KEY in event.dataset.facets
    elif isinstance(event, JobEvent):
        _apply_job_event(state, event, stamp)
    else:
        _apply_run_event(state, event, stamp)
    state.revision += 1
    state.derived.clear()


def _apply_alias(state: State, event: AliasEvent, stamp: Stamp) -> None:
    one, other = sorted(canonical_name(*name) for name in event.names)
    current = state.aliases.get((one, other))
    if current is None or stamp > current[0]:
        state.aliases[one, other] = (stamp, event.relation)
        state.identity.set_manual(_pairs(state, "same"), _pairs(state, "different"))
        for name in (one, other):
            state.changed_names.add(name, state.revision + 1)
        _touch_users(state)


def _pairs(state: State, relation: Relation) -> set[tuple[DatasetName, DatasetName]]:
    return {pair for pair, (_, stated) in state.aliases.items() if stated == relation}


def _apply_job_event(state: State, event: JobEvent, stamp: Stamp) -> None:
    job = _update_job(state, event.job, event.job_facets, stamp)
    outputs = frozenset(_update_dataset_of_event(state, item, stamp) for item in event.outputs)
    read = (*event.inputs, *_column_sources(event))
    inputs = frozenset(_update_dataset_of_event(state, item, stamp) for item in read)
    for name in inputs | outputs:
        record = state.datasets[name]
        record.declaring = {event.job, *(record.declaring or ())}
    if job.declared is None or stamp > job.declared.stamp:
        job.declared = Declared(stamp, inputs, outputs, _packed_lineage(event))
        state.structure_changes += 1
    _add_job_handoffs(state, event, stamp)


def _apply_run_event(state: State, event: RunEvent, stamp: Stamp) -> None:
    job = _update_job(state, event.job, event.job_facets, stamp)
    run = _run_record(state, RunKey(event.run_id, job.ref))  # job.ref: share one object
    _touch(state, run)
    job.runs.add(run.key)
    is_new = not run.has_events
    if is_new and (run.children or len(state.runs_by_id[event.run_id]) > 1):
        state.moved.add(job.ref, state.revision + 1)  # references may now resolve differently
    run.first = stamp.time if run.first is None else min(run.first, stamp.time)
    run.last = stamp.time if run.last is None else max(run.last, stamp.time)
    if event.type is EventType.START:
        run.started = stamp.time if run.started is None else min(run.started, stamp.time)
    run.is_running = run.is_running or event.type in (EventType.START, EventType.RUNNING)
    if event.type.is_end and (run.end is None or stamp > run.end[0]):
        run.end = (stamp, event.type)
    run.facets.put(event.run_facets, stamp)
    run.code.put(_select(event.job_facets, ("sourceCodeLocation", "sql")), stamp)
    _set_parent(state, run, event.run_facets.get(Parent.KEY), stamp, is_new=is_new)
    if facet := event.run_facets.get(JobDependencies.KEY):
        _add_dependencies(state, run, JobDependencies.parse(facet))
    if lineage := _packed_lineage(event):
        run.lineage = {lineage, *(run.lineage or ())}
        _add_job_handoffs(state, event, stamp)
    # Outputs first: a register keeps the first of two values with equal stamps, and the facets of
    # a table as an output are more accurate than those of the same table as an input.
    for item in event.outputs:
        _update_use(state, run.outputs, item, item.facets, stamp).writers.add(run.key)
    for item in event.inputs:
        dataset_facets = _select(item.facets, _INPUT_FACETS)
        _update_use(state, run.inputs, item, dataset_facets, stamp).readers.add(run.key)
    renamed = _renamed_sources(state, event, run.key, stamp)
    for source in (*renamed, *_column_sources(event)):  # inputs, even if not listed as such
        _update_use(state, run.inputs, source, {}, stamp).readers.add(run.key)
    for item in (*event.outputs, *event.inputs):
        _add_exposures(state, event.job.namespace, item, stamp)
        _add_schemas(state, event.job.namespace, item)
    _add_table_change(state, event, run.key, stamp)


def _add_schemas(state: State, namespace: str, item: Dataset) -> None:
    """Record the schemas of the tables that the jobs of a namespace use."""
    schemas = state.schemas.setdefault(namespace, set())
    for name in (canonical_name(item.namespace, item.name), *symlinks_of(item)):
        schema = name.namespace, name.name.rpartition(".")[0]
        if schema not in schemas and "/" not in name.name:
            schemas.add(schema)
            changing = {key.job.namespace for key in state.table_changes}
            state.structure_changes += namespace in changing


def _add_table_change(state: State, event: RunEvent, run: RunKey, stamp: Stamp) -> None:
    """Record the change of tables in the SQL text of a completed run that reports no dataset."""
    is_silent = event.type is EventType.COMPLETE and not (event.inputs or event.outputs)
    change = change_of(event.job_facets.get("sql", {})) if is_silent else None
    if change is None:
        return
    stated = StatedChange(stamp, *change)
    state.table_changes[run] = max(stated, state.table_changes.get(run, stated))
    for parts in change.tables:
        state.changes_by_table.setdefault(parts[-1].lower(), set()).add(run)


def _touch_changes(state: State, name: DatasetName) -> None:
    """Record changes of the runs whose SQL text may change a table that got a name."""
    if state.changes_by_table:
        for key in state.changes_by_table.get(name.name.rpartition(".")[2].lower(), ()):
            _touch(state, state.runs[key])


def _add_exposures(state: State, namespace: str, item: Dataset, stamp: Stamp) -> None:
    """Record the exposures of dbt that a dataset feeds, as jobs that read it."""
    facet = item.facets.get(DbtExposures.KEY)
    for unique_id, exposure in DbtExposures.parse(facet).exposures.items() if facet else ():
        kind = {"integration": "DBT", "jobType": EXPOSURE}
        facets = {JobType.KEY: kind, "dbt_exposure": exposure}
        ref = _update_job(state, JobRef(namespace, unique_id), facets, stamp).ref
        record = state.datasets[canonical_name(item.namespace, item.name)]
        record.declaring = {ref, *(record.declaring or ())}
        state.exposed.setdefault(ref, set()).add(record.name)


def _add_lifecycle(state: State, item: Dataset, stamp: Stamp, run: RunKey | None) -> Dataset | None:
    """Record that rows of a dataset were removed or renamed; return its former name, if any."""
    change = LifecycleStateChange.parse(item.facets.get(LifecycleStateChange.KEY, {}))
    kind, former = change.lifecycleStateChange or "", change.former_name
    if former is not None:
        source = Dataset(*former)
        old, new = canonical_name(*former), canonical_name(item.namespace, item.name)
        is_read = change.is_from_sql
        _add_change(state, item, LifecycleChange(stamp, "RENAME", run, old, is_read))
        _add_change(state, source, LifecycleChange(stamp, "MOVE", run, new, is_read))
        return source
    if change.removes_data or (run is None and kind in ("CREATE", "OVERWRITE")):
        _add_change(state, item, LifecycleChange(stamp, kind, run, None, change.is_from_sql))
    return None


def _add_change(state: State, item: Dataset, change: LifecycleChange) -> None:
    record = state.datasets[_update_dataset(state, item, change.stamp)]
    record.lifecycle = record.lifecycle or set()
    record.lifecycle.add(change)


def _derived(item: Dataset, source: Dataset) -> Dataset:
    """Return a dataset that is derived from another one without a job."""
    entry = {"type": "DATASET", "namespace": source.namespace, "name": source.name}
    return Dataset(item.namespace, item.name, {"lineage": {"inputs": [entry]}})


def _renamed_sources(state: State, event: RunEvent, run: RunKey, stamp: Stamp) -> list[Dataset]:
    """Record the lifecycle changes of a completed run; return the former names of its outputs."""
    if event.type is not EventType.COMPLETE:
        return []
    former = (_add_lifecycle(state, item, stamp, run) for item in event.outputs)
    return [dataset for dataset in former if dataset is not None]


def _packed_lineage(event: RunEvent | JobEvent) -> bytes | None:
    """Return the packed explicit lineage facet; None if it has no entry."""
    facet = event.job_facets.get("lineage", {})
    return pack(facet) if parse_entries(facet) else None


def _add_job_handoffs(state: State, event: RunEvent | JobEvent, stamp: Stamp) -> None:
    """Record the other jobs in explicit lineage, from which data comes or to which it goes."""
    for entry in parse_entries(event.job_facets.get("lineage", {})):
        reader = entry.target if isinstance(entry.target, JobRef) else event.job
        for source in entry.jobs - {reader}:
            _job_record(state, source)
            state.structure_changes += _is_new(state.handoffs.setdefault(source, set()), reader)
        if reader == event.job:
            continue
        target = _job_record(state, reader)
        target.stated_by = target.stated_by or set()
        state.structure_changes += _is_new(target.stated_by, event.job)
        for dataset in entry.datasets:
            record = state.datasets[_update_dataset(state, Dataset(*dataset), stamp)]
            record.declaring = {reader, *(record.declaring or ())}


def _add_derivation(state: State, item: Dataset, stamp: Stamp) -> None:
    """Record the source datasets of one that is derived without a job, such as a view."""
    if not (facet := item.facets.get("lineage")):
        return
    target = canonical_name(item.namespace, item.name)
    record = state.datasets[target]
    entry = parse_derivation(facet)
    for ref in entry.jobs:
        _job_record(state, ref)
        state.structure_changes += ref not in state.handoffs
        state.handoffs.setdefault(ref, set())
    for source in entry.datasets:
        name = _update_dataset(state, Dataset(*source), stamp)
        state.derived_from.setdefault(name, set()).add(target)
    if record.derivation is None or stamp > record.derivation[0]:
        record.derivation = (stamp, pack(facet))
        state.structure_changes += 1


def _is_new(jobs: set[JobRef], ref: JobRef) -> bool:
    """Add a job to a set; return True if it was not in it."""
    size = len(jobs)
    jobs.add(ref)
    return len(jobs) > size


def _column_sources(event: RunEvent | JobEvent) -> list[Dataset]:
    """Return the sources in the column lineage of the outputs that the event does not list.

    A column of an output may come from the output itself, as in a MERGE. That is no input.
    """
    listed = {canonical_name(item.namespace, item.name) for item in event.inputs}
    found: dict[DatasetName, Dataset] = {}
    for item in event.outputs:
        if facet := item.facets.get("columnLineage"):
            own = {canonical_name(item.namespace, item.name), *symlinks_of(item)}
            for source in source_datasets(facet):
                name = canonical_name(*source)
                if name not in listed and name not in own:
                    found[name] = Dataset(*source)
    return list(found.values())


def _update_use(
    state: State, uses: dict[DatasetName, Use], item: Dataset, facets: Facets, stamp: Stamp
) -> DatasetRecord:
    name = _update_dataset(state, item, stamp)
    use = uses.setdefault(name, Use())
    use.facets.put(item.io_facets, stamp)
    use.dataset_facets.put(facets, stamp)
    version = item.facets.get("version", {}).get("datasetVersion")
    if version is not None:
        _add_version(use, Version(stamp, str(version), pack(item.io_facets)))
    return state.datasets[name]


def _add_version(use: Use, version: Version) -> None:
    """Add a version, or the newer of two reports of one; keep the newest versions."""
    found = {other.name: other for other in use.versions}
    found[version.name] = max(version, found.get(version.name, version))
    use.versions = tuple(sorted(found.values())[-_MOST_VERSIONS:])


def _update_dataset_of_event(state: State, item: Dataset, stamp: Stamp) -> DatasetName:
    """Record the facets of a dataset that were reported without a run."""
    name = _update_dataset(state, item, stamp)
    if facets := _select(item.facets, (*_INPUT_FACETS, "columnLineage")):
        record = state.datasets[name]
        record.facets_without_run = {stamp: facets} | (record.facets_without_run or {})
    return name


def _select(facets: Facets, names: Iterable[str]) -> Facets:
    return {name: facets[name] for name in names if name in facets}


def _update_dataset(state: State, item: Dataset, stamp: Stamp) -> DatasetName:
    name = state.identity.add(item)
    _touch_users(state)
    record = state.datasets.get(name)
    if record is None or symlinks_of(item):
        for alias in (name, *symlinks_of(item)):
            _touch_changes(state, alias)
    if record is None:
        record = state.datasets[name] = DatasetRecord(name, stamp.time, stamp.time)
    record.first, record.last = min(record.first, stamp.time), max(record.last, stamp.time)
    exposures = record.facets.packed(DbtExposures.KEY)
    record.facets.put(item.facets, stamp)
    state.structure_changes += record.facets.packed(DbtExposures.KEY) != exposures
    state.has_tags = state.has_tags or "tags" in item.facets
    for alias in (name, *symlinks_of(item)):
        state.changed_names.add(alias, state.revision + 1)
        _update_namespace(state, alias.namespace, stamp)
    return name


def _set_parent(state: State, run: Run, facet: Json | None, stamp: Stamp, *, is_new: bool) -> None:
    """Set the parent of a run, and the root as its parent's parent until that has events."""
    if not facet:
        return
    named = Parent.parse(facet)
    parent_key = _run_key(named.run)
    if parent_key is None or parent_key == run.key:
        return
    if run.parent is None or stamp > run.parent[0]:
        is_other = run.parent is None or run.parent[1] != parent_key
        if is_other and (not is_new or run.children):
            state.moved.add(run.key.job, state.revision + 1)
        run.parent = (stamp, parent_key)
    parent = _run_record(state, parent_key)
    _add_child(state, parent, run.key)
    root = _run_key(named.root)
    if root is None or root in (parent_key, run.key):
        return
    if parent.hint is None or stamp > parent.hint[0]:
        is_other = parent.hint is None or parent.hint[1] != root
        if is_other and (parent.children or set()) - {run.key}:
            state.moved.add(parent.key.job, state.revision + 1)
        parent.hint = (stamp, root)
    _add_child(state, _run_record(state, root), parent_key, is_hint=True)


def _add_child(state: State, run: Run, child: RunKey, *, is_hint: bool = False) -> None:
    run.children = run.children or set()
    run.children.add(child)
    parent, child_job = _job_record(state, run.key.job), _job_record(state, child.job)
    named = (child_job.hints or ()) if is_hint else child_job.parents
    if parent.ref not in named or child_job.ref not in (parent.children or ()):
        state.moved.add(child_job.ref, state.revision + 1)  # its level may depend on neighbours
        parent.children = parent.children or set()
        parent.children.add(child_job.ref)
        if is_hint:
            child_job.hints = {parent.ref, *(child_job.hints or ())}
        else:
            child_job.parents.add(parent.ref)


def _touch(state: State, run: Run) -> None:
    state.changed_runs.add(run.key, state.revision + 1)


def _touch_users(state: State) -> None:
    """Record changes of the runs and declarations whose datasets got another primary name."""
    for name in state.identity.renamed:
        state.renamed.add(name, state.revision + 1)
        _touch_changes(state, name)
        record = state.datasets.get(name)
        state.structure_changes += name in state.derived_from
        if record is not None:
            state.structure_changes += bool(record.declaring or record.derivation)
            for key in record.readers | record.writers:
                _touch(state, state.runs[key])
    state.identity.renamed.clear()


def _add_dependencies(state: State, run: Run, facet: JobDependencies) -> None:
    for reference in facet.upstream | facet.downstream:
        state.named_by.setdefault(reference.job, set()).add(run.key.job)
    if facet.upstream:
        run.upstream = facet.upstream | (run.upstream or set())
    if facet.downstream:
        run.downstream = facet.downstream | (run.downstream or set())


def _run_key(reference: Reference | None) -> RunKey | None:
    return RunKey(reference.run_id, reference.job) if reference and reference.run_id else None


def _update_job(state: State, ref: JobRef, facets: Facets, stamp: Stamp) -> Job:
    job = _job_record(state, ref)
    kind = job.facets.packed(JobType.KEY)
    if job.first is None and job.children:
        state.moved.add(ref, state.revision + 1)  # its own events replace inferred values
    job.first = stamp.time if job.first is None else min(job.first, stamp.time)
    job.last = stamp.time if job.last is None else max(job.last, stamp.time)
    job.facets.put(facets, stamp)
    state.changed_jobs.add(ref, state.revision + 1)
    if job.facets.packed(JobType.KEY) != kind:
        state.moved.add(ref, state.revision + 1)
    _update_namespace(state, ref.namespace, stamp)
    return job


def _job_record(state: State, ref: JobRef) -> Job:
    job = state.jobs.get(ref)
    if job is None:
        job = state.jobs[ref] = Job(ref)
    return job


def _run_record(state: State, key: RunKey) -> Run:
    run = state.runs.get(key)
    if run is None:
        run = state.runs[key] = Run(key)
        state.runs_by_id[key.run_id] = tuple(sorted((*state.runs_by_id.get(key.run_id, ()), key)))
        _job_record(state, key.job).runs.add(key)
    return run


def _update_namespace(state: State, name: str, stamp: Stamp) -> None:
    first, last = state.namespaces.get(name, (stamp.time, stamp.time))
    state.namespaces[name] = (min(first, stamp.time), max(last, stamp.time))
