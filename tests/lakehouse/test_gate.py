"""The gate before training, with a real lineage server."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from commands.environment import script
from lakehouse.gate import GateRejected, check_gate
from lakehouse.names import Table
from lakehouse.settings import Settings, load_settings
from metaflow_flows.train_forecast_model import tables

pytestmark = pytest.mark.server

RAW = tables.raw("yellow")


@pytest.fixture(scope="module")
def lineage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """Return the settings of a lineage server; each test queries its own tables."""
    folder = tmp_path_factory.mktemp("gate")
    with _served(load_settings(state_dir=folder / "state"), folder) as served:
        yield served


@contextmanager
def _served(settings: Settings, folder: Path, key: str = "") -> Iterator[Settings]:
    command = [script("headwater"), "serve", "--port", "0"]
    command += ["--database", str(folder / "log.db"), "--spool", str(settings.spool_dir)]
    command += ["--api-key", key] if key else []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout
            url = server.stdout.readline().split()[3].rstrip(",")
            yield settings.model_copy(update={"headwater_port": int(url.rsplit(":", 1)[1])})
        finally:
            server.terminate()


def loaded(
    settings: Settings, table: Table, *, state: str = "COMPLETE", passed: bool = True
) -> None:
    """Report a load of a table from a file, and its check."""
    check = {"assertion": "not_null", "column": "pulocationid", "success": passed}
    own = _named(settings, table)
    checked = own | {"inputFacets": {"dataQualityAssertions": {"assertions": [check]}}}
    trips = {"namespace": "file", "name": f"/{table.name}"}
    for event in (
        _event(f"{table.name}.load", "1", state, [trips], [own]),
        _event(f"{table.name}.check", "2", "COMPLETE", [checked], []),
    ):
        url = f"{settings.headwater_url}/api/v1/lineage"
        httpx.post(url, json=event, timeout=60).raise_for_status()


def _named(settings: Settings, table: Table) -> dict[str, Any]:
    name = table.dataset(settings)
    return {"namespace": name.namespace, "name": name.name}


def _event(job: str, run: str, state: str, reads: Any, writes: Any) -> dict[str, Any]:
    return {
        "eventType": state,
        "eventTime": f"2025-11-21T08:00:0{run}Z",
        "producer": "https://example.org/tests",
        "run": {"runId": f"01939d5c-0000-7000-8000-00000000000{run}"},
        "job": {"namespace": "nyc_taxi", "name": job},
        "inputs": reads,
        "outputs": writes,
    }


def test_tables_with_complete_lineage_pass(lineage: Settings) -> None:
    loaded(lineage, RAW)
    assert check_gate(lineage, [RAW], ungated=False, strict=True) == "passed"


@pytest.mark.parametrize(
    ("table", "events", "rule"),
    [
        ("unchecked", {"passed": False}, "quality_passed: .*failed its checks.*not_null"),
        ("unloaded", {"state": "FAIL"}, "no_failed_runs: .*unloaded.load failed"),
    ],
)
def test_violations_are_rejected_unless_ungated(
    table: str, events: dict[str, Any], rule: str, lineage: Settings
) -> None:
    loaded(lineage, Table(table), **events)
    with pytest.raises(GateRejected, match=rf"{table} .*\n  {rule}"):
        check_gate(lineage, [Table(table)], ungated=False, strict=False)
    recorded = check_gate(lineage, [Table(table)], ungated=True, strict=False)
    assert recorded.startswith("ungated: ")
    assert rule.split(":")[0] in recorded


def test_unknown_table_is_rejected(lineage: Settings) -> None:
    with pytest.raises(GateRejected, match="no node has the id"):
        check_gate(lineage, [Table("unknown")], ungated=False, strict=False)


def test_gate_considers_spooled_events(lineage: Settings) -> None:
    spooled = Table("spooled")
    event = _event("spooled.load", "1", "FAIL", [], [_named(lineage, spooled)])
    (lineage.spool_dir / "events.jsonl").write_text(json.dumps(event) + "\n")
    with pytest.raises(GateRejected, match="spooled.load failed"):
        check_gate(lineage, [spooled], ungated=False, strict=True)


def test_gate_sends_the_servers_key(settings: Settings, tmp_path: Path) -> None:
    with _served(settings, tmp_path, key="secret") as there:
        key = {"headwater_api_key": SecretStr("secret")}
        elsewhere = {"headwater_server_url": there.headwater_url, "headwater_port": 1}
        refused = check_gate(there, [RAW], ungated=False, strict=False)
        assert "401" in refused
        with_key = there.model_copy(update=key | elsewhere)
        with pytest.raises(GateRejected, match="no node has the id"):
            check_gate(with_key, [RAW], ungated=False, strict=True)


def test_unreachable_gate_is_recorded_unless_strict(
    settings: Settings,
) -> None:
    with socket.socket() as unused:  # bound, but nobody listens
        unused.bind(("127.0.0.1", 0))
        nobody = settings.model_copy(update={"headwater_port": unused.getsockname()[1]})
        recorded = check_gate(nobody, [RAW], ungated=False, strict=False)
        assert recorded.startswith(f"ungated: unreachable ({nobody.headwater_url}")
        with pytest.raises(GateRejected, match="--strict: the gate could not be checked"):
            check_gate(nobody, [RAW], ungated=False, strict=True)


def test_backend_without_gate_is_recorded(settings: Settings) -> None:
    elsewhere = settings.model_copy(update={"lineage_backend": "console"})
    recorded = check_gate(elsewhere, [RAW], ungated=False, strict=False)
    assert recorded == "ungated: unreachable (the backend console has no gate)"
