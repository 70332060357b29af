"""Settings of `./run`, and OpenLineage's variables with a real collector."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from commands.cli import app
from commands.processes import Service
from commands.services import deliver_environ
from headwater.plugins.delivery.backends import read_backends
from lakehouse.errors import SettingsError
from lakehouse.settings import REPOSITORY, Settings, load_settings

RUN = str(REPOSITORY / "run")


class Received(NamedTuple):
    """A request received by a collector."""

    path: str
    key: str | None
    event: Any


class Collector(ThreadingHTTPServer):
    """An OpenLineage endpoint that records requests."""

    def __init__(self) -> None:
        self.received: list[Received] = []
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        received = Received(self.path, self.headers["Authorization"], json.loads(body))
        self.server.received.append(received)
        self.send_response(201)
        self.end_headers()

    def log_message(self, *_: Any) -> None: ...


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def _theirs(collector: Collector) -> dict[str, str]:
    return {
        "OPENLINEAGE_URL": f"{collector.url}/base/",
        "OPENLINEAGE_ENDPOINT": "in/lineage",
        "OPENLINEAGE_API_KEY": "theirs",
        "OPENLINEAGE_NAMESPACE": "nightly",
    }


def _run(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [RUN, *arguments], env=os.environ | environ, capture_output=True, text=True, check=False
    )


@pytest.mark.server
def test_run_accepts_any_setting_before_the_command(tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    done = _run(
        *("--set", "airflow_port=9191", f"--set=STATE_DIR={state}", "settings"), AIRFLOW_PORT="1"
    )
    assert "airflow_port = 9191  (argument)" in done.stdout
    assert f"state_dir = {state}  (argument)" in done.stdout
    assert "months_back = 4  (default)" in done.stdout


def test_datahub_backend_from_settings_file_has_its_emitter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(f"lineage_backend: datahub\nstate_dir: {tmp_path}\n")
    monkeypatch.setenv("SETTINGS_FILE", str(file))
    delivered = deliver_environ(load_settings())["HEADWATER_DELIVER"]
    (backend,) = read_backends(Path(delivered)).values()  # fails without acryl-datahub
    backend.close()


def test_option_overrides_set(capsys: pytest.CaptureFixture[str]) -> None:
    wrong = r"LINEAGE_BACKEND \(argument\): 'marqez' is not a lineage backend"
    with pytest.raises(SettingsError, match=wrong):
        app(("--set", "lineage_backend=file", "demo", "--backend", "marqez"), standalone_mode=False)


def test_unknown_backend_is_reported_with_its_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("lineage_backend: marqez\n")
    monkeypatch.setenv("SETTINGS_FILE", str(file))
    with pytest.raises(SettingsError, match=rf"LINEAGE_BACKEND \({file}\): 'marqez' is not"):
        app(("sql", "SELECT 1"), standalone_mode=False)
    monkeypatch.setenv("LINEAGE_BACKEND", "databub")
    variable = r"LINEAGE_BACKEND \(environment variable LINEAGE_BACKEND\): 'databub' is not"
    with pytest.raises(SettingsError, match=variable):
        app(("sql", "SELECT 1"), standalone_mode=False)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("airflow_prot=1", "no setting airflow_prot, did you mean airflow_port"),
        ("FOO=1", "argument: there is no setting FOO. `./run settings` lists"),
        ("DATAHUB_TOKN=1", "no setting DATAHUB_TOKN, did you mean datahub_token or datahub_url"),
        ("airflow_port", "--set received 'airflow_port'; expected NAME=VALUE"),
        ("airflow_port=x", "AIRFLOW_PORT.*received 'x'"),
    ],
)
def test_invalid_setting_is_named(given: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        app(("--set", given, "status"), standalone_mode=False)


@pytest.mark.server
def test_lineage_server_delivers_to_openlineage_url(collector: Collector, tmp_path: Path) -> None:
    _event(tmp_path / "spool" / "a.jsonl")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    own = {"STATE_DIR": str(tmp_path), "HEADWATER_PORT": port}
    environ = os.environ | _theirs(collector) | own
    command = [sys.executable, "-m", "commands", "lineage", "serve"]
    service = Service("server", [command], environ, tmp_path / "server.log")
    try:
        service.wait_until(lambda: len(collector.received) > 0, 60)
    finally:
        service.stop()
    (received,) = collector.received
    assert (received.path, received.key) == ("/base/in/lineage", "Bearer theirs")


@pytest.mark.metaflow
@pytest.mark.parametrize("disabled", ["false", "true"])
def test_training_flow_sends_to_openlineage_url_unless_disabled(
    disabled: str, collector: Collector, make_settings: Callable[..., Settings]
) -> None:
    settings = make_settings(f"training-{disabled}")
    environ = _theirs(collector) | {"STATE_DIR": str(settings.state_dir), "HEADWATER_PORT": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "commands", "training-flow", "run"],
        env=os.environ | environ | {"OPENLINEAGE_DISABLED": disabled},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "yellow_taxi_raw" in done.stdout + done.stderr  # there is nothing to train on
    flow = [r for r in collector.received if r.event["job"]["name"] == "TrainForecastModelFlow"]
    if disabled == "true":
        assert not collector.received
        assert not list(settings.spool_dir.glob("*.jsonl"))
        return
    assert [received.event["eventType"] for received in flow] == ["START", "FAIL"]
    assert {received.event["job"]["namespace"] for received in flow} == {"nightly"}
    assert {(r.path, r.key) for r in flow} == {("/base/in/lineage", "Bearer theirs")}
    assert list(settings.spool_dir.glob("*.jsonl"))


def _event(file: Path) -> None:
    """Write an event like a producer."""
    file.parent.mkdir(parents=True)
    body = {
        "eventType": "COMPLETE",
        "eventTime": "2025-04-01T00:00:00Z",
        "run": {"runId": "01890a5d-ac96-774b-bcce-b302099a8057"},
        "job": {"namespace": "n", "name": "j"},
        "producer": "https://example.org",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json",
    }
    file.write_text(json.dumps(body) + "\n")
