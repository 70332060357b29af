"""Text that a database cannot store unescaped: NUL and lone surrogates."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import orjson
import pytest
from starlette.testclient import TestClient

from headwater.collect.spool import SpoolTail
from headwater.errors import UnavailableError
from headwater.log import EventLog, Offset, RejectedLine
from headwater.plugins.alerts.endpoints import alerts_answer
from headwater.plugins.alerts.rules import read_rules
from headwater.plugins.alerts.watch import Watch
from headwater.plugins.delivery._store import delivery_statuses
from headwater.plugins.delivery.backends import Http
from headwater.plugins.delivery.forwarder import Forwarder
from headwater.plugins.delivery.models import HttpSettings
from headwater.projection.live import Batch, Live
from headwater.server.app import make_app
from packages.headwater.tests.support.sinks import Said, Sink, serving

pytestmark = pytest.mark.each_database


def _ingest(live: Live, build: Any, *bodies: Any) -> None:
    live.ingest(Batch([build.entry(body) for body in bodies]))


def test_nul_and_lone_surrogates_are_stored_as_escapes(log: EventLog) -> None:
    log.append([], [Offset("a\udcff\0", 1, 2, "é")], [RejectedLine("s\0", "why\ud800", "ü\0")])
    assert log.rejected_lines() == [RejectedLine("s\\u0000", "why\\ud800", "ü\\u0000")]
    assert set(log.offsets()) == {"a\\udcff\\u0000"}
    log.forget_offset("a\udcff\0")
    assert log.offsets() == {}


def test_nul_in_a_spool_file_blocks_nothing(live: Live, tmp_path: Path, build: Any) -> None:
    line = orjson.dumps(build.run("COMPLETE", "after", "j", "08:00:00")) + b"\n"
    (tmp_path / "a.jsonl").write_bytes(b'{"broken":\0\n' + line)
    (tmp_path / "b.jsonl").write_bytes(line.replace(b"after", b"other"))
    SpoolTail(live, tmp_path).poll()
    with live.reading() as state:
        assert set(state.runs_by_id) == {"after", "other"}
    assert [refusal.line for refusal in live.log.rejected_lines()] == ['{"broken":\\u0000']


@pytest.mark.server
@pytest.mark.parametrize("status", [422, 503])
def test_nul_in_backend_response_is_kept_in_the_reason(status: int, live: Live, build: Any) -> None:
    _ingest(live, build, build.run("COMPLETE", "r", "j", "08:00:00"))
    with serving(Sink(lambda _body, _nth: Said(status, b"no\0room"))) as sink:
        forwarder = Forwarder("sink", Http(HttpSettings(name="x", url=sink.url)), live)
        if status == 503:
            with pytest.raises(UnavailableError):
                forwarder.drain_patiently(tries=1)
        else:
            assert forwarder.drain() == 0
        forwarder.stop()
    (standing,) = delivery_statuses(live.log)
    letters = [letter["reason"] for letter in standing["newestDeadLetters"]]
    assert "no\\u0000room" in (letters or [str(standing["error"])])[0]


def test_alert_for_a_name_with_nul_fires_once(
    live: Live, tmp_path: Path, build: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    path = tmp_path / "alerts.yaml"
    rule = {"name": "r", "kind": "failed", "actions": [{"type": "log"}]}
    path.write_bytes(orjson.dumps({"rules": [rule]}))
    Watch(read_rules(path), live)
    _ingest(live, build, build.run("FAIL", "r\0", "j", "08:00:00"))
    for _ in range(2):  # the second one as after a restart
        Watch(read_rules(path), live)
    assert len(alerts_answer(live.log, 100)["items"]) == 1


def test_requests_with_nul_find_existing_nodes(live: Live, build: Any) -> None:
    _ingest(live, build, build.run("COMPLETE", "r\0", "j", "08:00:00"))
    with TestClient(make_app(live), raise_server_exceptions=False) as client:
        result = client.get("/api/v2/events", params={"run": "r\0"})
        assert [event["run"]["runId"] for event in result.json()["items"]] == ["r\0"]
        assert client.delete("/api/v2/keys/none%00").status_code == 404
