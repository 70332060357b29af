"""The few calls of Airflow's public API that the commands need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx

from commands.environment import AIRFLOW_PASSWORD, AIRFLOW_USER

Json = dict[str, Any]


class Airflow:
    """A client of one Airflow; logs in at the first call, and calls `check` before each."""

    def __init__(self, url: str, check: Callable[[], None] = lambda: None) -> None:
        self._check = check
        transport = httpx.HTTPTransport(retries=3)
        self._http = httpx.Client(base_url=url, timeout=30, transport=transport)
        self._logged_in = False

    def healthy(self, dags: tuple[str, ...]) -> bool:
        """Whether the scheduler runs and all of `dags` are known."""
        try:
            health = self._http.get("/api/v2/monitor/health").json()
            if health["scheduler"]["status"] != "healthy":
                return False
            return all(self._call("GET", f"/dags/{dag}", allow=(404,)) for dag in dags)
        except (httpx.HTTPError, ValueError, KeyError):
            return False

    def import_errors(self) -> list[str]:
        """Why DAG files cannot be loaded."""
        errors = self._call("GET", "/importErrors")["import_errors"]
        return [f"{error['filename']}: {error['stack_trace']}" for error in errors]

    def unpause(self, dag: str) -> None:
        """Let the DAG be scheduled."""
        self._call("PATCH", f"/dags/{dag}", json={"is_paused": False})

    def trigger(self, dag: str, conf: Json) -> str:
        """Start a run now; its run id."""
        body = {"logical_date": None, "conf": conf}
        return str(self._call("POST", f"/dags/{dag}/dagRuns", json=body)["dag_run_id"])

    def run_state(self, dag: str, run: str) -> str:
        """queued, running, success or failed."""
        return str(self._call("GET", f"/dags/{dag}/dagRuns/{run}")["state"])

    def tasks(self, dag: str, run: str) -> list[Json]:
        """Task instances of a run in the order they were started; the unstarted last."""
        found = self._call("GET", f"/dags/{dag}/dagRuns/{run}/taskInstances")["task_instances"]
        return sorted(found, key=lambda task: task["start_date"] or "~")

    def triggered_by(self, dag: str, source_run: str) -> str | None:
        """The run of `dag` that an asset event of `source_run` started, if there is one yet."""
        runs = self._call("GET", f"/dags/{dag}/dagRuns", params={"order_by": "-id", "limit": 10})
        for run in runs["dag_runs"]:
            path = f"/dags/{dag}/dagRuns/{run['dag_run_id']}/upstreamAssetEvents"
            events = self._call("GET", path)["asset_events"]
            if any(event["source_run_id"] == source_run for event in events):
                return str(run["dag_run_id"])
        return None

    def xcom(self, dag: str, run: str, task: str, key: str) -> Any:
        """A value that a task left; None if it left none."""
        path = f"/dags/{dag}/dagRuns/{run}/taskInstances/{task}/xcomEntries/{key}"
        entry = self._call("GET", path, allow=(404,), params={"deserialize": True})
        return entry.get("value")

    def log(self, dag: str, run: str, task: str, attempt: int) -> str:
        """A task's log as text."""
        path = f"/dags/{dag}/dagRuns/{run}/taskInstances/{task}/logs/{attempt}"
        content = self._call("GET", path)["content"]
        return "\n".join(_log_line(line) for line in content)

    def unfinished(self, dag: str) -> list[Json]:
        """The runs that are queued or running, oldest first."""
        params = {"state": ["queued", "running"], "order_by": "id"}
        runs: list[Json] = self._call("GET", f"/dags/{dag}/dagRuns", params=params)["dag_runs"]
        return runs

    def fail(self, dag: str, run: str, note: str) -> None:
        """End a run and its tasks as failed."""
        self._call("PATCH", f"/dags/{dag}/dagRuns/{run}", json={"state": "failed", "note": note})

    def _call(self, method: str, path: str, *, allow: tuple[int, ...] = (), **kwargs: Any) -> Json:
        self._check()
        if not self._logged_in:
            body = {"username": AIRFLOW_USER, "password": AIRFLOW_PASSWORD}
            token = self._http.post("/auth/token", json=body).raise_for_status().json()
            self._http.headers["Authorization"] = f"Bearer {token['access_token']}"
            self._logged_in = True
        answer = self._http.request(method, f"/api/v2{path}", **kwargs)
        if answer.status_code in allow:
            return {}
        answer.raise_for_status()
        found: Json = answer.json()
        return found


def _log_line(line: Json) -> str:
    """A line of a task's log, with the exceptions that Airflow keeps beside its text."""
    errors = [f"{e.get('exc_type')}: {e.get('exc_value')}" for e in line.get("error_detail") or []]
    return "\n".join([str(line.get("event", line)), *errors])
