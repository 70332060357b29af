"""Client for the calls of Airflow's public API that the commands need."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, TypedDict

import httpx
import tenacity

from commands.environment import AIRFLOW_PASSWORD, AIRFLOW_USER
from lakehouse.errors import SetupError

Json = dict[str, Any]

PATIENCE_SECONDS = 300.0
"""Seconds for which one call is retried while Airflow gives no usable response."""
BUSY = {429, 500, 502, 503, 504}
"""Status codes of an overloaded Airflow; SQLite's "database is locked" is a 500."""


class TaskInstance(TypedDict):
    """A task of a DAG run, as Airflow's API returns it."""

    task_id: str
    state: str | None
    start_date: str | None
    end_date: str | None
    try_number: int


class DagRun(TypedDict):
    """A run of a DAG, as Airflow's API returns it."""

    dag_run_id: str
    start_date: str | None


class Airflow:
    """A client of an Airflow server that retries calls while Airflow is slow.

    It logs in at the first call and calls `check` before each one. `report` receives one line
    for each retried call. Retries are safe, because the client chooses the ids of triggered runs.
    """

    def __init__(
        self,
        url: str,
        check: Callable[[], None] = lambda: None,
        report: Callable[[str], None] = lambda line: None,
        *,
        timeout: float = 60,
        wait: float = 1,
    ) -> None:
        self._check = check
        self._report = report
        self._wait = tenacity.wait_exponential(wait, max=10)
        self._deadline = float("inf")
        self._http = httpx.Client(base_url=url, timeout=timeout)
        self._logged_in = False

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Stop retrying calls in this block after `seconds`."""
        self._deadline = time.monotonic() + seconds
        try:
            yield
        finally:
            self._deadline = float("inf")

    def healthy(self, dags: tuple[str, ...]) -> bool:
        """Return True if the scheduler runs and all `dags` are loaded."""
        try:
            health = self._http.get("/api/v2/monitor/health").json()
            if health["scheduler"]["status"] != "healthy":
                return False
            return all(self._try("GET", f"/dags/{dag}", allow=(404,)) for dag in dags)
        except (httpx.HTTPError, ValueError, KeyError):
            return False

    def import_errors(self) -> list[str]:
        """Return the import errors of DAG files."""
        errors = self._call("GET", "/importErrors")["import_errors"]
        return [f"{error['filename']}: {error['stack_trace']}" for error in errors]

    def unpause(self, dag: str) -> None:
        """Unpause the DAG."""
        self._call("PATCH", f"/dags/{dag}", json={"is_paused": False})

    def trigger(self, dag: str, conf: Mapping[str, object]) -> str:
        """Start a run now and return its new id. A retried call starts no second run."""
        run = f"manual__{datetime.now(UTC):%Y-%m-%dT%H:%M:%S}_{uuid.uuid4().hex[:8]}"
        body = {"dag_run_id": run, "logical_date": None, "conf": conf}
        if not self._call("POST", f"/dags/{dag}/dagRuns", allow=(409,), json=body):
            self.run_state(dag, run)  # fails unless a lost call started the run
        return run

    def run_state(self, dag: str, run: str) -> str:
        """Return the state of a run: queued, running, success or failed."""
        return str(self._call("GET", f"/dags/{dag}/dagRuns/{run}")["state"])

    def tasks(self, dag: str, run: str) -> list[TaskInstance]:
        """Return the task instances of a run by start time; those not started come last."""
        answer = self._call("GET", f"/dags/{dag}/dagRuns/{run}/taskInstances")
        tasks: list[TaskInstance] = answer["task_instances"]
        return sorted(tasks, key=lambda task: task["start_date"] or "~")

    def triggered_by(self, dag: str, source_run: str) -> str | None:
        """Return the run of `dag` that an asset event of `source_run` triggered, or None."""
        runs = self._call("GET", f"/dags/{dag}/dagRuns", params={"order_by": "-id", "limit": 10})
        for run in runs["dag_runs"]:
            path = f"/dags/{dag}/dagRuns/{run['dag_run_id']}/upstreamAssetEvents"
            events = self._call("GET", path)["asset_events"]
            if any(event["source_run_id"] == source_run for event in events):
                return str(run["dag_run_id"])
        return None

    def xcom(self, dag: str, run: str, task: str, key: str) -> Any:
        """Return an XCom value of a task, or None."""
        path = f"/dags/{dag}/dagRuns/{run}/taskInstances/{task}/xcomEntries/{key}"
        entry = self._call("GET", path, allow=(404,), params={"deserialize": True})
        return entry.get("value")

    def log(self, dag: str, run: str, task: str, attempt: int) -> str:
        """Return a task's log as text."""
        path = f"/dags/{dag}/dagRuns/{run}/taskInstances/{task}/logs/{attempt}"
        content = self._call("GET", path)["content"]
        return "\n".join(_log_line(line) for line in content)

    def unfinished(self, dag: str) -> list[DagRun]:
        """Return the queued and running runs, oldest first."""
        params = {"state": ["queued", "running"], "order_by": "id"}
        runs: list[DagRun] = self._call("GET", f"/dags/{dag}/dagRuns", params=params)["dag_runs"]
        return runs

    def fail(self, dag: str, run: str, note: str) -> None:
        """End a run and its tasks as failed."""
        self._call("PATCH", f"/dags/{dag}/dagRuns/{run}", json={"state": "failed", "note": note})

    def _call(self, method: str, path: str, **kwargs: Any) -> Json:
        """Make a call, and retry it while Airflow is slow.

        Raises:
            SetupError: there was no usable response in time.
            httpx.HTTPStatusError: Airflow rejected the call.
        """
        seconds = min(PATIENCE_SECONDS, max(self._deadline - time.monotonic(), 0))

        def report(state: tenacity.RetryCallState) -> None:
            self._report(f"Waiting for Airflow: {_problem(state)}; retrying {method} {path}.")

        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception(_is_busy),
            wait=self._wait,
            stop=tenacity.stop_after_delay(seconds),
            before_sleep=report,
        )
        try:
            answer: Json = retrying(self._try, method, path, **kwargs)
        except tenacity.RetryError as error:
            last = error.last_attempt
            raise SetupError(
                f"Airflow at {self._http.base_url} gave no usable response to {method} {path} in "
                f"{seconds:.0f} s; the last one was {last.exception()!r}. Check logs/airflow.log "
                "in the state folder. If the machine is overloaded, start it again later."
            ) from last.exception()
        return answer

    def _try(self, method: str, path: str, *, allow: tuple[int, ...] = (), **kwargs: Any) -> Json:
        """Make a call once; return {} for a status code in `allow`."""
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
        content: Json = answer.json()
        return content


def _is_busy(error: BaseException) -> bool:
    """Return True if the same call may succeed later."""
    if isinstance(error, httpx.HTTPStatusError):
        return error.response.status_code in BUSY
    return isinstance(error, httpx.TransportError)


def _problem(state: tenacity.RetryCallState) -> str:
    error = state.outcome.exception() if state.outcome else None
    if isinstance(error, httpx.HTTPStatusError):
        return f"status {error.response.status_code}"
    return f"{type(error).__name__} after {state.seconds_since_start or 0:.0f} s"


def _log_line(line: Json) -> str:
    """Return a line of a task's log with its exceptions, which Airflow stores separately."""
    errors = [f"{e.get('exc_type')}: {e.get('exc_value')}" for e in line.get("error_detail") or []]
    return "\n".join([str(line.get("event", line)), *errors])
