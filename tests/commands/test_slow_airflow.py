"""Calls of a slow Airflow API, simulated by a local server that first fails, then responds."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

from commands.airflow_api import Airflow
from lakehouse.errors import SetupError

pytestmark = pytest.mark.server

FAULTS = ("silent", "busy", "locked", "dropped", "cut")


class SlowServer(ThreadingHTTPServer):
    """An Airflow server with one DAG that returns a list of faults before valid responses."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.faults: list[str] = []
        self.calls: list[str] = []
        self.runs: list[str] = []
        self.over = threading.Event()


class Handler(BaseHTTPRequestHandler):
    server: SlowServer

    def do_GET(self) -> None:
        if not self._fails():
            is_known = self.path.rpartition("/")[2] in self.server.runs
            self._answer(*((200, {"state": "success"}) if is_known else (404, {})))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/auth/token":
            return self._answer(201, {"access_token": "token"})
        run = body["dag_run_id"]
        is_new = run not in self.server.runs
        if is_new:
            self.server.runs.append(run)
        if self._fails():  # the run was started, but the response is lost
            return None
        return self._answer(*((200, {"dag_run_id": run}) if is_new else (409, {})))

    def _fails(self) -> bool:
        self.server.calls.append(self.path)
        fault = self.server.faults.pop(0) if self.server.faults else ""
        if fault == "silent":
            self.server.over.wait(60)
        elif fault in ("busy", "locked"):
            self._answer(503 if fault == "busy" else 500, {})
        elif fault == "cut":
            self.send_response(200)
            self.send_header("Content-Length", "100")
            self.end_headers()
        return bool(fault)  # "dropped": the connection ends without a response

    def _answer(self, status: int, body: dict[str, str]) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@pytest.fixture
def server() -> Iterator[SlowServer]:
    with SlowServer() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.over.set()
        server.shutdown()
        thread.join()


@pytest.fixture
def reports() -> list[str]:
    return []


@pytest.fixture
def airflow(server: SlowServer, reports: list[str]) -> Airflow:
    url = f"http://127.0.0.1:{server.server_port}"
    airflow = Airflow(url, report=reports.append, timeout=0.5, wait=0.01)
    server.runs.append("known")
    assert airflow.run_state("dag", "known") == "success"  # logs in
    server.calls.clear()
    return airflow


@pytest.mark.parametrize("fault", FAULTS)
def test_slow_call_is_retried_and_reported(
    server: SlowServer, airflow: Airflow, reports: list[str], fault: str
) -> None:
    server.faults = [fault, fault]
    assert airflow.run_state("dag", "known") == "success"
    assert len(server.calls) == 3
    assert len(reports) == 2
    assert all("Waiting for Airflow: " in line for line in reports)
    assert all("retrying GET /dags/dag/dagRuns/known" in line for line in reports)


@pytest.mark.parametrize("fault", FAULTS)
def test_retried_trigger_starts_one_run(server: SlowServer, airflow: Airflow, fault: str) -> None:
    server.faults = [fault, fault]
    run = airflow.trigger("dag", {})
    assert server.runs == ["known", run]
    assert airflow.trigger("dag", {}) != run


def test_rejected_call_is_not_retried(server: SlowServer, airflow: Airflow) -> None:
    with pytest.raises(httpx.HTTPStatusError, match="404"):
        airflow.run_state("dag", "unknown")
    assert len(server.calls) == 1


def test_unresponsive_airflow_raises_the_last_error(server: SlowServer, airflow: Airflow) -> None:
    server.faults = ["busy"] * 1_000
    with (
        pytest.raises(SetupError, match=r"(?s)GET /dags/dag/dagRuns/known in 0 s.*503") as error,
        airflow.within(0.2),
    ):
        airflow.run_state("dag", "known")
    assert str(server.server_port) in str(error.value)
    server.faults = ["busy"]
    assert airflow.run_state("dag", "known") == "success"  # the limit applies only inside its block


def test_exit_of_airflow_ends_the_wait(server: SlowServer) -> None:
    def check() -> None:
        if server.calls:
            raise SetupError("Airflow ended unexpectedly.")

    server.faults = ["busy"] * 1_000
    airflow = Airflow(f"http://127.0.0.1:{server.server_port}", check, wait=0.01)
    with pytest.raises(SetupError, match="ended unexpectedly"):
        airflow.run_state("dag", "known")
    assert len(server.calls) == 1
