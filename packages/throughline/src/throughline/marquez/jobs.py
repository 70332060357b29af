"""Endpoints of jobs, their runs and versions."""

from __future__ import annotations

from heapq import nlargest
from typing import Annotated

from fastapi import APIRouter, Query, Response

from throughline.errors import ConfigError, NotFoundError
from throughline.events import JobRef
from throughline.http.admission import Queried
from throughline.http.routes import Limit, LiveState, Offset, answer
from throughline.marquez import models as marquez
from throughline.marquez.shapes import Shapes, parent_job
from throughline.marquez.versions import runs_of
from throughline.projection import Job, RunState, State, outcome
from throughline.runs.summary import newest_run

router = APIRouter(prefix="/api/v1", route_class=Queried)


@router.get("/jobs", response_model=marquez.Jobs)
def list_jobs(
    live: LiveState,
    limit: Limit = 100,
    offset: Offset = 0,
    states: Annotated[
        list[str] | None,
        Query(alias="lastRunStates", description="States of newest runs; any number."),
    ] = None,
) -> Response:
    """Return the jobs of all namespaces, last updated first."""
    with live.reading() as state:
        jobs = list(state.jobs.values())
        if states:
            wanted = {_run_state(text) for text in states}
            jobs = [job for job in jobs if _last_state(state, job) in wanted]
        return answer(_page(state, jobs, limit, offset))


@router.get("/namespaces/{namespace:segment}/jobs", response_model=marquez.Jobs)
def list_jobs_of_namespace(
    live: LiveState, namespace: str, limit: Limit = 100, offset: Offset = 0
) -> Response:
    """Return the jobs of a namespace, last updated first."""
    with live.reading() as state:
        jobs = [job for ref, job in state.jobs.items() if ref[0] == namespace]
        return answer(_page(state, jobs, limit, offset))


@router.get("/namespaces/{namespace:segment}/jobs/{job:segment}", response_model=marquez.Job)
def get_job(live: LiveState, namespace: str, job: str) -> Response:
    """Return a job."""
    with live.reading() as state:
        return answer(Shapes(state).job(_find(state, namespace, job)))


@router.get("/namespaces/{namespace:segment}/jobs/{job:segment}/runs", response_model=marquez.Runs)
def list_runs(
    live: LiveState, namespace: str, job: str, limit: Limit = 100, offset: Offset = 0
) -> Response:
    """Return the runs of a job, newest first."""
    with live.reading() as state:
        runs = runs_of(state, _find(state, namespace, job))
        shapes = Shapes(state)
        page = [shapes.run(run) for run in runs[offset : offset + limit]]
        return answer({"runs": page, "totalCount": len(runs)})


@router.get(
    "/namespaces/{namespace:segment}/jobs/{job:segment}/versions",
    response_model=marquez.JobVersions,
)
def list_versions(
    live: LiveState, namespace: str, job: str, limit: Limit = 100, offset: Offset = 0
) -> Response:
    """Return the versions of a job, newest first: its distinct code, inputs and outputs."""
    with live.reading() as state:
        found = _find(state, namespace, job)
        shapes = Shapes(state)
        versions = shapes.versions.of_job(found)
        page = [shapes.job_version(found, version) for version in versions[offset : offset + limit]]
        return answer({"versions": page, "totalCount": len(versions)})


@router.get(
    "/namespaces/{namespace:segment}/jobs/{job:segment}/versions/{version:segment}",
    response_model=marquez.JobVersion,
)
def get_version(live: LiveState, namespace: str, job: str, version: str) -> Response:
    """Return one version of a job."""
    with live.reading() as state:
        found = _find(state, namespace, job)
        shapes = Shapes(state)
        for candidate in shapes.versions.of_job(found):
            if candidate.id == version:
                return answer(shapes.job_version(found, candidate))
    raise NotFoundError(f"Job version '{version}' not found.")


def _page(state: State, jobs: list[Job], limit: int, offset: int) -> marquez.Jobs:
    # Comparing numbers is faster than comparing jobs: first drop the jobs too old for the page.
    newest = nlargest(offset + limit, [job.last or 0 for job in reversed(jobs)])
    oldest = newest[-1] if newest else 0
    recent = [job for job in jobs if (job.last or 0) >= oldest]
    recent.sort(key=lambda job: (-(job.last or 0), job.ref))
    shapes = Shapes(state)
    page = [shapes.job(job) for job in recent[offset : offset + limit]]
    return {"totalCount": len(jobs), "jobs": page}


def _find(state: State, namespace: str, name: str) -> Job:
    job = state.jobs.get(JobRef(namespace, name))
    if job is not None:
        return job
    for ref, candidate in state.jobs.items():
        if name.endswith(ref.name.rsplit(".", 1)[-1]) and name == _marquez_name(state, candidate):
            return candidate
    raise NotFoundError(f"Job '{name}' not found.")


def _marquez_name(state: State, job: Job, depth: int = 8) -> str:
    """Return the name of a job with its parents' names in front, as in Marquez."""
    latest = newest_run(state, job.ref)
    parent = parent_job(state, latest) if latest else None
    if parent is None or depth == 0:
        return job.ref.name
    simple = job.ref.name.removeprefix(f"{parent.name}.")
    return f"{_marquez_name(state, state.jobs[parent], depth - 1)}.{simple}"


def _last_state(state: State, job: Job) -> RunState | None:
    run = newest_run(state, job.ref)
    return outcome(state, run).state if run else None


def _run_state(text: str) -> RunState:
    try:
        return RunState[text.upper()]
    except KeyError:
        names = ", ".join(RunState)
        raise ConfigError(f"lastRunStates: received {text!r}, expected one of {names}") from None
