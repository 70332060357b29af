"""Record what an event states besides the reads and writes of its run.

These are removals and renames of datasets, exposures of dbt, data that a job passes directly to
another job, datasets that are derived without a job, and tasks that were skipped.

A *stamp* is (event time, event hash): of two values of one thing, that with the greater stamp wins.
A *handoff* is a direct link from a job to another one that it passes data to, without a dataset.
`record.derivation` is the lineage facet of a dataset that is derived without a job.
"""

from __future__ import annotations

from headwater.events import (
    Dataset,
    EventType,
    JobEvent,
    JobRef,
    RunEvent,
    lineage_of_columns,
    parse_derivation,
    parse_entries,
)
from headwater.events.facets import (
    EXPOSURE,
    Airflow,
    DbtExposures,
    JobType,
    LifecycleStateChange,
    replaces_rows,
)
from headwater.identity import canonical_name, symlinks_of
from headwater.projection._records import (
    add_writer,
    job_record,
    record_change,
    update_dataset,
    update_job,
    update_use,
)
from headwater.projection.facet_books import Stamp, pack
from headwater.projection.state import LifecycleChange, Run, RunKey, State, StatedChange
from headwater.sql.facet import change_of


def update_skipped(state: State, run: Run) -> None:
    """Determine again if a task was skipped, after an event of the task or of its DAG run.

    Only the newest values decide, so the order in which the events arrive does not matter. A
    skipped run is no writer of the outputs that it reports.
    """
    is_skipped = _is_skipped(state, run)
    if is_skipped == run.is_skipped:
        return
    run.is_skipped = is_skipped
    record_change(state, run)
    for name in run.reported_outputs:
        state.datasets[name].writers.discard(run.key)
        add_writer(state, state.datasets[name], run)
        state.changed_names.add(name, state.revision + 1)
        state.placed.add(name, state.revision + 1)


def _is_skipped(state: State, run: Run) -> bool:
    """Return True for a completed task that the newest states of its DAG run call skipped.

    All elements of a mapped task have one state there, so an element is never skipped. dbt-ol
    reports skipped nodes as aborted; an aborted invocation is no node.
    """
    if run.end and run.end[1] is EventType.ABORT:
        return run.code.has_any({"dbt_node"})
    parent = state.runs.get(run.parent[1]) if run.parent and run.reported_outputs else None
    if parent is None or run.end is None or run.end[1] is not EventType.COMPLETE:
        return False
    is_element = run.facets.parsed(Airflow).map_index not in (None, "-1")
    task = run.key.job.name.removeprefix(f"{parent.key.job.name}.")
    states = parent.facets.get("airflowState").get("tasksState")
    return not is_element and isinstance(states, dict) and states.get(task) == "skipped"


def add_schemas(state: State, namespace: str, item: Dataset) -> None:
    """Record the schemas of the tables that the jobs of a namespace use.

    A schema is (dataset namespace, name without its last part), such as `("postgres://h:5432",
    "shop.public")`. SQL texts name tables without it, see headwater.graph.sql_changes. Paths of
    files have none.
    """
    schemas = state.schemas.setdefault(namespace, set())
    for name in (canonical_name(item.namespace, item.name), *symlinks_of(item)):
        schema = name.namespace, name.name.rpartition(".")[0]
        if schema not in schemas and "/" not in name.name:
            schemas.add(schema)
            changing = {key.job.namespace for key in state.table_changes}
            state.structure_changes += namespace in changing


def add_table_change(state: State, event: RunEvent, run: RunKey, stamp: Stamp) -> None:
    """Record the change of tables in the SQL text of a completed run that reports no output.

    An example is `DROP TABLE orders`. `run` is the key of the run. The newest text of a run counts.
    """
    is_silent = event.type is EventType.COMPLETE and not event.outputs
    change = change_of(event.job_facets.get("sql", {})) if is_silent else None
    if change is None:
        return
    stated = StatedChange(stamp, *change)
    state.table_changes[run] = max(stated, state.table_changes.get(run, stated))
    for parts in change.tables:
        state.changes_by_table.setdefault(parts[-1].lower(), set()).add(run)


def add_exposures(state: State, namespace: str, item: Dataset, stamp: Stamp) -> None:
    """Record the exposures of dbt that a dataset feeds, as jobs that read it.

    An exposure is, for example, a dashboard. `namespace` is that of its job.
    """
    facet = item.facets.get(DbtExposures.KEY)
    for unique_id, exposure in DbtExposures.parse(facet).exposures.items() if facet else ():
        kind = {"integration": "DBT", "jobType": EXPOSURE}
        facets = {JobType.KEY: kind, "dbt_exposure": exposure}
        ref = update_job(state, JobRef(namespace, unique_id), facets, stamp).ref
        record = state.datasets[canonical_name(item.namespace, item.name)]
        record.declaring = {ref, *(record.declaring or ())}
        state.exposed.setdefault(ref, set()).add(record.name)


def add_lifecycle(state: State, item: Dataset, stamp: Stamp, run: RunKey | None) -> None:
    """Record a lifecycle change of a dataset.

    A rename is recorded for both names: RENAME for the new one, and MOVE for the former one. A
    CREATE or OVERWRITE is only recorded if it replaced all rows, or without a run.
    """
    change = LifecycleStateChange.parse(item.facets.get(LifecycleStateChange.KEY, {}))
    kind, former = change.lifecycleStateChange or "", change.former_name
    if former is not None:
        source = Dataset(*former)
        old, new = canonical_name(*former), canonical_name(item.namespace, item.name)
        is_read = change.is_from_sql
        _add_change(state, item, LifecycleChange(stamp, "RENAME", run, old, is_read))
        _add_change(state, source, LifecycleChange(stamp, "MOVE", run, new, is_read))
        if run is None:
            state.derived_from.setdefault(old, set()).add(new)
    is_whole = run is None or replaces_rows(item.facets, item.io_facets)
    if change.removes_data or (kind in ("CREATE", "OVERWRITE") and is_whole):
        _add_change(state, item, LifecycleChange(stamp, kind, run, None, change.is_from_sql))


def _add_change(state: State, item: Dataset, change: LifecycleChange) -> None:
    record = state.datasets[update_dataset(state, item, change.stamp)]
    record.lifecycle = record.lifecycle or set()
    record.lifecycle.add(change)


def add_lifecycles(state: State, event: RunEvent, run: Run, stamp: Stamp) -> None:
    """Record the lifecycle changes of a run, which count if it completes.

    The former names of the outputs of a completed run are inputs of it, even if an earlier event
    states them. Before the end, no CREATE or OVERWRITE is recorded: what a run replaces is known
    when it ends. Of inputs, only removals are recorded.
    """
    is_end = event.type is EventType.COMPLETE
    run.has_completed |= is_end
    listed = *((item, False) for item in event.inputs), *((item, True) for item in event.outputs)
    for item, is_output in listed:
        change = LifecycleStateChange.parse(item.facets.get(LifecycleStateChange.KEY, {}))
        if change.removes_data or (is_output and (is_end or change.former_name)):
            add_lifecycle(state, item, stamp, run.key)
    for use in run.reported_outputs.values() if run.has_completed else ():
        former = use.dataset_facets.parsed(LifecycleStateChange).former_name
        if former and (at := use.dataset_facets.stamp_of(LifecycleStateChange.KEY)):
            update_use(state, run.inputs, Dataset(*former), {}, at).readers.add(run.key)


def packed_lineage(event: RunEvent | JobEvent) -> bytes | None:
    """Return the packed explicit lineage facet; None if it has no entry."""
    facet = event.job_facets.get("lineage", {})
    return pack(facet) if parse_entries(facet) else None


def add_job_handoffs(state: State, event: RunEvent | JobEvent, stamp: Stamp) -> None:
    """Record the other jobs in explicit lineage, from which data comes or to which it goes.

    A job that passes data to another one without a dataset is in `state.handoffs`, with the jobs
    that read from it. An entry about another job makes this job one of its `stated_by`.
    """
    for entry in parse_entries(event.job_facets.get("lineage", {})):
        reader = entry.target if isinstance(entry.target, JobRef) else event.job
        for source in entry.jobs - {reader}:
            job_record(state, source)
            state.structure_changes += _is_new(state.handoffs.setdefault(source, set()), reader)
        if reader == event.job:
            continue
        target = job_record(state, reader)
        target.stated_by = target.stated_by or set()
        state.structure_changes += _is_new(target.stated_by, event.job)
        for dataset in entry.datasets:
            record = state.datasets[update_dataset(state, Dataset(*dataset), stamp)]
            record.declaring = {reader, *(record.declaring or ())}


def add_derivation(state: State, item: Dataset, stamp: Stamp) -> None:
    """Record the sources of a dataset without a job: reported ones, or those of its columns.

    The newest statement counts (`record.derivation`). `state.derived_from` keeps former sources:
    only candidates.
    """
    columns = item.facets.get("columnLineage")
    if not (facet := item.facets.get("lineage") or (columns and lineage_of_columns(columns))):
        return
    target = canonical_name(item.namespace, item.name)
    record = state.datasets[target]
    entry = parse_derivation(facet)
    for ref in entry.jobs:
        job_record(state, ref)
        state.structure_changes += ref not in state.handoffs
        state.handoffs.setdefault(ref, set())
    for source in entry.datasets:
        name = update_dataset(state, Dataset(*source), stamp)
        state.derived_from.setdefault(name, set()).add(target)
    if record.derivation is None or stamp > record.derivation[0]:
        record.derivation = (stamp, pack(facet))
        state.structure_changes += 1


def _is_new(jobs: set[JobRef], ref: JobRef) -> bool:
    """Add a job to a set; return True if it was not in it."""
    size = len(jobs)
    jobs.add(ref)
    return len(jobs) > size
