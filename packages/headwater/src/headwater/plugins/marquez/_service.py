"""Conversion of jobs, runs and datasets to the models of Marquez's API.

- node: a job or dataset of the graph of lineage, which has fewer facets than the job itself
- `first`, `last`: the earliest and the latest event that mentions something, in microseconds
- book: the newest facet of each kind of a run, job or dataset; `plain()` decodes all of them
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

import orjson

from headwater.errors import NotFoundError
from headwater.events import (
    Facets,
    JobRef,
    Legacy,
    parse_columns,
    parse_time,
    run_id_of,
    shown_time,
    to_micros,
)
from headwater.events.column_lineage import objects
from headwater.events.facets import Tags
from headwater.graph import Node
from headwater.graph.column_graph import Column, source_of
from headwater.graph.nodes import name_of
from headwater.http.routes import fragment
from headwater.identity import DatasetName, is_location
from headwater.plugins.marquez import models as marquez
from headwater.plugins.marquez._latest import Latest, latest_of
from headwater.plugins.marquez._versions import (
    DatasetVersion,
    JobVersion,
    Versions,
    dataset_facets,
    location_of,
    runs_of,
    times_of,
    uuid_of,
)
from headwater.projection import Job, Run, RunKey, State, Use, outcome, start_of
from headwater.projection.derived import began_at, descendants_of, parent_of
from headwater.query.models import Json, Name
from headwater.runs.service import find_run

_SHOWN = {"dataSource", "documentation", "lifecycleStateChange", "schema", "tags"}
"""Facets that a node of the graph needs."""
_MOST_LATEST_RUNS = 10


class Converter:
    """Converts jobs, runs and datasets of one state to models, with caches."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._runs: dict[RunKey, marquez.Run] = {}
        self._nodes: dict[Node, orjson.Fragment] = {}
        self.versions = Versions(state)

    @cached_property
    def _graph(self) -> Latest:
        return latest_of(self._state)

    def job(self, job: Job) -> marquez.Job:
        """Return a job with its latest runs and facets.

        Marquez has no model of the jobType facet, so its values are the `labels`: TASK, AIRFLOW.
        """
        runs = runs_of(self._state, job)
        kind = job.facets.get("jobType")
        version = self.versions.current_of_job(job, runs)
        return {
            **self._job(job, runs),
            "latestRuns": [self.run(run) for run in runs[:_MOST_LATEST_RUNS]],
            "facets": job.facets.plain(),
            "currentVersion": version.id if version else None,
            "labels": [str(kind[key]) for key in ("jobType", "integration") if kind.get(key)],
            "tags": _tags_by_field(job.facets.get("tags"))[None],
        }

    def node(self, node: Node) -> Any:
        """Return the data of a node of the graph as an encoded part of a response."""
        if node not in self._nodes:
            data: marquez.JobNode | marquez.DatasetNode
            if node.type == "job":
                job = self._state.jobs[node.job_ref]
                runs = runs_of(self._state, job)
                current = runs[0].key.run_id if runs else None
                data = {**self._job(job, runs), "currentRunUuid": current}
            else:
                name = node.dataset_name
                data = self._dataset(name, dataset_facets(self._state, name, _SHOWN))
            self._nodes[node] = fragment(data)
        return self._nodes[node]

    def _job(self, job: Job, newest_first: list[Run]) -> marquez.JobInfo:
        """Return what a job and its node in the graph share."""
        latest = newest_first[0] if newest_first else None
        parent = parent_job(self._state, latest) if latest else None
        edges = self._graph.edges_of(job.ref)
        created, updated = self._times(job, newest_first)
        processing = str(job.facets.get("jobType").get("processingType")).upper()
        return {
            "id": name_of(job.ref),
            "type": "STREAM" if processing == "STREAMING" else "BATCH",
            "name": job.ref.name,
            "simpleName": job.ref.name.removeprefix(f"{parent.name}.") if parent else job.ref.name,
            "parentJobName": parent.name if parent else None,
            "parentJobUuid": uuid_of("job", *parent) if parent else None,
            "createdAt": shown_time(created),
            "updatedAt": shown_time(updated),
            "namespace": job.ref.namespace,
            "inputs": _names(edges.reads),
            "outputs": _names(edges.writes),
            "location": location_of(job.facets),
            "description": _text(job.facets.get("documentation"), "description"),
            "latestRun": self.run(latest) if latest else None,
        }

    def _times(self, job: Job, newest_first: list[Run]) -> tuple[int | None, int | None]:
        """Return the first and last mention of a job; without events, those of its runs."""
        if job.first is not None or not newest_first:
            return job.first, job.last
        mentions = [time for run in newest_first if (time := self._last_mention(run)) is not None]
        return self._first_mention(newest_first[-1]), max(mentions, default=None)

    def _first_mention(self, run: Run) -> int | None:
        """Return the first mention of a run; without events, by runs below it or naming it."""
        if run.first is not None:
            return run.first
        begun = began_at(self._state, run)
        times = [other.first for other in self._naming(run)] if begun is None else [begun]
        return min((time for time in times if time is not None), default=None)

    def _last_mention(self, run: Run) -> int | None:
        """Return the last mention of a run; without events, by runs below it or naming it."""
        below = [run, *descendants_of(self._state, run)] if run.last is None else [run]
        for runs in (below, self._naming(run)):
            if times := [other.last for other in runs if other.last is not None]:
                return max(times)
        return None

    def _naming(self, run: Run) -> list[Run]:
        """Return the runs that name a run as parent or root, even if the id resolves to another."""
        found = {run.key: run}
        waiting = [run]  # the runs that name one of these runs, and so on
        while waiting:
            new = (waiting.pop().children or set()) - found.keys()
            waiting += [found.setdefault(key, self._state.runs[key]) for key in sorted(new)]
        return list(found.values())

    def job_version(self, job: Job, version: JobVersion) -> marquez.JobVersion:
        """Return a version of a job with its newest run."""
        return {
            "id": {**name_of(job.ref), "version": version.id},
            "name": job.ref.name,
            "createdAt": shown_time(version.created),
            "version": version.id,
            "namespace": job.ref.namespace,
            "location": version.location,
            "inputs": _names(version.reads),
            "outputs": _names(version.writes),
            "latestRun": self.run(version.run) if version.run else None,
        }

    def run(self, run: Run) -> marquez.Run:
        """Return a run."""
        if run.key not in self._runs:
            self._runs[run.key] = self._run(run)
        return self._runs[run.key]

    def _run(self, run: Run) -> marquez.Run:
        """Return a run, not cached; `run` caches it."""
        condition, ended = outcome(self._state, run)
        started = start_of(run) if run.is_running else None
        is_timed = started is not None and ended is not None
        nominal = run.facets.get("nominalTime")
        version = self.versions.of_run(run)
        return {
            "id": run.key.run_id,
            "createdAt": shown_time(self._first_mention(run)),
            "updatedAt": shown_time(self._last_mention(run)),
            "nominalStartTime": _time(nominal.get("nominalStartTime")),
            "nominalEndTime": _time(nominal.get("nominalEndTime")),
            "state": condition,
            "startedAt": shown_time(started),
            "endedAt": shown_time(ended),
            "durationMs": ((ended or 0) - (started or 0)) // 1_000 if is_timed else None,
            "args": _args(run),
            "jobVersion": {**name_of(run.key.job), "version": version.id} if version else None,
            "inputDatasetVersions": [
                self._used(name, self.versions.read(run, name, use)[0], use)
                for name, use in sorted(run.inputs.items())
            ],
            "outputDatasetVersions": [
                self._used(name, self.versions.written(run, name, use), use)
                for name, use in sorted(run.outputs.items())
            ],
            "facets": run.facets.plain(),
        }

    def _used(self, name: DatasetName, version: str, use: Use) -> marquez.RunDatasetVersion:
        primary = self._state.identity.primary(name)
        return {
            "datasetVersionId": {**name_of(primary), "version": version},
            "datasetVersion": use.version,
            "facets": use.io_facets.plain(),
        }

    def dataset(self, name: DatasetName) -> marquez.Dataset:
        """Return a dataset with its facets."""
        facets = dataset_facets(self._state, name)
        columns = parse_columns(facets.get("columnLineage", {}))
        sources: dict[str, set[Column]] = defaultdict(set)
        for link in columns.links:
            sources[link.target].add(source_of(self._state, link))
        lineage = [
            _column_lineage(field, legacy, sorted(sources[field]))
            for field, legacy in columns.columns.items()
        ]
        return {
            **self._dataset(name, facets),
            "currentVersion": self.versions.current(name),
            "columnLineage": lineage or None,
            "facets": facets,
            "deleted": _change(facets) == "DROP",
        }

    def _dataset(self, name: DatasetName, facets: Facets) -> marquez.DatasetNode:
        """Return what a dataset and its node in the graph share."""
        first, last = times_of(self._state, name)
        return {
            **self._identified(name),
            "createdAt": shown_time(first),
            "updatedAt": shown_time(last),
            **_described(facets),
            "lastModifiedAt": None,
            "lastLifecycleState": _change(facets),
        }

    def dataset_version(
        self, name: DatasetName, version: DatasetVersion
    ) -> marquez.MarquezDatasetVersion:
        """Return a version of a dataset."""
        listed = objects(version.facets.get("schema", {}).get("fields"))
        fields = [(field.get("name"), field.get("type")) for field in listed]
        return {
            **self._identified(name),
            "createdAt": shown_time(version.created),
            "version": version.id,
            "datasetVersion": version.label,
            **_described(version.facets),
            "lifecycleState": _change(version.reported),
            "currentSchemaVersion": uuid_of("schema", *sorted(map(str, fields))),
            "createdByRun": self.run(version.run) if version.run else None,
            "facets": version.reported,
        }

    def _identified(self, name: DatasetName) -> marquez.DatasetId:
        """Return the names of a dataset; the physical one is its location, if known."""
        names = self._state.identity.names(name)
        return {
            "id": name_of(names[0]),
            "type": "DB_TABLE",
            "name": names[0].name,
            "physicalName": (names[-1] if is_location(names[-1]) else names[0]).name,
            "namespace": names[0].namespace,
        }


def run_of(state: State, run_id: str) -> Run:
    """Return the run with an id. Raises NotFoundError if there is none."""
    if run_id_of(run_id) not in state.runs_by_id:
        raise NotFoundError(f"Run '{run_id}' not found.")
    return find_run(state, run_id)


def parent_job(state: State, run: Run) -> JobRef | None:
    """Return the parent job of a run, if it is another job."""
    parent = parent_of(state, run)
    return parent.key.job if parent and parent.key.job != run.key.job else None


def tagged(facet: Json) -> Iterator[tuple[str | None, str]]:
    """Yield field and label of a tags facet; the field is None for tags of the whole."""
    for tag in Tags.parse(facet).tags:
        yield tag.field or None, tag.label


def _tags_by_field(facet: Json) -> defaultdict[str | None, list[str]]:
    found: defaultdict[str | None, list[str]] = defaultdict(list)
    for field, tag in sorted(set(tagged(facet)), key=lambda item: item[1]):
        found[field].append(tag)
    return found


def _described(facets: Facets) -> marquez.DatasetDescription:
    """Return the schema, tags and description that facets of a dataset state."""
    tags = _tags_by_field(facets.get("tags", {}))
    return {
        "sourceName": str(facets.get("dataSource", {}).get("name") or "default"),
        "fields": [
            {
                "name": _text(field, "name"),
                "type": _text(field, "type"),
                "tags": tags[str(field.get("name"))],
                "description": _text(field, "description"),
            }
            for field in objects(facets.get("schema", {}).get("fields"))
        ],
        "tags": tags[None],
        "description": _text(facets.get("documentation", {}), "description"),
    }


def _change(facets: Facets) -> str:
    return str(facets.get("lifecycleStateChange", {}).get("lifecycleStateChange") or "")


def _column_lineage(field: str, legacy: Legacy, sources: list[Column]) -> marquez.ColumnLineage:
    """Return the sources of a column; all have the transformation of the column."""
    transformation: marquez.Transformation = {
        "transformationDescription": legacy.description,
        "transformationType": legacy.type,
    }
    return {
        "name": field,
        "inputFields": [
            {
                "namespace": source.dataset.namespace,
                "dataset": source.dataset.name,
                "field": source.field,
                **transformation,
            }
            for source in sources
        ],
        **transformation,
    }


def _args(run: Run) -> dict[str, str]:
    """Return the arguments that Marquez derives from the facets nominalTime and parent."""
    nominal, parent = run.facets.get("nominalTime"), run.facets.get("parent")
    job, above = parent.get("job"), parent.get("run")
    found = {
        "nominal_start_time": _time(nominal.get("nominalStartTime")),
        "nominal_end_time": _time(nominal.get("nominalEndTime")),
        "run_id": above.get("runId") if isinstance(above, dict) else None,
        "name": job.get("name") if isinstance(job, dict) else None,
        "namespace": job.get("namespace") if isinstance(job, dict) else None,
    }
    return {key: str(value) for key, value in found.items() if value is not None}


def _text(facet: Json, key: str) -> str | None:
    """Return a value of a facet, which may have any type, as text."""
    value = facet.get(key)
    return None if value is None else str(value)


def _time(text: Any) -> str | None:
    try:
        return shown_time(to_micros(parse_time(text)))
    except (AttributeError, TypeError, ValueError, OverflowError):
        return None


def _names(names: Iterable[DatasetName]) -> list[Name]:
    return [name_of(name) for name in sorted(names)]
