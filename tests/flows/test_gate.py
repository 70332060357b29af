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
from lakehouse.settings import Settings
from metaflow_flows.train_forecast_model import tables
from metaflow_flows.train_forecast_model.gate import NotVouched, ask_gate

RAW = tables.raw("yellow")


@pytest.fixture
def lineage(settings: Settings, tmp_path: Path) -> Iterator[Settings]:
    """Settings of a lineage server that knows nothing yet."""
    with _served(settings, tmp_path) as served:
        yield served


@contextmanager
def _served(settings: Settings, tmp_path: Path, key: str = "") -> Iterator[Settings]:
    command = [script("throughline"), "serve", "--port", "0"]
    command += ["--database", str(tmp_path / "log.db"), "--spool", str(tmp_path / "spool")]
    command += ["--api-key", key] if key else []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout
            url = server.stdout.readline().split()[3].rstrip(",")
            yield settings.model_copy(update={"throughline_port": int(url.rsplit(":", 1)[1])})
        finally:
            server.terminate()


def loaded(settings: Settings, *, state: str = "COMPLETE", passed: bool = True) -> None:
    """Tell of a load of the table from a file, and of its check."""
    name = RAW.dataset(settings)
    check = {"assertion": "not_null", "column": "pulocationid", "success": passed}
    table = {"namespace": name.namespace, "name": name.name}
    checked = table | {"inputFacets": {"dataQualityAssertions": {"assertions": [check]}}}
    _tell(settings, "load", "1", state, [{"namespace": "file", "name": "/trips"}], [table])
    _tell(settings, "check", "2", "COMPLETE", [checked], [])


def _tell(settings: Settings, *told: Any) -> None:
    url = f"{settings.throughline_url}/api/v1/lineage"
    httpx.post(url, json=_event(*told), timeout=60).raise_for_status()


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
    loaded(lineage)
    assert ask_gate(lineage, [RAW], ungated=False, strict=True) == "passed"


@pytest.mark.parametrize(
    ("told", "rule"),
    [
        ({"passed": False}, "quality_passed: .*not_null failed"),
        ({"state": "FAIL"}, "no_failed_runs: load FAILED"),
    ],
)
def test_others_are_refused_by_rule_and_place_unless_ungated_which_is_recorded(
    told: dict[str, Any], rule: str, lineage: Settings
) -> None:
    loaded(lineage, **told)
    with pytest.raises(NotVouched, match=rf"yellow_taxi_raw .*\n  {rule}"):
        ask_gate(lineage, [RAW], ungated=False, strict=False)
    recorded = ask_gate(lineage, [RAW], ungated=True, strict=False)
    assert recorded.startswith("ungated: ")
    assert rule.split(":")[0] in recorded


def test_a_table_that_lineage_does_not_know_is_refused(lineage: Settings) -> None:
    with pytest.raises(NotVouched, match="no node has the id"):
        ask_gate(lineage, [RAW], ungated=False, strict=False)


def test_what_is_spooled_before_counts(lineage: Settings, tmp_path: Path) -> None:
    name = RAW.dataset(lineage)
    event = _event("load", "1", "FAIL", [], [{"namespace": name.namespace, "name": name.name}])
    (tmp_path / "spool" / "events.jsonl").write_text(json.dumps(event) + "\n")
    with pytest.raises(NotVouched, match="load FAILED"):
        ask_gate(lineage, [RAW], ungated=False, strict=True)


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
