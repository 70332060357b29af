"""Jobs, runs and datasets in the shapes of Marquez's answers."""

from __future__ import annotations

import uuid
from typing import Any

from throughline.graph.answers import graph_of
from throughline.graph.generations import Edges
from throughline.graph.walk import newest_run
from throughline.identity import DatasetName, is_location
from throughline.projection import Job, Run, State, Use, outcome, start_of, version_of
from throughline.projection.derived import parent_of
from throughline.projection.state import FacetBook, Stamp
from throughline.spec import Facets, JobRef, shown_time

_NAMESPACE = uuid.UUID("6d8a64b5-0a62-5f0c-9f5c-3c6f6b0c1f4e")
_MOST_LATEST_RUNS = 10


def uuid_of(*parts: object) -> str:
    """An id derived from what it names."""
    return str(uuid.uuid5(_NAMESPACE, "\n".join(map(str, parts))))


def namespace_shape(state: State, name: str) -> dict[str, Any]:
    """A namespace."""
    first, last = state.namespaces[name]
    return {
        "name": name,
        "createdAt": shown_time(first),
        "updatedAt": shown_time(last),
        "ownerName": "anonymous",
        "description": None,
        "isHidden": False,
    }


def job_shape(state: State, job: Job) -> dict[str, Any]:
    """A job with its latest runs and facets."""
    runs = runs_of(state, job)
    kind = job.facets.get("jobType")
    labels = [kind[key] for key in ("jobType", "integration") if kind.get(key)]
    return {
        **job_node_shape(state, job),
        "latestRuns": [run_shape(state, run) for run in runs[:_MOST_LATEST_RUNS]],
        "facets": job.facets.plain(),
        "currentVersion": job_version(state, job.ref),
        "labels": labels,
        "tags": [],
    }


def job_node_shape(state: State, job: Job) -> dict[str, Any]:
    """A job as a node of the graph."""
    latest = newest_run(state, job.ref)
    parent = parent_job(state, job)
    edges = graph_of(state, None).jobs.get(job.ref, Edges())
    processing = str(job.facets.get("jobType").get("processingType", "BATCH")).upper()
    return {
        "id": job.ref._asdict(),
        "type": {"STREAMING": "STREAM"}.get(processing, processing),
        "name": job.ref.name,
        "simpleName": job.ref.name.removeprefix(f"{parent.name}.") if parent else job.ref.name,
        "parentJobName": parent.name if parent else None,
        "parentJobUuid": uuid_of("job", *parent) if parent else None,
        "currentRunUuid": latest.key.run_id if latest else None,
        "createdAt": shown_time(job.first),
        "updatedAt": shown_time(job.last),
        "namespace": job.ref.namespace,
        "inputs": [name._asdict() for name in sorted(edges.reads)],
        "outputs": [name._asdict() for name in sorted(edges.writes)],
        "location": job.facets.get("sourceCodeLocation").get("url"),
        "description": job.facets.get("documentation").get("description"),
        "latestRun": run_shape(state, latest) if latest else None,
    }


def run_shape(state: State, run: Run) -> dict[str, Any]:
    """A run."""
    condition, ended = outcome(state, run)
    started = start_of(run) if run.is_running else None
    nominal = run.facets.get("nominalTime")
    is_timed = started is not None and ended is not None
    return {
        "id": run.key.run_id,
        "createdAt": shown_time(run.first),
        "updatedAt": shown_time(run.last),
        "nominalStartTime": nominal.get("nominalStartTime"),
        "nominalEndTime": nominal.get("nominalEndTime"),
        "state": condition,
        "startedAt": shown_time(started),
        "endedAt": shown_time(ended),
        "durationMs": ((ended or 0) - (started or 0)) // 1_000 if is_timed else None,
        "args": {},
        "jobVersion": {**run.key.job._asdict(), "version": job_version(state, run.key.job)},
        "inputDatasetVersions": _versions(state, run, run.inputs),
        "outputDatasetVersions": _versions(state, run, run.outputs),
        "facets": run.facets.plain(),
    }


def dataset_shape(state: State, name: DatasetName) -> dict[str, Any]:
    """A dataset with its facets."""
    facets = dataset_facets(state, name)
    change = facets.get("lifecycleStateChange", {}).get("lifecycleStateChange", "")
    return {
        **dataset_node_shape(state, name),
        "currentVersion": current_version(state, name),
        "columnLineage": None,
        "facets": facets,
        "deleted": change == "DROP",
    }


def dataset_node_shape(state: State, name: DatasetName) -> dict[str, Any]:
    """A dataset as a node of the graph."""
    primary = state.identity.primary(name)
    names = state.identity.names(name)
    records = [state.datasets[alias] for alias in names if alias in state.datasets]
    facets = dataset_facets(state, name)
    change = facets.get("lifecycleStateChange", {}).get("lifecycleStateChange", "")
    return {
        "id": primary._asdict(),
        "type": "DB_TABLE",
        "name": primary.name,
        "physicalName": next((alias.name for alias in names if is_location(alias)), primary.name),
        "createdAt": shown_time(min((r.first for r in records), default=None)),
        "updatedAt": shown_time(max((r.last for r in records), default=None)),
        "namespace": primary.namespace,
        "sourceName": facets.get("dataSource", {}).get("name", "default"),
        "fields": _fields(facets),
        "tags": [],
        "lastModifiedAt": None,
        "description": facets.get("documentation", {}).get("description"),
        "lastLifecycleState": change,
    }


def dataset_facets(state: State, name: DatasetName) -> Facets:
    """The newest facets of a dataset, whichever of its names they came under."""
    newest: dict[str, tuple[Stamp, dict[str, Any]]] = {}
    for alias in state.identity.names(name):
        record = state.datasets.get(alias)
        stamped = (record.facets if record else FacetBook()).stamped()
        for facet_name, found in stamped.items():
            held = newest.get(facet_name)
            if held is None or found[0] > held[0]:
                newest[facet_name] = found
    return {facet_name: facet for facet_name, (_, facet) in sorted(newest.items())}


def writes_of(state: State, name: DatasetName) -> list[tuple[str, Run]]:
    """The versions of a dataset, newest first, each with the first run that made it."""
    made: dict[str, Run] = {}
    for alias in state.identity.names(name):
        record = state.datasets.get(alias)
        for key in record.writers if record else ():
            run = state.runs[key]
            version = version_of(run, run.outputs[alias])
            if version not in made or _age(run) < _age(made[version]):
                made[version] = run
    return sorted(made.items(), key=lambda item: _age(item[1]), reverse=True)


def current_version(state: State, name: DatasetName) -> str | None:
    """The id of the newest version of a dataset."""
    versions = writes_of(state, name)
    return version_id(state, name, versions[0][0]) if versions else None


def version_id(state: State, name: DatasetName, version: str) -> str:
    """The id of a version of a dataset."""
    return uuid_of("dataset", *state.identity.primary(name), version)


def job_version(state: State, ref: JobRef) -> str:
    """The id of a job's version: what it reads and writes, and where its code is."""
    job = state.jobs[ref]
    edges = graph_of(state, None).jobs.get(ref, Edges())
    location = job.facets.get("sourceCodeLocation").get("url")
    return uuid_of("job version", *ref, location, sorted(edges.reads), sorted(edges.writes))


def parent_job(state: State, job: Job) -> JobRef | None:
    """The job above, as the newest run has it."""
    run = newest_run(state, job.ref)
    parent = parent_of(state, run) if run else None
    return parent.key.job if parent and parent.key.job != job.ref else None


def runs_of(state: State, job: Job) -> list[Run]:
    """The runs of a job, the newest first."""
    runs = [state.runs[key] for key in job.runs]
    return sorted(runs, key=lambda run: (start_of(run) or 0, run.key), reverse=True)


def _age(run: Run) -> tuple[int, str]:
    return run.last or 0, run.key.run_id


def _versions(state: State, run: Run, uses: dict[DatasetName, Use]) -> list[dict[str, Any]]:
    return [
        {
            "datasetVersionId": {
                **state.identity.primary(name)._asdict(),
                "version": version_id(state, name, version_of(run, use)),
            },
            "datasetVersion": use.version[1] if use.version else None,
            "facets": use.facets.plain(),
        }
        for name, use in sorted(uses.items())
    ]


def _fields(facets: Facets) -> list[dict[str, Any]]:
    fields = facets.get("schema", {}).get("fields")
    return [
        {
            "name": field.get("name"),
            "type": field.get("type"),
            "tags": [],
            "description": field.get("description"),
        }
        for field in (fields if isinstance(fields, list) else ())
        if isinstance(field, dict)
    ]
