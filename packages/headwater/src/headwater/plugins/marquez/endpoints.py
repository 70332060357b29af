"""Endpoints of Marquez's API: namespaces, jobs, runs, datasets, sources, tags and search.

Clients of Marquez send these requests: a job may have the name that Marquez gives it, and errors
have the messages of Marquez.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import nlargest, nsmallest
from typing import Annotated, Literal

from fastapi import APIRouter, Query

from headwater import deadline
from headwater.errors import ConfigError, NotFoundError
from headwater.events import JobRef, shown_time
from headwater.events.job_names import without_build
from headwater.graph import Node, node_id
from headwater.http.routes import Offset, PageSize, Queried, get
from headwater.identity import DatasetName, canonical_name
from headwater.plugins.marquez import _graphs as graphs
from headwater.plugins.marquez import _stats as stats
from headwater.plugins.marquez import models as marquez
from headwater.plugins.marquez._service import Converter, parent_job, run_of, tagged
from headwater.plugins.marquez._versions import runs_of, times_of
from headwater.projection import Job, RunState, State, outcome
from headwater.runs.summary import newest_run

router = APIRouter(prefix="/api/v1", route_class=Queried)

_NAMESPACE = "/namespaces/{namespace:segment}"
_JOB = _NAMESPACE + "/jobs/{job:segment}"
_DATASET = _NAMESPACE + "/datasets/{dataset:segment}"
_SOURCE_TYPES = {"POSTGRES": "POSTGRESQL"}


@get(router, "/namespaces")
def list_namespaces(state: State, limit: PageSize = 100, offset: Offset = 0) -> marquez.Namespaces:
    """Return the namespaces of jobs and datasets, by name."""
    names = sorted(state.namespaces)[offset : offset + limit]
    return {"namespaces": [_namespace(state, name) for name in names]}


@get(router, _NAMESPACE)
def get_namespace(state: State, namespace: str) -> marquez.Namespace:
    """Return a namespace."""
    return _namespace(state, namespace)


@get(router, "/jobs")
def list_jobs(
    state: State,
    limit: PageSize = 100,
    offset: Offset = 0,
    states: Annotated[
        list[str] | None,
        Query(alias="lastRunStates", description="States of newest runs; any number."),
    ] = None,
) -> marquez.Jobs:
    """Return the jobs of all namespaces, last updated first."""
    jobs = list(state.jobs.values())
    if states:
        wanted = {_run_state(text) for text in states}
        jobs = [job for job in jobs if _last_state(state, job) in wanted]
    return _jobs(state, jobs, limit, offset)


@get(router, _NAMESPACE + "/jobs")
def list_jobs_of_namespace(
    state: State, namespace: str, limit: PageSize = 100, offset: Offset = 0
) -> marquez.Jobs:
    """Return the jobs of a namespace, last updated first."""
    jobs = [job for ref, job in state.jobs.items() if ref.namespace == namespace]
    return _jobs(state, jobs, limit, offset)


@get(router, _JOB)
def get_job(state: State, namespace: str, job: str) -> marquez.Job:
    """Return a job."""
    return Converter(state).job(_find_job(state, namespace, job))


@get(router, _JOB + "/runs")
def list_runs(
    state: State, namespace: str, job: str, limit: PageSize = 100, offset: Offset = 0
) -> marquez.Runs:
    """Return the runs of a job, newest first."""
    runs = runs_of(state, _find_job(state, namespace, job))
    convert = Converter(state)
    page = [convert.run(run) for run in runs[offset : offset + limit]]
    return {"runs": page, "totalCount": len(runs)}


@get(router, _JOB + "/versions")
def list_job_versions(
    state: State, namespace: str, job: str, limit: PageSize = 100, offset: Offset = 0
) -> marquez.JobVersions:
    """Return the versions of a job, newest first: its distinct code, inputs and outputs."""
    found = _find_job(state, namespace, job)
    convert = Converter(state)
    versions = convert.versions.of_job(found)
    page = [convert.job_version(found, item) for item in versions[offset : offset + limit]]
    return {"versions": page, "totalCount": len(versions)}


@get(router, _JOB + "/versions/{version:segment}")
def get_job_version(state: State, namespace: str, job: str, version: str) -> marquez.JobVersion:
    """Return one version of a job."""
    found = _find_job(state, namespace, job)
    convert = Converter(state)
    for candidate in convert.versions.of_job(found):
        if candidate.id == version:
            return convert.job_version(found, candidate)
    raise NotFoundError(f"Job version '{version}' not found.")


@get(router, "/jobs/runs/{run_id:segment}")
def get_run(state: State, run_id: str) -> marquez.Run:
    """Return a run."""
    return Converter(state).run(run_of(state, run_id))


@get(router, "/jobs/runs/{run_id:segment}/facets")
def get_run_facets(
    state: State,
    run_id: str,
    kind: Annotated[str, Query(alias="type", description="run, or job.")],
) -> marquez.RunFacets:
    """Return the facets of a run, or of its job."""
    run = run_of(state, run_id)
    if kind.lower() not in ("run", "job"):
        raise ConfigError(f"type: received {kind!r}, expected run or job")
    book = run.facets if kind.lower() == "run" else state.jobs[run.key.job].facets
    return {"runId": run.key.run_id, "facets": book.plain()}


@get(router, _NAMESPACE + "/datasets")
def list_datasets(
    state: State, namespace: str, limit: PageSize = 100, offset: Offset = 0
) -> marquez.Datasets:
    """Return the datasets of a namespace, by name."""
    _check_namespace(state, namespace)
    names = [name for name in state.identity if name.namespace == namespace]
    convert = Converter(state)
    page = [convert.dataset(name) for name in nsmallest(offset + limit, names)[offset:]]
    return {"totalCount": len(names), "datasets": page}


@get(router, _DATASET)
def get_dataset(state: State, namespace: str, dataset: str) -> marquez.Dataset:
    """Return a dataset by any of its names."""
    return Converter(state).dataset(_find_dataset(state, namespace, dataset))


@get(router, _DATASET + "/versions")
def list_dataset_versions(
    state: State, namespace: str, dataset: str, limit: PageSize = 100, offset: Offset = 0
) -> marquez.MarquezDatasetVersions:
    """Return the versions of a dataset, newest first."""
    name = _find_dataset(state, namespace, dataset)
    convert = Converter(state)
    versions = convert.versions.of_dataset(name)
    page = [convert.dataset_version(name, item) for item in versions[offset : offset + limit]]
    return {"versions": page, "totalCount": len(versions)}


@get(router, _DATASET + "/versions/{version:segment}")
def get_dataset_version(
    state: State, namespace: str, dataset: str, version: str
) -> marquez.MarquezDatasetVersion:
    """Return one version of a dataset, by its id or the version in its version facet."""
    name = _find_dataset(state, namespace, dataset)
    convert = Converter(state)
    versions = convert.versions
    for candidate in (*versions.of_dataset(name), versions.initial(name)):
        if version in (candidate.id, candidate.label):
            return convert.dataset_version(name, candidate)
    raise NotFoundError(f"Dataset version '{version}' not found.")


@get(router, "/sources")
def list_sources(state: State, limit: PageSize = 100, offset: Offset = 0) -> marquez.Sources:
    """Return the sources of dataSource facets, by name."""
    found = sorted(stats.sources_of(state).items())[offset : offset + limit]
    return {"sources": [_source(name, source) for name, source in found]}


@get(router, "/sources/{source:segment}")
def get_source(state: State, source: str) -> marquez.Source:
    """Return a source."""
    found = stats.sources_of(state)
    if source not in found:
        raise NotFoundError(f"Source '{source}' not found.")
    return _source(source, found[source])


@get(router, "/tags")
def list_tags(state: State, limit: PageSize = 100, offset: Offset = 0) -> marquez.Tags:
    """Return the tags of jobs, datasets and fields, by name."""
    books = [job.facets for job in state.jobs.values()]
    books += [record.facets for record in state.datasets.values()]
    found = {tag for book in deadline.watched(books) for _, tag in tagged(book.get("tags"))}
    names = sorted(found)[offset : offset + limit]
    return {"tags": [{"name": name, "description": None} for name in names]}


@get(router, "/search")
def search(
    state: State,
    q: Annotated[str, Query(min_length=1, description="A part of a name.")],
    kind: Annotated[
        Literal["JOB", "DATASET"] | None,
        Query(alias="filter", description="Only jobs, or only datasets."),
    ] = None,
    sort: Annotated[
        Literal["NAME", "UPDATE_AT", "name", "update_at"], Query(description="Sort order.")
    ] = "NAME",
    limit: PageSize = 10,
    namespace: Annotated[str | None, Query(description="Only results of this namespace.")] = None,
) -> marquez.SearchResults:
    """Return jobs and datasets with `q` in a name."""
    found = [
        (node, last)
        for node, last in _matches(state, q.lower())
        if kind in (None, node.type.upper()) and namespace in (None, node.namespace)
    ]
    if sort.upper() == "NAME":
        found.sort(key=lambda hit: (hit[0].name, hit[0]))
    else:
        found.sort(key=lambda hit: (-hit[1], hit[0]))
    results = [_search_result(node, last) for node, last in found[:limit]]
    return {"totalCount": len(found), "results": results}


def _namespace(state: State, name: str) -> marquez.Namespace:
    """Return a namespace with its first and last mention. Raises NotFoundError."""
    _check_namespace(state, name)
    first, last = state.namespaces[name]
    return {
        "name": name,
        "createdAt": shown_time(first),
        "updatedAt": shown_time(last),
        "ownerName": "anonymous",
        "description": None,
        "isHidden": False,
    }


def _check_namespace(state: State, name: str) -> None:
    """Raise NotFoundError, with Marquez's message, if nothing has the namespace."""
    if name not in state.namespaces:
        raise NotFoundError(f"Namespace '{name}' not found.")


def _jobs(state: State, jobs: list[Job], limit: int, offset: int) -> marquez.Jobs:
    """Return one page of jobs, last updated first."""
    # Comparing numbers is faster than comparing jobs: first drop jobs too old for the page.
    newest = nlargest(offset + limit, [job.last or 0 for job in reversed(jobs)])
    oldest = newest[-1] if newest else 0
    recent = [job for job in jobs if (job.last or 0) >= oldest]
    recent.sort(key=lambda job: (-(job.last or 0), job.ref))
    convert = Converter(state)
    page = [convert.job(job) for job in recent[offset : offset + limit]]
    return {"totalCount": len(jobs), "jobs": page}


def _find_job(state: State, namespace: str, name: str) -> Job:
    """Return a job by its name, or by the name that Marquez would give it.

    Marquez puts the names of parents in front. Raises NotFoundError if there is none.
    """
    job = state.jobs.get(JobRef(namespace, name))
    # `orders.build.run` of `dbt build` is stored as the job `orders`
    job = job or state.jobs.get(JobRef(namespace, without_build(name)))
    if job is not None:
        return job
    for ref, candidate in state.jobs.items():  # the names of parents are only determined if needed
        if name.endswith(ref.name.rsplit(".", 1)[-1]) and name == _marquez_name(state, candidate):
            return candidate
    raise NotFoundError(f"Job '{name}' not found.")


def _marquez_name(state: State, job: Job, depth: int = 8) -> str:
    """Return the name of a job with its parents' names in front, as in Marquez.

    `depth` limits the number of parents.
    """
    latest = newest_run(state, job.ref)
    parent = parent_job(state, latest) if latest else None
    if parent is None or depth == 0:
        return job.ref.name
    simple = job.ref.name.removeprefix(f"{parent.name}.")
    return f"{_marquez_name(state, state.jobs[parent], depth - 1)}.{simple}"


def _last_state(state: State, job: Job) -> RunState | None:
    """Return the state of the newest run; None without runs."""
    run = newest_run(state, job.ref)
    return outcome(state, run).state if run else None


def _run_state(text: str) -> RunState:
    """Return the state that a parameter names. Raises ConfigError for an unknown one."""
    try:
        return RunState[text.upper()]
    except KeyError:
        names = ", ".join(RunState)
        raise ConfigError(f"lastRunStates: received {text!r}, expected one of {names}") from None


def _find_dataset(state: State, namespace: str, name: str) -> DatasetName:
    """Return a dataset by any of its names. Raises NotFoundError if none or several have it."""
    found = state.identity.datasets(canonical_name(namespace, name))
    if len(found) != 1:
        raise NotFoundError(f"Dataset '{name}' not found.")
    return found[0]


def _matches(state: State, text: str) -> Iterator[tuple[Node, int]]:
    """Yield the jobs and datasets with a text in a name, and the time of their last mention.

    The text is in lower case. Times are in microseconds, and 0 if unknown.
    """
    for primary in deadline.watched(state.identity):
        if any(text in alias.name.lower() for alias in state.identity.names(primary)):
            yield Node.of_dataset(primary), times_of(state, primary)[1] or 0
    for ref, job in deadline.watched(state.jobs.items()):
        if text in ref.name.lower():
            yield Node.of_job(ref), job.last or 0


def _search_result(node: Node, last: int) -> marquez.SearchResult:
    """Return a node in Marquez's form; `last` is its last mention in microseconds."""
    return {
        "type": node.type.upper(),
        "name": node.name,
        "updatedAt": shown_time(last or None),
        "namespace": node.namespace,
        "nodeId": node_id(node),
    }


def _source(name: str, source: stats.Source) -> marquez.Source:
    """Return a source in Marquez's form; its type is the scheme of its URL."""
    scheme = source.url.partition(":")[0].upper()
    return {
        "type": _SOURCE_TYPES.get(scheme, scheme),
        "name": name,
        "createdAt": shown_time(source.first),
        "updatedAt": shown_time(source.last),
        "connectionUrl": source.url,
        "description": None,
    }


router.routes += [*graphs.router.routes, *stats.router.routes]
