"""Logs of earlier versions are migrated and keep all entries."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from headwater.log import EventLog
from headwater.log.schema import VERSION
from headwater.plugins.delivery._store import delivery_statuses
from headwater.plugins.delivery.forwarder import Forwarder
from headwater.plugins.trust.finding_states import FindingStates, stored_states
from headwater.projection import State
from headwater.projection.live import Live
from headwater.projection.snapshots.state import save

_VERSION_1 = """
CREATE TABLE meta (key VARCHAR(64) NOT NULL, value TEXT NOT NULL, PRIMARY KEY (key));
CREATE TABLE events (
    seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, hash VARCHAR(64) NOT NULL,
    kind VARCHAR(32) NOT NULL, event_time BIGINT NOT NULL, received_at BIGINT NOT NULL,
    body TEXT NOT NULL, UNIQUE (hash)
);
CREATE INDEX ix_events_event_time ON events (event_time);
CREATE TABLE offsets (
    path TEXT NOT NULL, inode BIGINT NOT NULL, position BIGINT NOT NULL,
    head VARCHAR(64) NOT NULL, PRIMARY KEY (path)
);
CREATE TABLE refused (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, hash VARCHAR(64) NOT NULL,
    received_at BIGINT NOT NULL, source TEXT NOT NULL, reason TEXT NOT NULL,
    line TEXT NOT NULL, UNIQUE (hash)
);
INSERT INTO meta VALUES ('schema_version', '1');
"""
"""The tables of schema version 1; literal, so that changes of the code do not change them."""


def version_1(path: Path, *entries: Any) -> str:
    """Create a log of schema version 1 with some entries, and return its name."""
    connection = sqlite3.connect(path)
    connection.executescript(_VERSION_1)
    rows = [(entry.hash, "openlineage", entry.event.time, 1, entry.body) for entry in entries]
    insert = "INSERT INTO events (hash, kind, event_time, received_at, body) VALUES (?, ?, ?, ?, ?)"
    connection.executemany(insert, rows)
    connection.commit()
    connection.close()
    return str(path)


class _Nowhere:
    def send(self, _delivery: Any) -> None:
        """Accept every event."""

    def close(self) -> None:
        """Do nothing."""


def test_log_of_version_1_is_migrated(tmp_path: Path, build: Any) -> None:
    entries = [build.entry(build.run("COMPLETE", run, "j", "08:00:00")) for run in "ab"]
    name = version_1(tmp_path / "log.db", *entries)
    for _ in range(2):  # after the migration, it is opened like any other log
        log = EventLog(name, must_exist=True)
        assert [body for _, body in log.read()] == [entry.body for entry in entries]
        with log.reading() as connection:
            result = connection.exec_driver_sql("SELECT value FROM meta").scalar()
        assert result == str(VERSION)
        Forwarder("nowhere", _Nowhere(), Live(log)).drain()
        assert delivery_statuses(log)[0]["seq"] == 2
        assert stored_states(log) == FindingStates()
        save(log, State(), 2)
        assert Live(log).restored == 2
        log.close()
