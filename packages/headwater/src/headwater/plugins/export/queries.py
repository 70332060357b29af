"""Query of the whole projection as JSON; equal states give equal JSON."""

from __future__ import annotations

from typing_extensions import TypedDict

from headwater import deadline
from headwater.datasets.removal import removal_of
from headwater.events import shown_time
from headwater.events.facets import Reference
from headwater.identity import DatasetName
from headwater.projection.derived import outcome, parent_of, records_of, start_of, version_of
from headwater.projection.facet_books import FacetBook, unpack
from headwater.projection.state import Job, Run, State, Use
from headwater.query.models import Json
from headwater.query.registry import query


class Export(TypedDict):
    """The whole projection as canonical JSON, for comparisons."""

    jobs: list[Json]
    runs: list[Json]
    datasets: list[Json]
    namespaces: dict[str, list[str | None]]


@query("export")
def export(state: State) -> Export:
    """Return the whole projection, sorted."""
    names = sorted(set(state.identity))
    return {
        "jobs": [_job(state, state.jobs[ref]) for ref in deadline.watched(sorted(state.jobs))],
        "runs": [_run(state, state.runs[key]) for key in deadline.watched(sorted(state.runs))],
        "datasets": [_dataset(state, name) for name in deadline.watched(names)],
        "namespaces": {
            name: [shown_time(moment) for moment in span]
            for name, span in sorted(state.namespaces.items())
        },
    }


def _job(state: State, job: Job) -> Json:
    """Return a job with all that the projection has of it."""
    declared = job.declared
    return {
        "namespace": job.ref.namespace,
        "name": job.ref.name,
        "first": shown_time(job.first),
        "last": shown_time(job.last),
        "facets": _facets(job.facets),
        "runs": [key.run_id for key in sorted(job.runs)],
        "parents": sorted(job.parents or job.root_hints or ()),
        "declaredInputs": _primary_names(state, declared.inputs if declared else frozenset()),
        "declaredOutputs": _primary_names(state, declared.outputs if declared else frozenset()),
    }


def _run(state: State, run: Run) -> Json:
    """Return a run with all that the projection has of it."""
    parent = parent_of(state, run)
    condition, ended = outcome(state, run)
    return {
        "runId": run.key.run_id,
        "job": run.key.job,
        "parent": parent.key if parent else None,
        "state": condition,
        "started": shown_time(start_of(run)),
        "ended": shown_time(ended),
        "last": shown_time(run.last),
        "facets": _facets(run.facets),
        "code": _facets(run.code),
        "upstream": _dependencies(run.upstream),
        "downstream": _dependencies(run.downstream),
        "inputs": [_use(state, run, name, use) for name, use in sorted(run.inputs.items())],
        "outputs": [_use(state, run, name, use) for name, use in sorted(run.outputs.items())],
    }


def _dataset(state: State, primary: DatasetName) -> Json:
    """Return a dataset, given its primary name, with the facets of each of its names."""
    records = records_of(state, primary)
    return {
        "namespace": primary.namespace,
        "name": primary.name,
        "aliases": state.identity.names(primary)[1:],
        "facets": [[record.name, _facets(record.facets)] for record in records],
        "removal": removal_of(state, primary),
        "readers": sorted(key for record in records for key in record.readers),
        "writers": sorted(key for record in records for key in record.writers),
    }


def _use(state: State, run: Run, name: DatasetName, use: Use) -> Json:
    """Return an input or output of a run; `name` is as the event spelled it."""
    primary = state.identity.primary(name)
    return {
        "dataset": primary,
        "as": name,
        "version": version_of(run, use),
        "facets": _facets(use.io_facets),
        "about": _facets(use.dataset_facets),
    }


def _primary_names(state: State, names: frozenset[DatasetName]) -> list[DatasetName]:
    return sorted({state.identity.primary(name) for name in names})


def _facets(book: FacetBook) -> Json:
    """Return facets, each with the time and the hash of the event that reported it."""
    return {
        name: {"at": shown_time(stamp.time), "by": stamp.hash, "facet": unpack(packed)}
        for name, (stamp, packed) in sorted(book.stamped().items())
    }


def _dependencies(dependencies: set[Reference] | None) -> list[Reference]:
    return sorted(
        dependencies or (), key=lambda dependency: (dependency.job, dependency.run_id or "")
    )
