"""Add lineage views to Airflow's navigation, DAGs, tasks and their runs.

Airflow shows the lineage server's page in a frame and fills in the placeholders in braces.
"""

from __future__ import annotations

from urllib.parse import quote

from airflow.plugins_manager import AirflowPlugin

from lakehouse.backends import is_embedded
from lakehouse.settings import Settings, load_settings

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
    url, job = settings.throughline_url, f"job:{quote(settings.job_namespace, safe='')}"
    pages = {
        "nav": "/",
        "dag": f"/lineage?node={job}:{DAG}",
        "task": f"/lineage?node={job}:{TASK}",
        "dag_run": f"/run?job={job}:{DAG}&id={{RUN_ID}}",
        "task_instance": f"/run?job={job}:{TASK}&id={{RUN_ID}}",
    }
    return [
        {
            "name": "Lineage",
            "href": url + page,
            "destination": place,
            "url_route": f"lineage-{place.replace('_', '-')}",  # must be unique in Airflow
            "icon": ICON,
            "nav_top_level": place == "nav",
        }
        for place, page in pages.items()
    ]


class LineagePlugin(AirflowPlugin):
    """Plugin that registers the views."""

    name = "lineage"
    external_views = views(load_settings())
