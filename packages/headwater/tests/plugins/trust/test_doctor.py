from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import astuple
from pathlib import Path
from typing import Any

import pytest

from headwater.events import parse_time, to_micros
from headwater.lineage.orphans import suggested_pairs
from headwater.plugins.aliases._service import alias_entry
from headwater.plugins.trust._doctor import doctor, producers_of
from headwater.projection import State, project
from packages.headwater.tests.conftest import Call
from packages.headwater.tests.support.graphs import scheduled
from packages.headwater.tests.support.servers import Server, until

_NIGHT = to_micros(parse_time("2025-11-22T00:00:00Z"))
_SUBMIT = {"airflow": {"task": {"operator_class": "SparkSubmitOperator"}}}


def _found(state: State, *, now: int = 0) -> dict[str, list[tuple[str, str]]]:
    state.now = state.stale_before = now
    result: dict[str, list[tuple[str, str]]] = {}
    for finding in doctor(state):
        assert finding["remedy"]
        result.setdefault(finding["kind"], []).append((finding["subject"], finding["message"]))
    return result


def test_doctor_finds_no_problems_in_healthy_lineage(build: Any) -> None:
    state = build.state(
        build.run("COMPLETE", "1", "a", "08:00:00", reads=("db|x.t",), writes=("db|x.u",)),
        build.run("COMPLETE", "2", "a", "09:00:00", reads=("db|x.t",), writes=("db|x.u",)),
    )
    assert _found(state, now=_NIGHT) == {}


def test_log_without_events_is_reported(build: Any) -> None:
    assert _found(build.state(), now=_NIGHT).keys() == {"no events"}


def test_runs_in_the_future_are_reported(build: Any) -> None:
    ahead = build.run("COMPLETE", "2", "a", "00:00:00") | {"eventTime": "2025-11-23T00:00:00Z"}
    slightly = build.run("COMPLETE", "3", "a", "00:00:00") | {"eventTime": "2025-11-22T00:05:00Z"}
    state = build.state(build.run("COMPLETE", "1", "a", "08:00:00"), ahead, slightly)
    ((subject, message),) = _found(state, now=_NIGHT)["clock ahead"]
    assert subject == "unnamed, of namespace demo"
    assert message.startswith("reported 1 run in the future, the last at 2025-11-23")


def test_producers_are_listed_with_their_last_event(build: Any) -> None:
    engine = {"facets": {"processing_engine": {"name": "Flink"}}}
    state = build.state(
        build.run("COMPLETE", "1", "a", "08:00:00", kind="SPARK/SQL_JOB"),
        build.run("COMPLETE", "2", "b", "09:00:00", kind="SPARK/SQL_JOB"),
        build.run("COMPLETE", "3", "c", "07:00:00", **engine),
        build.run("COMPLETE", "4", "d", "06:00:00"),
    )
    assert [tuple(item.values()) for item in producers_of(state)] == [
        ("flink", "2025-11-21T07:00:00Z", 1),
        ("spark", "2025-11-21T09:00:00Z", 2),
        ("unnamed, of namespace demo", "2025-11-21T06:00:00Z", 1),
    ]


def test_task_without_spark_child_run_lacks_the_listener(build: Any) -> None:
    task = build.run("COMPLETE", "1", "dag.submit", "08:01:00", facets=_SUBMIT)
    child = build.run("COMPLETE", "2", "app", "08:00:30", parent=("1", "dag.submit"))
    other = build.run("COMPLETE", "3", "dag.py", "08:01:00", facets={"airflow": {"task": {}}})
    ((about, result),) = _found(build.state(task, other))["missing Spark run"]
    assert about == "job:demo:dag.submit"
    assert "SparkSubmitOperator" in result
    assert _found(build.state(task, child)) == {}


def test_parent_without_events_lacks_its_provider(build: Any) -> None:
    child = build.run("COMPLETE", "2", "app", "08:00:30", parent=("1", "dag.submit"))
    ((about, result),) = _found(build.state(child))["silent parent"]
    assert (about, "(app)" in result) == ("job:demo:dag.submit", True)
    spoke = build.run("START", "1", "dag.submit", "08:00:00")
    assert "silent parent" not in _found(build.state(child, spoke))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("db|sales.Trips", "db|sales.trips"),
        ("gs://b|raw/Trips", "gs://b|raw/trips"),
        ("hive://h:9083|b.t", "hive://h|b.t"),
        ("hdfs://nn:8020|/x/t", "webhdfs://nn:9870|/x/t"),
        ("db|spark_catalog.sales.trips", "db|sales.trips"),
        ("hdfs://nn:8020|/warehouse/sales/trips", "hdfs://nn:8020|/sales/trips"),
    ],
)
def test_similar_names_are_reported_unless_aliased(one: str, other: str, build: Any) -> None:
    events = [
        build.run("COMPLETE", "1", "a", "08:00:00", writes=(one,)),
        build.run("COMPLETE", "2", "b", "09:00:00", reads=(other,)),
    ]
    result = _found(build.state(*events))["similar names"]
    assert len(result) == 1
    ids = {f"dataset:{name.replace('|', ':')}" for name in (one, other)}
    assert {result[0][0], result[0][1].removeprefix("may be the same dataset as ")} == ids
    first, second = ids
    separated = alias_entry(build.state(*events), first, second, 1, is_separate=True).event
    assert _found(project([*(build.entry(event).event for event in events), separated])) == {}
    namespace, name = other.split("|")
    events[0]["outputs"] = [build.dataset(one, symlinks=[(namespace, name, "TABLE")])]
    assert _found(build.state(*events)) == {}


@pytest.mark.parametrize(
    ("written", "read", "is_likely"),
    [
        ("pg://a|d.shop.t", "pg://b|d.shop.t", True),
        ("pg://a|d.shop.t", "pg://b|d.shop.other", False),
    ],
)
def test_likely_names_of_one_dataset_are_reported_until_joined_or_separated(
    written: str, read: str, is_likely: bool, build: Any
) -> None:
    events = [
        build.run("COMPLETE", "1", "a", "08:00:00", writes=(written,)),
        build.run("COMPLETE", "2", "b", "09:00:00", reads=(read,)),
    ]
    state = build.state(*events)
    assert list(_found(state)) == (["likely names"] if is_likely else [])
    for is_separate in (False, True) if is_likely else ():
        one, other = (f"dataset:{name.replace('|', ':')}" for name in (written, read))
        stated = alias_entry(state, one, other, 1, is_separate=is_separate)
        entries = [build.entry(event).event for event in events]
        assert _found(project([*entries, stated.event])) == {}


@pytest.mark.parametrize(
    ("other", "points"),
    [("c.eu-west-1:5439", 70), ("c.cd34.eu-west-1.redshift.amazonaws.com:5439", 60)],
)
def test_redshift_endpoint_is_evidence_for_its_identifier_only(
    other: str, points: int, build: Any
) -> None:
    endpoint = "redshift://c.ab12.eu-west-1.redshift.amazonaws.com:5439|d.s.t"
    state = build.state(
        build.run("COMPLETE", "1", "a", "08:00:00", writes=(endpoint,)),
        build.run("COMPLETE", "2", "b", "09:00:00", reads=(f"redshift://{other}|d.s.t",)),
    )
    assert [pair.score for pair in suggested_pairs(state)] == [points]


def _written(build: Any, job: str, place: str, table: str) -> Any:
    event = build.run("COMPLETE", job, job, "08:00:00")
    event["outputs"] = [build.dataset(place, symlinks=[(*table.split("|"), "TABLE")])]
    return event


@pytest.mark.parametrize(
    ("kind", "writes", "before", "joined"),
    [
        ("one name, two locations", ("s3://a|t flink://|d.x", "s3://b|u flink://|d.x"), 2, 1),
        ("one name, two locations", ("s3://a|t file:/w|d.x", "s3://b|u file:/w|d.x"), 2, 1),
        ("one name, two locations", ("file|/w/d/x file:/w|d.x", "s3://b|u file:/w|d.x"), 2, 1),
        ("one name, two locations", ("file|/w/d/x file:/w|d.x", "file|/w/x file:/w|d.x"), 1, 1),
        ("one name, two locations", ("s3://a|t hive://l|d.x", "s3://b|u hive://l|d.x"), 1, 1),
        ("one location, two names", ("s3://a|t hive://l|d.x", "s3://a|t hive://l|d.y"), 1, 1),
    ],
    ids=[
        "local name",
        "folder of a machine",
        "table outside of the folder",
        "table moved in the folder",
        "moved table",
        "renamed table",
    ],
)
def test_commands_for_joined_names_join_and_separate_them(
    kind: str, writes: tuple[str, str], before: int, joined: int, build: Any
) -> None:
    events = [
        build.entry(_written(build, job, *write.split())).event
        for job, write in zip("ab", writes, strict=True)
    ]
    state = project(events)
    (found,) = doctor(state)
    assert (found["kind"], len(state.identity)) == (kind, before)
    command = r"headwater alias (--separate )?'(\S+)' '(\S+)'"
    join, separate = re.findall(command, found["remedy"])
    for (option, one, other), datasets in ((join, joined), (separate, 2)):
        entry = alias_entry(state, one, other, 1, is_separate=bool(option))
        for order in ([*events, entry.event], [entry.event, *events]):
            corrected = project(order)
            assert (len(corrected.identity), _found(corrected)) == (datasets, {})


def test_parts_of_a_table_are_no_second_name(build: Any) -> None:
    writes = [
        _written(build, f"j{n}", "s3://a|t", f"hive://l|d.t{n}") for n in ("", ".refs", ".b1")
    ]
    assert _found(build.state(*writes)) == {}


def test_names_with_only_a_common_suffix_are_distinct(build: Any) -> None:
    names = ("db|a.trips", "db|b.trips", "db|ytrips", "other|a.trips")
    assert _found(build.state(build.run("COMPLETE", "1", "j", "08:00:00", reads=names))) == {}


def test_unused_declaration_is_reported(build: Any) -> None:
    job = {"namespace": "demo", "name": "j"}
    declared = {
        "eventTime": "2025-11-21T07:00:00Z", "job": job,
        "inputs": [build.dataset("db|x.seen"), build.dataset("db|x.unseen")], "outputs": [],
    }  # fmt: skip
    ran = build.run("COMPLETE", "1", "j", "08:00:00", reads=("db|x.seen",))
    assert _found(build.state(declared, ran)) == {
        "unused declaration": [("job:demo:j", "no run read or wrote x.unseen")]
    }


def test_runs_without_an_end_are_lost_only_after_their_silence(build: Any) -> None:
    state = build.state(
        build.run("START", "1", "j", "08:00:00"), build.run("START", "2", "j", "09:00:00")
    )
    assert "lost" not in _found(state)
    ((about, result),) = _found(state, now=_NIGHT)["lost"]
    assert about == "job:demo:j"
    assert result == "has 2 runs without an end event, the newest is 2 of 2025-11-21T09:00:00Z"


def test_overdue_producer_is_reported(build: Any) -> None:
    hourly = [
        build.run("COMPLETE", str(hour), "s", f"0{hour}:00:00", kind="SPARK/SQL_JOB")
        for hour in range(4)
    ]
    other = build.run("COMPLETE", "9", "a", "23:00:00", kind="AIRFLOW/TASK")
    state = build.state(*hourly, other)
    result = _found(state, now=_NIGHT)
    assert result["silent producer"] == [("spark", "sent no event since 2025-11-21T03:00:00Z")]
    at_five = to_micros(parse_time("2025-11-21T05:00:00Z"))
    assert "silent producer" not in _found(state, now=at_five)


def test_job_behind_its_rhythm_is_late(build: Any) -> None:
    hourly = [scheduled(build, f"0{hour}", "j") for hour in range(4)]
    at_four = to_micros(parse_time("2025-11-21T04:00:00Z"))
    assert _found(build.state(*hourly), now=at_four) == {}
    assert _found(build.state(*hourly), now=_NIGHT)["late"] == [
        (
            "job:demo:j",
            "is late: it usually runs every 1 h and was due at 2025-11-21T04:00:00Z",
        )
    ]


def test_doctor_prints_spool_rejections_and_findings_and_exits_with_1(
    tmp_path: Path, build: Any, call: Call
) -> None:
    from headwater.collect.spool import SpoolTail
    from headwater.log import EventLog
    from headwater.projection.live import Live

    spool, database = tmp_path / "spool", str(tmp_path / "log.db")
    spool.mkdir()
    good = build.run("COMPLETE", "1", "a", "08:00:00", reads=("db|x.t",))
    (spool / "p.jsonl").write_text(json.dumps(good) + "\n")
    log = EventLog(database)
    SpoolTail(Live(log), spool).poll()
    well = ("doctor", "--database", database, "--spool", str(spool))
    code, text, errors = astuple(call(*well))
    assert (code, errors) == (0, "")
    assert text.splitlines()[0].endswith("  1 run")
    assert text.endswith("No other problems with lineage reporting found.\n")  # after a warning
    with (spool / "p.jsonl").open("a") as file:
        file.write("broken\n")
    code, text, _ = astuple(call(*well))
    assert (code, "the spool folder  7 bytes not ingested" in text) == (1, True)
    with (spool / "q.jsonl").open("w") as file:
        file.write("{")
    SpoolTail(Live(log), spool).poll()
    text = call(*well).stdout
    assert "the spool folder  the last line of a file is incomplete: 1 byte" in text
    assert "not ingested" not in text
    (spool / "q.jsonl").unlink()
    code, text, _ = astuple(call(*well, "--json"))
    (finding,) = json.loads(text)["findings"]
    assert (code, finding["kind"]) == (1, "rejected lines")
    assert finding["message"] == f"1 line rejected, from {spool / 'p.jsonl'}"
    log.close()


def test_stuck_file_is_reported_by_health_and_doctor(
    serve: Callable[..., Server], tmp_path: Path, call: Call
) -> None:
    database, spool = tmp_path / "log.db", tmp_path / "spool"
    spool.mkdir()
    os.mkfifo(spool / "a.jsonl")
    server = serve(database, "--spool", str(spool))
    until(lambda: server.get("/healthz")["status"] == "degraded")
    assert server.get("/healthz")["spool"] == {"lagBytes": 0, "unendedBytes": 0, "stuckFiles": 1}
    of_server = call("doctor", "--json", "--url", server.url)
    of_log = call("doctor", "--json", "--database", str(database), "--spool", str(spool))
    for answer in (of_server, of_log):
        finding, nothing = json.loads(answer.stdout)["findings"]
        assert (answer.returncode, nothing["kind"]) == (1, "no events")
        assert (finding["kind"], finding["subject"]) == ("unreadable file", "a.jsonl")
        assert "it is a FIFO; expected a regular file" in finding["message"]
    assert server.stop() == 0


def test_unavailable_server_is_a_finding(call: Call) -> None:
    code, text, _ = astuple(call("doctor", "--url", "http://127.0.0.1:9", "--json"))
    assert json.loads(text)["target"] == "http://127.0.0.1:9"
    (finding,) = json.loads(text)["findings"]
    assert (code, finding["kind"], finding["subject"]) == (3, "endpoint", "http://127.0.0.1:9")
    assert "no server responds" in finding["message"]
