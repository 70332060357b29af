"""The lineage server delivers the spool, even if the backend starts later."""

from __future__ import annotations

import io
import json
from pathlib import Path

import httpx
import pytest
from rich.console import Console

from commands.demo_output import restart_commands
from commands.processes import Service, stopping
from commands.progress import Progress
from commands.services import (
    _locks,
    delivers,
    lineage_delivered,
    lineage_ready,
    start_headwater,
    start_services,
)
from lakehouse.errors import SetupError
from lakehouse.settings import Settings, load_settings
from tests.pipeline.conftest import free_ports

pytestmark = pytest.mark.server

EVENT = {
    "eventType": "COMPLETE",
    "eventTime": "2026-01-01T00:00:00Z",
    "producer": "https://example.org/tests",
    "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
    "run": {"runId": "0198a000-0000-7000-8000-000000000001"},
    "job": {"namespace": "nyc_taxi", "name": "told"},
}


def _serve(settings: Settings, services: list[Service]) -> Service:
    services.append(start_headwater(settings))
    services[-1].wait_until(lambda: lineage_ready(settings), 60)
    return services[-1]


def test_page_address_is_printed_before_the_slow_set_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = free_ports(2)
    settings = load_settings(state_dir=tmp_path, headwater_port=port, airflow_port=port + 1)
    services: list[Service] = []
    screen = io.StringIO()

    def prepare(_settings: Settings) -> None:
        assert httpx.get(settings.headwater_url + "/healthz").is_success
        raise SetupError("the slow set-up")

    monkeypatch.setattr("commands.services.prepare", prepare)
    monkeypatch.setattr("commands.services.page_beside", lambda log: None)
    with stopping(services), Progress(Console(file=screen)) as progress:
        with pytest.raises(SetupError, match="the slow set-up"):
            start_services(settings, services, progress)
        assert f"Lineage  http://localhost:{port}\n" in screen.getvalue()
    _locks.pop().close()


def test_backend_started_later_receives_all_events(tmp_path: Path) -> None:
    port = free_ports(2)
    elsewhere = load_settings(state_dir=tmp_path / "there", headwater_port=port + 1)
    url = f"http://127.0.0.1:{port + 1}"
    settings = load_settings(state_dir=tmp_path / "here", headwater_port=port, lineage_backend=url)
    settings.spool_dir.mkdir(parents=True)
    (settings.spool_dir / "one.jsonl").write_text(json.dumps(EVENT) + "\n")
    services: list[Service] = []
    assert f"`LINEAGE_BACKEND={url} ./run lineage serve`" in restart_commands(settings)
    assert "`./run lineage serve`" in restart_commands(elsewhere)
    assert not delivers(settings)
    with stopping(services):
        server = _serve(settings, services)
        assert delivers(settings)
        server.wait_until(lambda: lineage_delivered(settings), 60)  # reports the outage
        _serve(elsewhere, services)
        jobs = f"{url}/api/v1/namespaces/nyc_taxi/jobs/told"
        server.wait_until(lambda: httpx.get(jobs).is_success, 60)
        server.wait_until(lambda: lineage_delivered(settings), 60)
