"""Record runs of Airflow that a person marks as successful, with a scheduler and the REST API."""

from __future__ import annotations

import json
import time
import urllib.request
from typing import Any

from .recording import copied, file_transport, keep, run, serving

_CASE = "airflow-by-hand"
_ADDRESS = "http://localhost:18321"
_MOST_SECONDS = 120
_PACKAGES = [
    "apache-airflow==3.3.2",
    "apache-airflow-providers-openlineage==2.20.3",
    "apache-airflow-providers-standard==1.21.0",
]


def main() -> None:
    """Record the events of all DAGs as one case."""
    with copied("airflow_by_hand") as folder:
        events = folder / "events.jsonl"
        settings = {
            "AIRFLOW_HOME": str(folder / "home"),
            "AIRFLOW__API__PORT": _ADDRESS.rpartition(":")[2],
            "AIRFLOW__API__WORKERS": "1",
            "AIRFLOW__CORE__DAGS_FOLDER": str(folder / "dags"),
            "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{_ADDRESS}/execution/",
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__PARALLELISM": "3",
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
            "AIRFLOW__OPENLINEAGE__NAMESPACE": _CASE,
            "AIRFLOW__OPENLINEAGE__TRANSPORT": file_transport(events),
        }
        run(_PACKAGES, ["airflow", "db", "migrate"], folder, settings)
        with serving(_PACKAGES, ["airflow", "standalone"], folder, settings):
            _mark()
        keep(_CASE, events, folder)


def _mark() -> None:
    """Run the DAGs, and mark a failed task and a running DAG run as successful."""
    token = _until(lambda: _request("GET", "/auth/token"))["access_token"]

    def call(method: str, path: str, body: Any = None) -> Any:
        return _request(method, f"/api/v2/dags/{path}", body, token)

    def wait(path: str, *states: str) -> None:
        _until(lambda: call("GET", path)["state"] in states)

    for dag in ("task_marked", "run_marked", "mapped"):
        body = {"dag_run_id": "1", "logical_date": None}
        _until(lambda dag=dag, body=body: call("POST", f"{dag}/dagRuns", body))
    wait("task_marked/dagRuns/1", "failed")
    wait("mapped/dagRuns/1", "failed")
    wait("run_marked/dagRuns/1/taskInstances/load", "running")
    call("PATCH", "run_marked/dagRuns/1", {"state": "success"})
    task = "task_marked/dagRuns/1/taskInstances/load"
    call("PATCH", task, {"new_state": "success", "include_downstream": False})
    wait("task_marked/dagRuns/1", "success")


def _until(attempt: Any) -> Any:
    """Return the result of an attempt as soon as there is one; try it every second."""
    for _ in range(_MOST_SECONDS):
        try:
            if result := attempt():
                return result
        except OSError:  # the server does not listen yet, or does not know the DAG yet
            pass
        time.sleep(1)
    raise TimeoutError(f"no result after {_MOST_SECONDS} attempts")


def _request(method: str, path: str, body: Any = None, token: str = "") -> Any:
    headers = {"Content-Type": "application/json"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(_ADDRESS + path, data, headers, method=method)
    with urllib.request.urlopen(request) as response:
        return json.loads(response.read())
