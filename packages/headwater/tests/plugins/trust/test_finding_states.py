"""Muted and acknowledged findings: how long, of which finding, on each database."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from headwater.log import EventLog
from headwater.plugins.alerts.rules import read_rules
from headwater.plugins.alerts.watch import Watch
from headwater.projection.live import Batch, Live
from headwater.server.app import make_app

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
        (
            {"until": "2100-01-01T00:00:00Z"},
            400,
            "until: received an end for 'acknowledged'; only `muted` can have one",
        ),
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


def test_muted_finding_sends_no_alert_until_the_mute_ends(
    live: Live, client: TestClient, build: Any, tmp_path: Path
) -> None:
    rules = tmp_path / "alerts.yaml"
    rules.write_text("rules: [{name: r, kind: failed, actions: [{type: log}]}]")
    watch = Watch(read_rules(rules), live)
    client.post("/api/v2/findings", json={"subject": _JOB, "state": "muted"})
    _fail_again(live, build)
    watch.check()
    client.post("/api/v2/findings", json={"subject": _JOB, "state": "open"})
    live.ingest(Batch([build.entry(build.run("FAIL", "3", "load", "10:00:00"))]))
    watch.check()
    alerts = client.get("/api/v2/alerts").json()["items"][::-1]
    reason = "the finding was muted: no action was performed"
    assert [(alert["runId"], alert["isPending"], alert["error"]) for alert in alerts] == [
        ("1", False, None),  # before the rule
        ("2", False, reason),
        ("3", True, None),
    ]


def test_gate_marks_muted_violations_and_passes_them_only_on_request(
    log: EventLog, build: Any, call: Any, database: str
) -> None:
    live, dag = Live(log), ("d", "dag")
    events = [
        build.run("START", "d", "dag", "08:00:00"),
        build.run("COMPLETE", "s", "dag.stage", "08:10:00", writes=("db|t",), parent=dag),
        build.run("FAIL", "c", "dag.check", "08:20:00", reads=("db|t",), parent=dag),
        build.run("FAIL", "t", "dag.load", "08:30:00", writes=("db|t",), parent=dag),
        build.run("FAIL", "d", "dag", "08:40:00"),
    ]
    live.ingest(Batch([build.entry(event) for event in events]))
    client = TestClient(make_app(live))

    def gate(policy: str) -> tuple[bool, list[tuple[str, bool]]]:
        answer = client.get("/api/v2/gate", params={"dataset": "t", "policy": policy}).json()
        (result,) = answer["datasets"]
        assert answer["passed"] is result["passed"]
        return answer["passed"], [(v["subject"], v["isMuted"]) for v in result["violations"]]

    assert gate("{}") == (False, [("job:demo:dag.load", False)])
    assert gate('{"allow_muted": true}') == (False, [("job:demo:dag.load", False)])
    client.post("/api/v2/findings", json={"subject": "dag", "kind": "failed", "state": "muted"})
    assert gate("{}") == (False, [("job:demo:dag.load", True)])
    assert gate('{"allow_muted": true}') == (True, [("job:demo:dag.load", True)])
    output = call("gate", "t", "--database", database).stdout
    assert "job:demo:dag.load" in output
    assert "(muted)" in output
