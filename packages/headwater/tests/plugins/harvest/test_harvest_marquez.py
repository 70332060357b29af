"""`harvest marquez` imports the table `lineage_events` of a real PostgreSQL."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import psycopg
import pytest
from sqlalchemy import make_url

from packages.headwater.tests.conftest import Answer, Call

pytestmark = pytest.mark.postgresql

_TABLE = """
CREATE TABLE lineage_events (
  event_time timestamptz, event jsonb, event_type text, job_name text, job_namespace text,
  producer text, run_uuid uuid, created_at timestamp, _event_type varchar(64))"""
"""The columns of Marquez 0.50 (its migrations V17.2, V33, V36, V54 and V66.2)."""


@pytest.fixture(params=["postgresql"])
def database_kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def marquez(database: str) -> Iterator[psycopg.Connection[Any]]:
    """Yield a connection to a database with the table of Marquez."""
    url = make_url(database).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(_TABLE)
        yield connection


@pytest.fixture
def harvest(database: str, tmp_path: Any, monkeypatch: Any, call: Call) -> Callable[..., Answer]:
    """Return a function that imports the events into a log."""
    monkeypatch.setenv("HEADWATER_HARVESTS", str(tmp_path / "harvests"))
    url = make_url(database).set(drivername="postgresql").render_as_string(hide_password=False)
    log = str(tmp_path / "log.db")
    return lambda *options: call("harvest", "marquez", url, "--database", log, "--yes", *options)


def _store(marquez: Any, event: Any, created: str | None) -> None:
    sent = "INSERT INTO lineage_events (event_time, event, created_at) VALUES (%s, %s, %s)"
    marquez.execute(sent, (event["eventTime"], json.dumps(event), created))


def test_every_event_is_imported_once_in_order(
    marquez: Any, harvest: Callable[..., Answer], build: Any, call: Call, tmp_path: Any
) -> None:
    load = build.run("COMPLETE", "1", "load", "08:00:00", reads=("s3://l|in",), writes=("db|t",))
    report = build.run("COMPLETE", "2", "report", "09:00:00", reads=("db|t",), writes=("db|r",))
    _store(marquez, load, None)  # before Marquez stored the time
    _store(marquez, report, "2025-11-21T09:00:01")
    owned = {key: load[key] for key in ("eventTime", "producer", "schemaURL") if key in load}
    _store(marquez, {**owned, "dataset": build.dataset("db|t")}, "2025-11-21T09:00:02")
    _store(marquez, {"eventTime": "2025-11-21T09:00:00Z", "job": {}}, "2025-11-21T09:00:03")
    first = harvest()
    assert first.returncode == 0, first.stderr
    assert "stored 3, duplicates 0" in first.stdout
    assert "rejected" in first.stdout + first.stderr
    tree = call("tree", "dataset:db:r", "--database", str(tmp_path / "log.db"), "--up").stdout
    assert "load" in tree
    assert "in" in tree
    late = build.run("COMPLETE", "3", "late", "07:00:00", writes=("db|late",))
    _store(marquez, late, "2025-11-21T10:00:00")
    assert "stored 1, duplicates 0" in harvest().stdout
    assert "stored 0, duplicates 0" in harvest().stdout
    assert "duplicates 4" in harvest("--from-start").stdout


def test_since_skips_older_events(marquez: Any, harvest: Callable[..., Answer], build: Any) -> None:
    for number, hour in enumerate(("08", "10")):
        event = build.run("COMPLETE", str(number), f"j{number}", f"{hour}:00:00", writes=("db|t",))
        _store(marquez, event, None)
    since = datetime.fromisoformat("2025-11-21T09:00:00+00:00").isoformat()
    assert "stored 1, duplicates 0" in harvest("--since", since).stdout


def test_other_database_and_unknown_server_are_named(
    database: str, harvest: Callable[..., Answer], call: Call
) -> None:
    assert "has no table lineage_events" in harvest().stderr
    where = ("--database", "log.db", "--dry-run")
    gone = call("harvest", "marquez", "postgresql://u:secret@127.0.0.1:1/m", *where)
    assert gone.returncode == 3
    assert "marquez:127.0.0.1/1/m" in gone.stderr
    assert "secret" not in gone.stderr
    wrong = call("harvest", "marquez", "postgresql://[", *where)
    assert wrong.returncode == 2
    assert "expected a URL such as postgresql://marquez@" in wrong.stderr
