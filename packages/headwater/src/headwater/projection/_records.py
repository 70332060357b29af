"""Find, create and update the records of jobs, runs and datasets in the state.

A dataset has a record under each of its reported names; `state.identity` joins the names. A *stamp*
is (event time, event hash): of two values of one thing, that with the greater stamp wins.
`state.changed_names`, `moved`, `placed` and so on record what changed, by the revision that the
current event leads to (`revision + 1`).
"""

from __future__ import annotations

from collections.abc import Iterable

from headwater.events import Dataset, Facets, JobRef
from headwater.events.facets import ASSERTION_FACETS, DbtExposures, JobType
from headwater.identity import DatasetName, folders_above, symlinks_of
from headwater.projection.facet_books import Stamp, pack
from headwater.projection.state import DatasetRecord, Job, Run, RunKey, State, Use, Version

MOST_VERSIONS = 100  # of one dataset by one run; a stream may commit forever

INPUT_FACETS = ("schema", *ASSERTION_FACETS, "dataQualityMetrics")  # also per run of inputs
RUN_CODE = ("sourceCodeLocation", "sql", "dbt_node", "jobType")  # of the job, also per run


def _record_changes_in_sql(state: State, name: DatasetName) -> None:
    """Record changes of the runs whose SQL text may change a table that got a name.

    A text names tables without their schema: `changes_by_table` has the runs by the last part.
    """
    if state.changes_by_table:
        for key in state.changes_by_table.get(name.name.rpartition(".")[2].lower(), ()):
            record_change(state, state.runs[key])


def update_use(
    state: State, uses: dict[DatasetName, Use], item: Dataset, facets: Facets, stamp: Stamp
) -> DatasetRecord:
    """Record that a run uses a dataset; return the record of the dataset.

    `uses` are the inputs or outputs of the run. `facets` are those of the dataset that are kept for
    each run, in addition to the newest ones in the record.
    """
    name = update_dataset(state, item, stamp)
    record = state.datasets[name]
    use = uses.setdefault(name, Use())
    use.io_facets = use.io_facets.put(item.io_facets, stamp)
    use.dataset_facets = use.dataset_facets.put(facets, stamp, record.facets)
    version = item.facets.get("version", {}).get("datasetVersion")
    if version is not None:
        _add_version(use, Version(stamp, str(version), pack(item.io_facets)))
    return record


def add_writer(state: State, record: DatasetRecord, run: Run) -> None:
    """Record that a run wrote a dataset, unless Airflow skipped it.

    The first writer of a file decides if it counts as part of its folder: the name is recorded in
    `placed`.
    """
    if not record.writers:
        state.placed.add(record.name, state.revision + 1)
    if not run.is_skipped:
        record.writers.add(run.key)


def _add_version(use: Use, version: Version) -> None:
    """Add a version, or the newer of two reports of one; keep the newest versions."""
    found = {other.name: other for other in use.versions}
    found[version.name] = max(version, found.get(version.name, version))
    use.versions = tuple(sorted(found.values())[-MOST_VERSIONS:])


def update_dataset_of_event(state: State, item: Dataset, stamp: Stamp) -> DatasetName:
    """Record the facets of a dataset that were reported without a run."""
    name = update_dataset(state, item, stamp)
    if facets := select(item.facets, (*INPUT_FACETS, "columnLineage")):
        record = state.datasets[name]
        record.facets_without_run = {stamp: facets} | (record.facets_without_run or {})
    return name


def select(facets: Facets, names: Iterable[str]) -> Facets:
    """Return the facets with some names."""
    return {name: facets[name] for name in names if name in facets}


def update_dataset(state: State, item: Dataset, stamp: Stamp) -> DatasetName:
    """Record the names and facets of a dataset; return the name of its record.

    `item` is the dataset in an event. Its symlinks become names of the dataset, too.
    """
    name = state.identity.add(item)
    record_renamed_uses(state)
    record = state.datasets.get(name)
    if record is None or symlinks_of(item):
        for alias in (name, *symlinks_of(item)):
            _record_changes_in_sql(state, alias)
            add_to_folders(state, alias)
    if record is None:
        record = state.datasets[name] = DatasetRecord(name, stamp.time, stamp.time)
    record.first, record.last = min(record.first, stamp.time), max(record.last, stamp.time)
    exposures = record.facets.packed(DbtExposures.KEY)
    record.facets = record.facets.put(item.facets, stamp)
    state.structure_changes += record.facets.packed(DbtExposures.KEY) != exposures
    state.has_tags = state.has_tags or "tags" in item.facets
    for alias in (name, *symlinks_of(item)):
        state.changed_names.add(alias, state.revision + 1)
        _update_namespace(state, alias.namespace, stamp)
    return name


def add_to_folders(state: State, name: DatasetName) -> None:
    """Record the folders of a new name; see headwater.graph.folders."""
    folders = list(folders_above(name))
    if folders and name not in state.files.get(folders[0], ()):
        for folder in folders:
            state.files.setdefault(folder, set()).add(name)


def record_change(state: State, run: Run) -> None:
    """Record the change of a run."""
    state.changed_runs.add(run.key, state.revision + 1)


def record_renamed_uses(state: State) -> None:
    """Record changes of the runs and declarations whose datasets got other names.

    An alias or a symlink may join two datasets. `identity.renamed` has the names with another
    primary name since; it is cleared here.
    """
    for name in state.identity.renamed:
        state.renamed.add(name, state.revision + 1)
        _record_changes_in_sql(state, name)
        record = state.datasets.get(name)
        state.structure_changes += name in state.derived_from
        if record is not None:
            is_stated = record.declaring or record.derivation or record.lifecycle
            state.structure_changes += bool(is_stated)
            for key in record.readers | record.writers:
                record_change(state, state.runs[key])
    for name in state.identity.regrouped | state.identity.renamed:
        state.placed.add(name, state.revision + 1)
    state.identity.renamed.clear()
    state.identity.regrouped.clear()


def update_job(state: State, ref: JobRef, facets: Facets, stamp: Stamp) -> Job:
    """Record the facets of a job; return its record.

    A job that gets another jobType, or its first own event, may get another level, and is `moved`.
    """
    job = job_record(state, ref)
    kind = job.facets.packed(JobType.KEY)
    if job.first is None and job.children:
        state.moved.add(ref, state.revision + 1)  # its own events replace inferred values
    job.first = stamp.time if job.first is None else min(job.first, stamp.time)
    job.last = stamp.time if job.last is None else max(job.last, stamp.time)
    job.facets = job.facets.put(facets, stamp)
    state.changed_jobs.add(ref, state.revision + 1)
    if job.facets.packed(JobType.KEY) != kind:
        state.moved.add(ref, state.revision + 1)
    _update_namespace(state, ref.namespace, stamp)
    return job


def job_record(state: State, ref: JobRef) -> Job:
    """Return the record of a job, a new one if there is none."""
    job = state.jobs.get(ref)
    if job is None:
        job = state.jobs[ref] = Job(ref)
    return job


def run_record(state: State, key: RunKey) -> Run:
    """Return the record of a run, a new one if there is none.

    References to a run use `key` of its record, so that equal keys are one object in memory.
    """
    run = state.runs.get(key)
    if run is None:
        key = RunKey(key.run_id, job_record(state, key.job).ref)
        run = state.runs[key] = Run(key)
        state.runs_by_id[key.run_id] = tuple(sorted((*state.runs_by_id.get(key.run_id, ()), key)))
        job_record(state, key.job).runs.add(key)
        record_change(state, run)  # of a job that only children name, too
    return run


def _update_namespace(state: State, name: str, stamp: Stamp) -> None:
    first, last = state.namespaces.get(name, (stamp.time, stamp.time))
    state.namespaces[name] = (min(first, stamp.time), max(last, stamp.time))
