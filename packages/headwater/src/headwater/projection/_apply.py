"""Apply one event to the state, in time proportional to the event's size.

A *record* has what was reported about a job, a run, or a dataset under one of its names. A *stamp*
is (event time, event hash): of two values of one thing, that with the greater stamp wins, so that
the order of arrival does not matter. `state.moved`, `changed_names` and so on record what an event
changed, by the revision that it leads to; `structure_changes` counts changes of edges without runs.
Caches are updated by these.
"""

from __future__ import annotations

from collections.abc import Iterable

from headwater.events import (
    AliasEvent,
    Dataset,
    DatasetEvent,
    EventType,
    JobEvent,
    Json,
    Logged,
    RunEvent,
    parse_columns,
    source_datasets,
)
from headwater.events.facets import JobDependencies, LifecycleStateChange, Parent, Reference
from headwater.identity import DatasetName, canonical_name, symlinks_of
from headwater.projection._records import (
    INPUT_FACETS,
    RUN_CODE,
    add_to_folders,
    add_writer,
    job_record,
    record_change,
    record_renamed_uses,
    run_record,
    select,
    update_dataset_of_event,
    update_job,
    update_use,
)
from headwater.projection._statements import (
    add_derivation,
    add_exposures,
    add_job_handoffs,
    add_lifecycle,
    add_lifecycles,
    add_schemas,
    add_table_change,
    packed_lineage,
    update_skipped,
)
from headwater.projection.facet_books import Stamp
from headwater.projection.state import Declared, Run, RunKey, State


def project(events: Iterable[Logged]) -> State:
    """Return the state of a set of events; order and repetition do not matter."""
    state = State()
    for event in events:
        apply(state, event)
    return state


def apply(state: State, event: Logged) -> None:
    """Apply one event: update the state, count the revision, and empty the cache `derived`."""
    stamp = Stamp(event.time, event.hash)
    if isinstance(event, AliasEvent):
        _apply_alias(state, event, stamp)
    elif isinstance(event, DatasetEvent):
        update_dataset_of_event(state, event.dataset, stamp)
        add_derivation(state, event.dataset, stamp)
        add_lifecycle(state, event.dataset, stamp, None)
        # No run is touched that would update the graph.
        state.structure_changes += LifecycleStateChange.KEY in event.dataset.facets
    elif isinstance(event, JobEvent):
        _apply_job_event(state, event, stamp)
    else:
        _apply_run_event(state, event, stamp)
    state.revision += 1
    state.derived.clear()


def _apply_alias(state: State, event: AliasEvent, stamp: Stamp) -> None:
    """Record a user's statement about two names: same, different, or a rule; the newest counts."""
    one, other = sorted(canonical_name(*name) for name in event.names)
    current = state.aliases.get((one, other))
    if current is None or stamp > current[0]:
        state.aliases[one, other] = (stamp, event.relation)
        pairs = (
            {pair for pair, (_, stated) in state.aliases.items() if stated == relation}
            for relation in ("same", "different", "rule")
        )
        for name in state.identity.set_manual(*pairs):
            state.changed_names.add(name, state.revision + 1)
        for name in (one, other) if event.relation == "same" else ():
            add_to_folders(state, name)  # no event of a producer may have it
        record_renamed_uses(state)


def _apply_job_event(state: State, event: JobEvent, stamp: Stamp) -> None:
    """Record what the newest JobEvent of a job declares; sources of its columns are inputs, too."""
    job = update_job(state, event.job, event.job_facets, stamp)
    outputs = frozenset(update_dataset_of_event(state, item, stamp) for item in event.outputs)
    read = (*event.inputs, *_column_sources(event))
    inputs = frozenset(update_dataset_of_event(state, item, stamp) for item in read)
    for name in inputs | outputs:
        record = state.datasets[name]
        record.declaring = {event.job, *(record.declaring or ())}
    if job.declared is None or stamp > job.declared.stamp:
        job.declared = Declared(stamp, inputs, outputs, packed_lineage(event))
        state.structure_changes += 1
    add_job_handoffs(state, event, stamp)


def _apply_run_event(state: State, event: RunEvent, stamp: Stamp) -> None:
    """Record the run of an event, its place in the tree of runs, and the datasets that it used.

    The first event of a run may change what references to it resolve to (`derived.resolve`).
    `run.code` has the job's facets of this run, such as its SQL.
    """
    job = update_job(state, event.job, event.job_facets, stamp)
    run = run_record(state, RunKey(event.run_id, job.ref))  # job.ref: share one object
    record_change(state, run)
    is_new = not run.has_events
    if is_new and (run.children or len(state.runs_by_id[event.run_id]) > 1):
        state.moved.add(job.ref, state.revision + 1)  # references may now resolve differently
    _set_times(run, event.type, stamp)
    run.facets = run.facets.put(event.run_facets, stamp)
    run.code = run.code.put(select(event.job_facets, RUN_CODE), stamp, job.facets)
    _set_parent(state, run, event.run_facets.get(Parent.KEY), stamp, is_new=is_new)
    if facet := event.run_facets.get(JobDependencies.KEY):
        _add_dependencies(state, run, JobDependencies.parse(facet))
    if lineage := packed_lineage(event):
        run.lineage = {lineage, *(run.lineage or ())}
        add_job_handoffs(state, event, stamp)
    # Outputs first: a register keeps the first of two values with equal stamps, and the facets of
    # a table as an output are more accurate than those of the same table as an input.
    for item in event.outputs:
        add_writer(state, update_use(state, run.reported_outputs, item, item.facets, stamp), run)
    for item in event.inputs:
        dataset_facets = select(item.facets, INPUT_FACETS)
        update_use(state, run.inputs, item, dataset_facets, stamp).readers.add(run.key)
    add_lifecycles(state, event, run, stamp)
    for source in _column_sources(event):  # inputs, even if not listed as such
        update_use(state, run.inputs, source, {}, stamp).readers.add(run.key)
    for item in (*event.outputs, *event.inputs):
        add_exposures(state, event.job.namespace, item, stamp)
        add_schemas(state, event.job.namespace, item)
    add_table_change(state, event, run.key, stamp)
    # A DAG run reports which of its tasks were skipped.
    below = run.children if "airflowState" in event.run_facets else None
    for key in (run.key, *(below or ())):
        update_skipped(state, state.runs[key])


def _set_times(run: Run, type_: EventType, stamp: Stamp) -> None:
    """Update the times of a run, in microseconds, and its end: that of the newest end event."""
    run.first = stamp.time if run.first is None else min(run.first, stamp.time)
    run.last = stamp.time if run.last is None else max(run.last, stamp.time)
    if type_ is EventType.START:
        run.started = stamp.time if run.started is None else min(run.started, stamp.time)
    run.is_running = run.is_running or type_ in (EventType.START, EventType.RUNNING)
    if type_.is_end and (run.end is None or stamp > run.end[0]):
        run.end = (stamp, type_)


def _column_sources(event: RunEvent | JobEvent) -> list[Dataset]:
    """Return the sources in the column lineage of the outputs that the event does not list.

    A column of an output may keep its own values, as in a MERGE. That is no input.
    """
    listed = {canonical_name(item.namespace, item.name) for item in event.inputs}
    found: dict[DatasetName, Dataset] = {}
    for item in event.outputs:
        if facet := item.facets.get("columnLineage"):
            own = {canonical_name(item.namespace, item.name), *symlinks_of(item)}
            for source in source_datasets(facet):
                name = canonical_name(*source)
                if name not in listed and (name not in own or _feeds_another(facet, name)):
                    found[name] = Dataset(*source)
    return list(found.values())


def _feeds_another(facet: Json, name: DatasetName) -> bool:
    """Return True if a column of a dataset feeds one with another name."""
    links = (link for link in parse_columns(facet).links if link.field != link.target)
    return any(canonical_name(link.namespace, link.name) == name for link in links)


def _set_parent(state: State, run: Run, facet: Json | None, stamp: Stamp, *, is_new: bool) -> None:
    """Set the parent of a run, and the root as its parent's parent until that has events.

    The parent facet names both. That the parent is below the root is only a *hint*: its own events
    report its parent. `is_new` is True if this is the first event of the run.
    """
    if not facet:
        return
    named = Parent.parse(facet)
    parent_key = _run_key(named.run)
    if parent_key is None or parent_key == run.key:
        return
    parent = run_record(state, parent_key)
    if run.parent is None or stamp > run.parent[0]:
        is_other = run.parent is None or run.parent[1] != parent_key
        if is_other and (not is_new or run.children):
            state.moved.add(run.key.job, state.revision + 1)
        run.parent = (stamp, parent.key)
    _add_child(state, parent, run.key)
    root = _run_key(named.root)
    if root is None or root in (parent_key, run.key):
        return
    if parent.root_hint is None or stamp > parent.root_hint[0]:
        is_other = parent.root_hint is None or parent.root_hint[1] != root
        if is_other and (parent.children or set()) - {run.key}:
            state.moved.add(parent.key.job, state.revision + 1)
        parent.root_hint = (stamp, run_record(state, root).key)
    _add_child(state, run_record(state, root), parent.key, is_hint=True)


def _add_child(state: State, run: Run, child: RunKey, *, is_hint: bool = False) -> None:
    """Record a run as a child of another, and its job as a child of the other's job.

    With `is_hint`, the relation is only inferred, see `_set_parent`. A new relation between jobs
    may change their level (pipeline, task or query), so the child is recorded as moved.
    """
    run.children = run.children or set()
    run.children.add(child)
    parent, child_job = job_record(state, run.key.job), job_record(state, child.job)
    named = (child_job.root_hints or ()) if is_hint else child_job.parents
    if parent.ref not in named or child_job.ref not in (parent.children or ()):
        state.moved.add(child_job.ref, state.revision + 1)  # its level may depend on neighbors
        parent.children = parent.children or set()
        parent.children.add(child_job.ref)
        if is_hint:
            child_job.root_hints = {parent.ref, *(child_job.root_hints or ())}
        else:
            child_job.parents.add(parent.ref)


def _add_dependencies(state: State, run: Run, facet: JobDependencies) -> None:
    """Record the control dependencies of a run: the jobs before it and those after it."""
    for reference in facet.upstream | facet.downstream:
        state.named_by.setdefault(reference.job, set()).add(run.key.job)
    if facet.upstream:
        run.upstream = facet.upstream | (run.upstream or set())
    if facet.downstream:
        run.downstream = facet.downstream | (run.downstream or set())


def _run_key(reference: Reference | None) -> RunKey | None:
    return RunKey(reference.run_id, reference.job) if reference and reference.run_id else None
