"""`doctor` counts the SQL texts that could not be read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headwater.log import EventLog
from headwater.plugins.sql import reader
from headwater.plugins.trust import _unread_sql
from headwater.plugins.trust._doctor import Spool, doctor, doctor_answer
from headwater.projection.live import Live
from headwater.sql import text
from packages.headwater.tests.conftest import Call

_TABLE = "postgres://shop:5432|shop.public."


def _task(build: Any, run: str, job: str, sql: str, place: str = _TABLE) -> dict[str, Any]:
    event: dict[str, Any] = build.run(
        "COMPLETE", run, job, f"0{run}:00:00", writes=(place + "b",), kind="AIRFLOW/TASK"
    )
    event["job"]["facets"]["sql"] = {"query": sql}
    return event


@pytest.fixture
def events(build: Any) -> list[dict[str, Any]]:
    return [
        _task(build, "1", "load", "insert into b select 'secret' from"),
        _task(build, "2", "load", "insert into b select id from a where {{ condition }}"),
        _task(build, "3", "load", "insert into b select id from a where {{ condition }}"),
        _task(build, "4", "load", "insert into b select id from a"),
        _task(build, "5", "other", "insert into b select 1", "nowhere|"),
        _task(build, "6", "call", "call refresh()"),
    ]


def test_unread_texts_are_counted_by_job_and_producer(
    events: list[Any], build: Any, tmp_path: Path, call: Call
) -> None:
    database = str(tmp_path / "log.db")
    log = EventLog(database)
    log.append([build.entry(event) for event in events])
    answer = doctor_answer(Live(log), Spool())
    assert answer["unreadSql"] == [
        {
            "job": "job:demo:load", "producer": "airflow", "texts": 2,
            "reason": "it is a template",
            "sql": "insert into b select id from a where {{ condition }}",
        },
        {
            "job": "job:demo:call", "producer": "airflow", "texts": 1,
            "reason": "the effect of CALL is unknown", "sql": "call refresh()",
        },
        {
            "job": "job:demo:other", "producer": "airflow", "texts": 1,
            "reason": "its dialect is unknown: nowhere", "sql": "insert into b select 1",
        },
    ]  # fmt: skip
    printed = call("doctor", "--database", database)
    first = "SQL not read: job:demo:load  2 texts of airflow: it is a template\n  insert into b"
    assert first in printed.stdout
    assert "No problems" not in printed.stdout
    assert json.loads(call("doctor", "--database", database, "--json").stdout)["unreadSql"]
    log.close()


def test_reason_contains_no_part_of_the_text(events: list[Any], build: Any) -> None:
    texts = _unread_sql.newest_texts(build.state(events[0]), lambda *_: "airflow")
    (item,) = _unread_sql.unread_sql(texts)
    assert "secret" not in item["reason"]


@pytest.mark.parametrize(
    ("replaced", "reason"),
    [
        ("find_spec", "is not installed"),
        ("distribution", "does not work with the compiled parser of sqlglot"),
    ],
)
def test_missing_or_compiled_reader_of_sql_is_a_problem(
    events: list[Any], build: Any, monkeypatch: pytest.MonkeyPatch, replaced: str, reason: str
) -> None:
    state = build.state(*events)
    assert "unread SQL" not in [found["kind"] for found in doctor(state)]
    monkeypatch.setattr(reader, replaced, lambda _: None)
    monkeypatch.setattr(reader, "missing", reader.missing.__wrapped__)
    monkeypatch.setattr(text, "missing_reader", text.missing_reader.__wrapped__)
    (found,) = [found for found in doctor(state) if found["kind"] == "unread SQL"]
    assert found["message"] == f"{reason}, so the SQL texts of 3 jobs are not read"
