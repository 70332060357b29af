"""Add lineage views to Airflow's navigation, DAGs, tasks and their runs.

Airflow shows the lineage server's page in a frame and fills in the placeholders in braces. The
frame's address leads to Airflow itself, which redirects to the lineage server under the name that
the browser used for Airflow. The browser's machine may be another one than the server's.
"""

from __future__ import annotations

from urllib.parse import quote, urlsplit

from airflow.plugins_manager import AirflowPlugin
from fastapi import FastAPI, Request
from fastapi.responses import RedirectResponse

from lakehouse.backends import is_embedded
from lakehouse.settings import Settings, load_settings

PREFIX = "/lineage-page"
DAG, TASK = "{DAG_ID}", "{DAG_ID}.{TASK_ID}"
ICON = "data:image/svg+xml," + quote(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32" fill="none" stroke="#6a72e0"'
    ' stroke-width="3.4"><path d="M3 16h8m10 0h8"/><circle cx="16" cy="16" r="5"/></svg>'
)


def views(settings: Settings) -> list[dict[str, str | bool]]:
    """Return the views to add; none if no lineage server on this machine receives the lineage.

    A run's view contains Airflow's run id, from which the page finds the OpenLineage run.
    """
    if not is_embedded(settings):
        return []
    job = f"job:{quote(settings.job_namespace, safe='')}"
    pages = {
        "nav": "/?embed",
        "dag": f"/lineage?embed&node={job}:{DAG}",
        "task": f"/lineage?embed&node={job}:{TASK}",
        "dag_run": f"/run?embed&job={job}:{DAG}&id={{RUN_ID}}",
        "task_instance": f"/run?embed&job={job}:{TASK}&id={{RUN_ID}}",
    }
    return [
        {
            "name": "Lineage",
            "href": PREFIX.lstrip("/") + page,  # below Airflow's base URL
            "destination": place,
            "url_route": f"lineage-{place.replace('_', '-')}",  # must be unique in Airflow
            "icon": ICON,
            "nav_top_level": place == "nav",
        }
        for place, page in pages.items()
    ]


def redirects(settings: Settings) -> FastAPI:
    """Return an application that redirects to the lineage server on the host that was requested."""
    app, port = FastAPI(openapi_url=None), urlsplit(settings.headwater_url).port

    @app.get("/{path:path}")
    def redirect(request: Request, path: str) -> RedirectResponse:
        host = request.url.hostname or "localhost"
        name = f"[{host}]" if ":" in host else host
        return RedirectResponse(f"http://{name}:{port}/{path}?{request.url.query}")

    return app


class LineagePlugin(AirflowPlugin):
    """Plugin that registers the views."""

    name = "lineage"
    external_views = views(load_settings())
    fastapi_apps = [
        {"app": redirects(load_settings()), "url_prefix": PREFIX, "name": "Lineage page"}
    ]
