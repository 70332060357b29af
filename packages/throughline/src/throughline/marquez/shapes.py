"""Convert jobs, runs and datasets to the models of Marquez's API."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property
from typing import Any

import orjson

from throughline.events import (
    Facets,
    JobRef,
    Legacy,
    parse_columns,
    parse_time,
    shown_time,
    to_micros,
)
from throughline.graph import Latest, Node
from throughline.graph.column_graph import Column, source_of
from throughline.graph.current import latest_of
from throughline.graph.nodes import name_of
from throughline.http.routes import fragment
from throughline.identity import DatasetName, is_location
from throughline.marquez import models as marquez
from throughline.marquez.facets import fields_of, location_of, tags_of, text_of
from throughline.marquez.versions import (
    DatasetVersion,
    JobVersion,
    Versions,
    dataset_facets,
    runs_of,
    uuid_of,
)
from throughline.projection import Job, Run, RunKey, State, Use, outcome, start_of
from throughline.projection.derived import began_at, descendants_of, parent_of
from throughline.query.models import Name

_MOST_LATEST_RUNS = 10
_SHOWN = {"dataSource", "documentation", "lifecycleStateChange", "schema", "tags"}
"""Facets that a node of the graph needs."""


class Shapes:
    """The converters of one answer, with caches."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._shown_runs: dict[RunKey, marquez.Run] = {}
        self._nodes: dict[Node, orjson.Fragment] = {}
        self.versions = Versions(state)

    @cached_property
    def _graph(self) -> Latest:
        return latest_of(self._state)

    def job(self, job: Job) -> marquez.Job:
        """Return a job with its latest runs and facets."""
        runs = runs_of(self._state, job)
        kind = job.facets.get("jobType")
        version = self.versions.current_of_job(job, runs)
        return {
            **self._job(job, runs),
            "latestRuns": [self.run(run) for run in runs[:_MOST_LATEST_RUNS]],
            "facets": job.facets.plain(),
            "currentVersion": version.id if version else None,
            "labels": [str(kind[key]) for key in ("jobType", "integration") if kind.get(key)],
            "tags": tags_of(job.facets.get("tags")).get(None, []),
        }

    def job_node(self, job: Job) -> orjson.Fragment:
        """Return a job as a node of the graph."""
        node = Node.of_job(job.ref)
        if node not in self._nodes:
            runs = runs_of(self._state, job)
            current = runs[0].key.run_id if runs else None
            self._nodes[node] = fragment({**self._job(job, runs), "currentRunUuid": current})
        return self._nodes[node]

    def _job(self, job: Job, newest_first: list[Run]) -> marquez.JobInfo:
        latest = newest_first[0] if newest_first else None
        above = parent_job(self._state, latest) if latest else None
        edges = self._graph.edges_of(job.ref)
        created, updated = self._times(job, newest_first)
        processing = str(job.facets.get("jobType").get("processingType")).upper()
        return {
            "id": name_of(job.ref),
            "type": "STREAM" if processing == "STREAMING" else "BATCH",
            "name": job.ref.name,
            "simpleName": job.ref.name.removeprefix(f"{above.name}.") if above else job.ref.name,
            "parentJobName": above.name if above else None,
            "parentJobUuid": uuid_of("job", *above) if above else None,
            "createdAt": shown_time(created),
            "updatedAt": shown_time(updated),
            "namespace": job.ref.namespace,
            "inputs": _named(edges.reads),
            "outputs": _named(edges.writes),
            "location": location_of(job.facets),
            "description": text_of(job.facets.get("documentation"), "description"),
            "latestRun": self.run(latest) if latest else None,
        }

    def _times(self, job: Job, newest_first: list[Run]) -> tuple[int | None, int | None]:
        """When a job was first and last heard of; of a silent one its runs tell."""
        first, last = job.first, job.last
        if first is None and newest_first:
            first = self._begun(newest_first[-1])
            heard = map(self._heard, newest_first)
            last = max((time for time in heard if time is not None), default=None)
        return first, last

    def _begun(self, run: Run) -> int | None:
        """Return when a run was first mentioned; a silent one by those below it or naming it."""
        if run.first is not None:
            return run.first
        begun = began_at(self._state, run)
        times = (each.first for each in self._naming(run)) if begun is None else (begun,)
        return min((time for time in times if time is not None), default=None)

    def _heard(self, run: Run) -> int | None:
        """Return when a run was last mentioned; a silent one by those below it or naming it."""
        below = [run, *descendants_of(self._state, run)] if run.last is None else [run]
        for runs in (below, self._naming(run)):
            if times := [each.last for each in runs if each.last is not None]:
                return max(times)
        return None

    def _naming(self, run: Run) -> list[Run]:
        """Return the runs that name a run as above them, even if its id means another one."""
        found = {run.key: run}
        open_ = [run]
        while open_:
            new = (open_.pop().children or set()) - found.keys()
            open_ += [found.setdefault(key, self._state.runs[key]) for key in sorted(new)]
        return list(found.values())

    def job_version(self, job: Job, version: JobVersion) -> marquez.JobVersion:
        """One way in which a job ran, with the newest run that did it."""
        return {
            "id": {**name_of(job.ref), "version": version.id},
            "name": job.ref.name,
            "createdAt": shown_time(version.made),
            "version": version.id,
            "namespace": job.ref.namespace,
            "location": version.location,
            "inputs": _named(version.reads),
            "outputs": _named(version.writes),
            "latestRun": self.run(version.run) if version.run else None,
        }

    def run(self, run: Run) -> marquez.Run:
        """A run."""
        shown = self._shown_runs.get(run.key)
        if shown is None:
            shown = self._shown_runs[run.key] = self._run(run)
        return shown

    def _run(self, run: Run) -> marquez.Run:
        condition, ended = outcome(self._state, run)
        started = start_of(run) if run.is_running else None
        nominal = run.facets.get("nominalTime")
        is_timed = started is not None and ended is not None
        version = self.versions.of_run(run)
        return {
            "id": run.key.run_id,
            "createdAt": shown_time(self._begun(run)),
            "updatedAt": shown_time(self._heard(run)),
            "nominalStartTime": _time(nominal.get("nominalStartTime")),
            "nominalEndTime": _time(nominal.get("nominalEndTime")),
            "state": condition,
            "startedAt": shown_time(started),
            "endedAt": shown_time(ended),
            "durationMs": ((ended or 0) - (started or 0)) // 1_000 if is_timed else None,
            "args": _args(run),
            "jobVersion": {**name_of(run.key.job), "version": version.id} if version else None,
            "inputDatasetVersions": [
                self._met(name, self.versions.read(run, name, use)[0], use)
                for name, use in sorted(run.inputs.items())
            ],
            "outputDatasetVersions": [
                self._met(name, self.versions.written(run, name, use), use)
                for name, use in sorted(run.outputs.items())
            ],
            "facets": run.facets.plain(),
        }

    def _met(self, name: DatasetName, version: str, use: Use) -> marquez.RunDatasetVersion:
        return {
            "datasetVersionId": {
                **name_of(self._state.identity.primary(name)),
                "version": version,
            },
            "datasetVersion": use.version[1] if use.version else None,
            "facets": use.facets.plain(),
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

    def dataset_node(self, name: DatasetName) -> orjson.Fragment:
        """Return a dataset as a node of the graph."""
        node = Node.of_dataset(name)
        if node not in self._nodes:
            shape = self._dataset(name, dataset_facets(self._state, name, _SHOWN))
            self._nodes[node] = fragment(shape)
        return self._nodes[node]

    def _dataset(self, name: DatasetName, facets: Facets) -> marquez.DatasetNode:
        names = self._state.identity.names(name)
        records = [self._state.datasets[each] for each in names if each in self._state.datasets]
        return {
            **_identified(names),
            "createdAt": shown_time(min((r.first for r in records), default=None)),
            "updatedAt": shown_time(max((r.last for r in records), default=None)),
            **_described(facets),
            "lastModifiedAt": None,
            "lastLifecycleState": _change(facets),
        }

    def dataset_version(
        self, name: DatasetName, version: DatasetVersion
    ) -> marquez.MarquezDatasetVersion:
        """Return a version of a dataset."""
        fields = [
            (each.get("name"), each.get("type"))
            for each in fields_of(version.known.get("schema", {}))
        ]
        return {
            **_identified(self._state.identity.names(name)),
            "createdAt": shown_time(version.made),
            "version": version.id,
            "datasetVersion": version.label,
            **_described(version.known),
            "lifecycleState": _change(version.said),
            "currentSchemaVersion": uuid_of("schema", *sorted(map(str, fields))),
            "createdByRun": self.run(version.run) if version.run else None,
            "facets": version.said,
        }


def namespace_shape(state: State, name: str) -> marquez.Namespace:
    """Return a namespace."""
    first, last = state.namespaces[name]
    return {
        "name": name,
        "createdAt": shown_time(first),
        "updatedAt": shown_time(last),
        "ownerName": "anonymous",
        "description": None,
        "isHidden": False,
    }


def parent_job(state: State, run: Run) -> JobRef | None:
    """Return the parent job of a run, if it is another job."""
    parent = parent_of(state, run)
    return parent.key.job if parent and parent.key.job != run.key.job else None


def source_name(facets: Facets) -> str:
    """Return the source of a dataset; without one `default`, as in Marquez."""
    return str(facets.get("dataSource", {}).get("name") or "default")


def _identified(names: list[DatasetName]) -> marquez.DatasetId:
    return {
        "id": name_of(names[0]),
        "type": "DB_TABLE",
        "name": names[0].name,
        "physicalName": (names[-1] if is_location(names[-1]) else names[0]).name,
        "namespace": names[0].namespace,
    }


def _described(facets: Facets) -> marquez.DatasetDescription:
    tags = tags_of(facets.get("tags", {}))
    return {
        "sourceName": source_name(facets),
        "fields": [
            {
                "name": text_of(each, "name"),
                "type": text_of(each, "type"),
                "tags": tags.get(str(each.get("name")), []),
                "description": text_of(each, "description"),
            }
            for each in fields_of(facets.get("schema", {}))
        ],
        "tags": tags.get(None, []),
        "description": text_of(facets.get("documentation", {}), "description"),
    }


def _change(facets: Facets) -> str:
    return str(facets.get("lifecycleStateChange", {}).get("lifecycleStateChange") or "")


def _column_lineage(field: str, legacy: Legacy, sources: list[Column]) -> marquez.ColumnLineage:
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


def _time(text: Any) -> str | None:
    try:
        return shown_time(to_micros(parse_time(text)))
    except (AttributeError, TypeError, ValueError, OverflowError):
        return None


def _named(names: Iterable[DatasetName]) -> list[Name]:
    return [name_of(name) for name in sorted(names)]
