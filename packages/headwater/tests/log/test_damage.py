"""Damaged rows of the log are skipped, reported, and moved aside on request."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from starlette.testclient import TestClient

from headwater.console.client import Client
from headwater.errors import LogError
from headwater.log import EventLog
from headwater.log.schema import VERSION
from headwater.plugins.delivery._store import delivery_statuses
from headwater.plugins.delivery.backend import Delivery
from headwater.plugins.delivery.forwarder import Forwarder
from headwater.plugins.export.commands import events_of
from headwater.projection.live import Batch, Live
from headwater.projection.past import Moment
from headwater.projection.snapshots.state import save
from headwater.server.app import make_app
from packages.headwater.tests.conftest import Call

pytestmark = pytest.mark.each_database

_TORN = '{"eventType": "COMPL'


@pytest.fixture
def damaged(log: EventLog, build: Any) -> EventLog:
    """Return a log of three events, of which the second one is damaged."""
    events = [build.run("COMPLETE", run, "j", "08:00:00") for run in "abc"]
    Live(log).ingest(Batch([build.entry(event) for event in events]))
    _damage(log, _TORN)
    return log


def _damage(log: EventLog, text: str) -> None:
    with log.writing() as connection:
        connection.exec_driver_sql(f"UPDATE events SET body = '{text}' WHERE seq = 2")


def _runs(live: Live, moment: Moment | None = None) -> set[str]:
    with live.reading(moment) as state:
        return set(state.runs_by_id)


@pytest.mark.parametrize("text", [_TORN, "", "7", '{"eventTime": "never"}', "[]"])
def test_damaged_row_is_skipped_and_reported(
    text: str, damaged: EventLog, caplog: pytest.LogCaptureFixture
) -> None:
    _damage(damaged, text)
    live = Live(damaged)
    assert _runs(live) == {"a", "c"}
    assert _runs(live, Moment(as_of=2**52)) == {"a", "c"}
    assert set(live.unreadable) == {2}
    assert [message.partition(": ")[0] for message in caplog.messages] == [
        "row 2 of the log cannot be read"
    ]


def test_damaged_row_is_still_reported_after_a_snapshot(damaged: EventLog) -> None:
    live = Live(damaged)
    with live.reading() as state:
        save(damaged, state, live.newest)
    again = Live(damaged)
    assert (again.restored, set(again.unreadable)) == (3, {2})


def test_server_responds_despite_a_damaged_row(damaged: EventLog) -> None:
    with TestClient(make_app(Live(damaged)), raise_server_exceptions=False) as client:
        health = client.get("/healthz").json()
        assert (health["status"], health["damagedRows"]) == ("degraded", 1)
        events = client.get("/api/v1/events/lineage?sortDirection=asc").json()["events"]
        assert [event["run"]["runId"] for event in events] == ["a", "c"]
        assert len(client.get("/api/v2/events?run=a").json()["items"]) == 1
        odd = client.get("/api/v2/events/warnings").json()["items"]
        assert [event["run"]["runId"] for event in odd] == ["c", "a"]
        (finding,) = client.get("/api/v2/doctor").json()["findings"]
    assert (finding["kind"], finding["subject"]) == ("damaged row", "row 2 of the log")
    assert "repair --database" in finding["remedy"]


class _Sink:
    def __init__(self) -> None:
        self.seqs: list[int] = []

    def send(self, delivery: Delivery) -> None:
        """Accept every event."""
        self.seqs.append(delivery.seq)

    def close(self) -> None:
        """Do nothing."""


def test_damaged_row_is_a_dead_letter_and_is_not_sent(damaged: EventLog) -> None:
    sink = _Sink()
    assert Forwarder("sink", sink, Live(damaged)).drain() == 2
    (standing,) = delivery_statuses(damaged)
    assert (sink.seqs, standing["lag"]) == ([1, 3], 0)
    assert [letter["seq"] for letter in standing["newestDeadLetters"]] == [2]


def test_commands_work_on_a_damaged_log_before_and_after_repair(
    damaged: EventLog, database: str, call: Call
) -> None:
    there = ("--database", database)
    assert call("runs", *there).returncode == 0
    exported = call("export", "--format", "openlineage", *there)
    assert [json.loads(line)["run"]["runId"] for line in exported.stdout.splitlines()] == ["a", "c"]
    assert "row 2 of the log is skipped" in exported.stderr
    assert call("doctor", *there).returncode == 1
    listed = call("repair", *there)
    assert listed.returncode == 1
    assert listed.stdout.startswith('row 2: $: received \'{"eventType": "COMPL\', expected JSON')
    assert "1 row damaged; nothing was changed: add --yes" in listed.stdout
    assert len(list(damaged.read())) == 3
    assert json.loads(call("repair", "--json", *there).stdout)["rows"][0]["seq"] == 2
    repaired = call("repair", "--yes", *there)
    assert (repaired.returncode, repaired.stdout.splitlines()[-1]) == (
        0,
        "1 row moved to the rejected lines",
    )
    assert [(line.source, line.line) for line in damaged.rejected_lines()] == [("log@2", _TORN)]
    assert [seq for seq, _ in damaged.read()] == [1, 3]
    assert call("repair", *there).stdout == "No row is damaged.\n"
    assert Live(damaged).unreadable == {}


def test_export_from_server_skips_damaged_row(damaged: EventLog, serving: Any) -> None:
    client = Client(url=serving(make_app(Live(damaged))))
    exported = events_of(client, page_size=2)
    assert [event["run"]["runId"] for event in exported] == ["a", "c"]


@pytest.mark.parametrize("value", ["four", "", "-1", "²"])
def test_invalid_schema_version_is_a_clear_error(value: str, log: EventLog, database: str) -> None:
    with log.writing() as connection:
        connection.exec_driver_sql(f"UPDATE meta SET value = '{value}'")
    expected = rf"schema version '{value}', expected a number from 1 to {VERSION}.*UPDATE meta"
    with pytest.raises(LogError, match=expected):
        EventLog(database)


def test_invalid_utf_8_in_a_row_does_not_break_its_page(tmp_path: Path, build: Any) -> None:
    log = EventLog(str(tmp_path / "log.db"))
    entries = [build.entry(build.run("COMPLETE", run, "j", "08:00:00")) for run in "ab"]
    log.append(entries)
    with closing(sqlite3.connect(tmp_path / "log.db")) as other:
        other.execute("UPDATE events SET body = CAST(x'ff7b' AS TEXT) WHERE seq = 1")
        other.commit()
    live = Live(log)
    assert (_runs(live), set(live.unreadable)) == ({"b"}, {1})
    log.close()


def test_stream_skips_damaged_row(damaged: EventLog, serving: Any) -> None:
    app = make_app(Live(damaged))
    with urlopen(f"{serving(app)}/api/v2/events/stream?after=0", timeout=20) as stream:
        ids: list[int] = []
        while len(ids) < 2:
            line = stream.readline()
            ids += [int(line.split()[1])] if line.startswith(b"id:") else []
        assert ids == [1, 3]
    app.state.is_closing = True
    app.state.live.wake()
