"""Links to the pages of a job or a run in its orchestrator."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from headwater import deadline
from headwater.events.facets import Airflow, AirflowDagRun, Facet, MetaflowTask
from headwater.projection import Job, Run, State
from headwater.projection.derived import ancestry_of, children_of
from headwater.query.models import Link

# The URL of a log in Airflow 3: BASE/dags/DAG/runs/RUN/tasks/TASK?try_number=1
_OF_AIRFLOW = re.compile(r"(?P<dag>.+/dags/[^/]+)(?P<run>/runs/[^/]+)(?P<task>/tasks/[^?]+)")


class _Exposure(Facet, key="dbt_exposure"):
    """The exposure of dbt, such as a dashboard, that a job stands for."""

    type: str | None
    url: str | None


def links_of_run(state: State, run: Run) -> list[Link]:
    """Return the pages of a run, or of its nearest ancestor that has one.

    The list is empty if no run of the lineage reported a page; pages with other schemes than http
    are left out, because the page shows them as links.
    """
    for ancestor in ancestry_of(state, run):
        if url := _log_of(ancestor):
            return [_link("Task instance in Airflow", url)]
        if url := _page(ancestor.facets.parsed(MetaflowTask).url):
            return [_link("Task in Metaflow", url)]
        if ancestor.facets.get(AirflowDagRun.KEY) and (found := _parts_below(state, ancestor)):
            return [_link("DAG run in Airflow", found["dag"] + found["run"])]
    return []


def links_of_job(state: State, job: Job, run: Run | None) -> list[Link]:
    """Return the pages of a job, from its newest run, or that of an exposure of dbt.

    `run` is the newest run of the job; None if it has none.
    """
    exposure = job.facets.parsed(_Exposure)
    if url := _page(exposure.url):
        return [_link((exposure.type or "exposure").capitalize(), url)]
    if run is None:
        return []
    if found := _OF_AIRFLOW.match(_log_of(run)):
        return [_link("Task in Airflow", found["dag"] + found["task"].split("/mapped/")[0])]
    if run.facets.get(AirflowDagRun.KEY) and (found := _parts_below(state, run)):
        return [_link("DAG in Airflow", found["dag"])]
    return []


def _parts_below(state: State, dag_run: Run) -> re.Match[str] | None:
    """Return the parts of a DAG run's URL, which only its tasks report."""
    for child in deadline.watched(children_of(state, dag_run)):
        if found := _OF_AIRFLOW.match(_log_of(child)):
            return found
    return None


def _log_of(run: Run) -> str:
    """Return the URL of a task's log; empty if there is none that is safe to open."""
    return _page(run.facets.parsed(Airflow).log_url)


def _page(url: str | None) -> str:
    """Return the URL of a page; empty if it is not safe to open in a browser."""
    try:
        return url if url and urlsplit(url).scheme in ("http", "https") else ""
    except ValueError:  # such as http://[bad
        return ""


def _link(name: str, url: str) -> Link:
    return {"name": name, "url": url}
