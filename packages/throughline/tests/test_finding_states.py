"""Muted and acknowledged findings: how long, of which finding, on each database."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from throughline.log import EventLog
from throughline.projection.live import Batch, Live
from throughline.server.app import make_app

_JOB = "job:demo:load"
_ACKNOWLEDGED = {"subject": _JOB, "state": "acknowledged"}


@pytest.fixture
def live(log: EventLog, build: Any) -> Live:
    """Return a log with a failed job; its clock shows the test's day, but states are set today."""
    live = Live(log)
    live.ingest(Batch([build.entry(build.run("FAIL", "1", "load", "08:00:00"))]))
    return live


@pytest.fixture
def client(live: Live) -> TestClient:
    return TestClient(make_app(live))


def _health(client: TestClient) -> tuple[bool, list[str]]:
    """Return whether health is good, and the states of the findings."""
    findings = client.get("/api/v2/findings").json()["items"]
    is_healthy = client.get("/api/v2/health").json()["isHealthy"]
    return is_healthy, [found["state"] for found in findings]


def _fail_again(live: Live, build: Any) -> None:
    live.ingest(Batch([build.entry(build.run("FAIL", "2", "load", "09:00:00"))]))


@pytest.mark.each_database
def test_acknowledged_finding_opens_again_when_it_changes(
    live: Live, client: TestClient, build: Any
) -> None:
    assert _health(client) == (False, ["open"])
    answer = client.post("/api/v2/findings", json={**_ACKNOWLEDGED, "note": "known"})
    assert (answer.status_code, answer.json()["note"]) == (201, "known")
    assert _health(client) == (True, ["acknowledged"])
    _fail_again(live, build)
    assert _health(client) == (False, ["open"])


@pytest.mark.each_database
def test_muted_finding_stays_muted_when_it_changes(
    live: Live, client: TestClient, build: Any
) -> None:
    client.post("/api/v2/findings", json=_ACKNOWLEDGED)
    client.post("/api/v2/findings", json={"subject": "load", "kind": "failed", "state": "muted"})
    _fail_again(live, build)
    assert _health(client) == (True, ["muted"])
    client.post("/api/v2/findings", json={"subject": _JOB, "state": "open"})
    assert _health(client) == (False, ["open"])


def test_muted_finding_opens_again_at_its_end(log: EventLog, build: Any) -> None:
    live = Live(log, clock=lambda: now)
    live.ingest(Batch([build.entry(build.run("FAIL", "1", "load", "08:00:00"))]))
    client = TestClient(make_app(live))
    now = 3_999_999_000.0  # 2096-10-02T06:50:00Z
    until = "2096-10-02T07:00:00Z"
    client.post("/api/v2/findings", json={"subject": _JOB, "state": "muted", "until": until})
    (found,) = client.get("/api/v2/findings").json()["items"]
    assert (found["state"], found["mutedUntil"]) == ("muted", until)
    now += 600
    assert _health(client) == (False, ["open"])


def test_finding_state_survives_a_restart(live: Live, client: TestClient) -> None:
    client.post("/api/v2/findings", json=_ACKNOWLEDGED)
    assert _health(TestClient(make_app(Live(live.log)))) == (True, ["acknowledged"])


def test_note_is_redacted(client: TestClient) -> None:
    note = "use postgres://ann:hunter2@db/shop"
    answer = client.post("/api/v2/findings", json={**_ACKNOWLEDGED, "note": note})
    assert "hunter2" not in answer.text


@pytest.mark.parametrize(
    ("change", "status", "message"),
    [
        ({"subject": "job:demo:other"}, 404, "there is no finding about 'job:demo:other'"),
        ({"kind": "late"}, 404, "there is no finding of kind 'late' about 'job:demo:load'"),
        ({"state": "closed"}, 400, "expected 'open', 'acknowledged' or 'muted'"),
        ({"until": "2100-01-01T00:00:00Z"}, 400, "until: only a muted finding has an end"),
        ({"state": "muted", "until": "2001-01-01T00:00:00Z"}, 400, "expected a time in the future"),
        ({"state": "muted", "until": "soon"}, 400, "until: received 'soon', expected a time"),
    ],
)
def test_invalid_change_is_rejected_with_the_reason(
    change: dict[str, str], status: int, message: str, client: TestClient
) -> None:
    answer = client.post("/api/v2/findings", json={**_ACKNOWLEDGED, **change})
    assert answer.status_code == status
    assert message in answer.json()["message"]
    assert answer.json().get("nearest", [_JOB]) == [_JOB]
    assert _health(client) == (False, ["open"])


@pytest.mark.parametrize("is_local", [True, False])
def test_cli_mutes_acknowledges_and_reopens(
    is_local: bool, live: Live, call: Any, database: str, serving: Callable[[FastAPI], str]
) -> None:
    where = ("--database", database) if is_local else ("--url", serving(make_app(live)))
    muted = call("mute", "load", "--until", "2100-01-01", "--note", "moved", *where)
    assert muted.stdout.startswith("muted until 2100-01-01")
    assert muted.stdout.endswith("failed  job:demo:load  moved\n")
    health = call("health", *where)
    assert health.returncode == 0
    assert muted.stdout in health.stdout
    assert call("mute", "load", "--undo", *where).stdout == "open: failed  job:demo:load\n"
    assert call("health", *where).returncode == 1
    output = call("acknowledge", _JOB, "--kind", "failed", *where).stdout
    assert output == "acknowledged: failed  job:demo:load\n"
    assert call("health", *where).returncode == 0
    assert call("acknowledge", "other", *where).returncode == 1
