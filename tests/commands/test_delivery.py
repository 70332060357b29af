"""The lineage server delivers the spool, even if the backend starts later."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest

from commands.demo_output import restart_commands
from commands.processes import Service, stopping
from commands.services import delivers, lineage_delivered, lineage_ready, start_throughline
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
    services.append(start_throughline(settings))
    services[-1].wait_until(lambda: lineage_ready(settings), 60)
    return services[-1]


def test_backend_started_later_receives_all_events(tmp_path: Path) -> None:
    port = free_ports(2)
    elsewhere = load_settings(state_dir=tmp_path / "there", throughline_port=port + 1)
    url = f"http://127.0.0.1:{port + 1}"
    settings = load_settings(
        state_dir=tmp_path / "here", throughline_port=port, lineage_backend=url
    )
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
