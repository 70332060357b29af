"""The gate before training, asked of a real lineage server."""

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
from lakehouse.names import Table
from lakehouse.settings import Settings, load_settings
from metaflow_flows.train_forecast_model import tables
from metaflow_flows.train_forecast_model.gate import NotVouched, ask_gate

pytestmark = pytest.mark.server

RAW = tables.raw("yellow")


@pytest.fixture(scope="module")
def lineage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """Settings of a lineage server, of which every test asks for tables of its own."""
    folder = tmp_path_factory.mktemp("gate")
    with _served(load_settings(state_dir=folder / "state"), folder) as served:
        yield served


@contextmanager
def _served(settings: Settings, folder: Path, key: str = "") -> Iterator[Settings]:
    command = [script("throughline"), "serve", "--port", "0"]
    command += ["--database", str(folder / "log.db"), "--spool", str(settings.spool_dir)]
    command += ["--api-key", key] if key else []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout
            url = server.stdout.readline().split()[3].rstrip(",")
            yield settings.model_copy(update={"throughline_port": int(url.rsplit(":", 1)[1])})
        finally:
            server.terminate()


def loaded(
    settings: Settings, table: Table, *, state: str = "COMPLETE", passed: bool = True
) -> None:
    """Tell of a load of a table from a file, and of its check."""
    check = {"assertion": "not_null", "column": "pulocationid", "success": passed}
    own = _named(settings, table)
    checked = own | {"inputFacets": {"dataQualityAssertions": {"assertions": [check]}}}
    trips = {"namespace": "file", "name": f"/{table.name}"}
    for event in (
        _event(f"{table.name}.load", "1", state, [trips], [own]),
        _event(f"{table.name}.check", "2", "COMPLETE", [checked], []),
    ):
        url = f"{settings.throughline_url}/api/v1/lineage"
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


def test_tables_whose_lineage_is_whole_and_right_pass(lineage: Settings) -> None:
    loaded(lineage, RAW)
    assert ask_gate(lineage, [RAW], ungated=False, strict=True) == "passed"


@pytest.mark.parametrize(
    ("table", "told", "rule"),
    [
        ("unchecked", {"passed": False}, "quality_passed: .*failed its checks.*not_null"),
        ("unloaded", {"state": "FAIL"}, "no_failed_runs: .*unloaded.load failed"),
    ],
)
def test_others_are_refused_by_rule_and_place_unless_ungated_which_is_recorded(
    table: str, told: dict[str, Any], rule: str, lineage: Settings
) -> None:
    loaded(lineage, Table(table), **told)
    with pytest.raises(NotVouched, match=rf"{table} .*\n  {rule}"):
        ask_gate(lineage, [Table(table)], ungated=False, strict=False)
    recorded = ask_gate(lineage, [Table(table)], ungated=True, strict=False)
    assert recorded.startswith("ungated: ")
    assert rule.split(":")[0] in recorded


def test_a_table_that_lineage_does_not_know_is_refused(lineage: Settings) -> None:
    with pytest.raises(NotVouched, match="no node has the id"):
        ask_gate(lineage, [Table("unknown")], ungated=False, strict=False)


def test_what_is_spooled_before_counts(lineage: Settings) -> None:
    spooled = Table("spooled")
    event = _event("spooled.load", "1", "FAIL", [], [_named(lineage, spooled)])
    (lineage.spool_dir / "events.jsonl").write_text(json.dumps(event) + "\n")
    with pytest.raises(NotVouched, match="spooled.load failed"):
        ask_gate(lineage, [spooled], ungated=False, strict=True)


def test_a_server_that_asks_for_a_key_is_asked_with_it_wherever_it_is(
    settings: Settings, tmp_path: Path
) -> None:
    with _served(settings, tmp_path, key="secret") as there:
        key = {"throughline_api_key": SecretStr("secret")}
        elsewhere = {"throughline_server_url": there.throughline_url, "throughline_port": 1}
        refused = ask_gate(there, [RAW], ungated=False, strict=False)
        assert "401" in refused
        asked = there.model_copy(update=key | elsewhere)
        with pytest.raises(NotVouched, match="no node has the id"):
            ask_gate(asked, [RAW], ungated=False, strict=True)


def test_where_nobody_answers_training_goes_on_and_says_so_unless_strict(
    settings: Settings,
) -> None:
    with socket.socket() as taken:  # bound, but nobody listens
        taken.bind(("127.0.0.1", 0))
        nobody = settings.model_copy(update={"throughline_port": taken.getsockname()[1]})
        recorded = ask_gate(nobody, [RAW], ungated=False, strict=False)
        assert recorded.startswith(f"ungated: unreachable ({nobody.throughline_url}")
        with pytest.raises(NotVouched, match="--strict: the gate gave no answer"):
            ask_gate(nobody, [RAW], ungated=False, strict=True)


def test_a_backend_without_a_gate_is_said_to_have_none(settings: Settings) -> None:
    elsewhere = settings.model_copy(update={"lineage_backend": "console"})
    recorded = ask_gate(elsewhere, [RAW], ungated=False, strict=False)
    assert recorded == "ungated: unreachable (no gate at the backend console)"
