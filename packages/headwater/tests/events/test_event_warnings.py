"""Warnings about events that are accepted."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path
from typing import Any

import orjson
import pytest
from fastapi.testclient import TestClient

from headwater.collect.event_warnings import event_warnings
from headwater.events import load
from headwater.log import EventLog, entry_of
from headwater.log.reading import latest
from headwater.projection.live import Batch, Live
from headwater.server.app import make_app

_URI = "https://example.org/x"


def _event(**changes: Any) -> dict[str, Any]:
    """Return a valid event with changes."""
    event: dict[str, Any] = {
        "eventType": "COMPLETE",
        "eventTime": "2025-11-21T08:00:00+01:00[Europe/Paris]",
        "producer": _URI,
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": "01a1fd3d-1a97-7b7f-8cb0-753b3dcc6260"},
        "job": {"namespace": "demo", "name": "job", "facets": {"sql": _facet(query="select 1")}},
        "inputs": [
            {"namespace": "db", "name": "a", "facets": {"symlinks": _facet(identifiers=[])}}
        ],
        "outputs": [],
    }
    return {**event, **changes}


def _facet(**fields: Any) -> dict[str, Any]:
    return {"_producer": _URI, "_schemaURL": _URI, **fields}


def _run(**facets: Any) -> dict[str, Any]:
    return {"runId": "01a1fd3d-1a97-7b7f-8cb0-753b3dcc6260", "facets": facets}


def _symlinks(**fields: Any) -> list[Any]:
    return [{"namespace": "db", "name": "a", "facets": {"symlinks": _facet(**fields)}}]


def _job(**fields: Any) -> dict[str, Any]:
    return {"namespace": "demo", "name": "job", "facets": {"lineage": _facet(**fields)}}


def _partitions(sources: Any, *written: str) -> list[Any]:
    """Return an output with partitions that were written, and a facet about their sources."""
    condition = {"type": "partition", "partitions": [{"identifier": part} for part in written]}
    facets = {
        "subset": _facet(outputCondition=condition),
        "headwater_partitionSources": _facet(partitions=sources),
    }
    return [{"namespace": "db", "name": "b", "outputFacets": facets}]


_TABLE = {"type": "DATASET", "namespace": "db", "name": "a"}
_SOURCES = "outputs[0].outputFacets.headwater_partitionSources.partitions"
_STATED = "{'identifier': 'may', 'inputs': [{'type': 'DATASET', 'namespace': 'db', 'name': 'a'}]}"
_HALF = {"type": "JOB", "name": "half"}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        ({"outputs": _partitions([{"identifier": "may", "inputs": [_TABLE]}], "may", "june")}, []),
        (
            {"outputs": _partitions({"may": [_TABLE]}, "may")},
            [(_SOURCES, "{'may': [{'type': 'DATASET', 'namespace': 'db', 'name': 'a'}]}")],
        ),
        (
            {"outputs": _partitions([{"identifier": "may", "inputs": [_TABLE, "a"]}, 7], "may")},
            [(f"{_SOURCES}[0]", _STATED.replace("}]}", "}, 'a']}")), (f"{_SOURCES}[1]", "7")],
        ),
        (
            {"outputs": _partitions([{"identifier": "may", "inputs": [_TABLE]}], "june")},
            [(f"{_SOURCES}[0]", _STATED)],
        ),
        ({"job": _job(entries=[{**_TABLE, "inputs": [_TABLE, {"type": "JOB"}]}])}, []),
        ({"job": _job()}, [("job.facets.lineage.entries", "nothing")]),
        ({"job": _job(entries=["x"])}, [("job.facets.lineage.entries[0]", "'x'")]),
        (
            {"job": _job(entries=[{"type": "MODEL"}])},
            [("job.facets.lineage.entries[0].type", "'MODEL'")],
        ),
        (
            {"job": _job(entries=[{**_TABLE, "inputs": 4, "fields": {"x": 7}}])},
            [
                ("job.facets.lineage.entries[0].inputs", "4"),
                ("job.facets.lineage.entries[0].fields.x", "7"),
            ],
        ),
        (
            {"job": _job(entries=[{**_TABLE, "fields": {"x": {"inputs": [_HALF]}}}])},
            [
                (
                    "job.facets.lineage.entries[0].fields.x.inputs[0]",
                    "{'type': 'JOB', 'name': 'half'}",
                )
            ],
        ),
        (
            {"outputs": [{"namespace": "db", "name": "a", "facets": {"lineage": _facet()}}]},
            [("outputs[0].facets.lineage", "'a lineage facet'")],
        ),
        ({"eventType": "complete"}, [("eventType", "'complete'")]),
        ({"eventType": None}, [("eventType", "nothing")]),
        ({"eventTime": "2025-11-21T08:00:00"}, [("eventTime", "'2025-11-21T08:00:00'")]),
        ({"producer": None}, [("producer", "nothing")]),
        ({"schemaURL": "x"}, [("schemaURL", "'x'")]),
        (
            {"schemaURL": "https://openlineage.io/spec/1-0-5/OpenLineage.json#/$defs/RunEvent"},
            [
                (
                    "schemaURL",
                    "'https://openlineage.io/spec/1-0-5/OpenLineage.json#/$defs/RunEvent'",
                )
            ],
        ),
        ({"run": {"runId": "manual__2025"}}, [("run.runId", "'manual__2025'")]),
        ({"run": _run(x=None)}, [("run.facets.x", "nothing")]),
        ({"run": _run() | {"facets": [1]}}, [("run.facets", "[1]")]),
        ({"run": _run(x={"_schemaURL": _URI})}, [("run.facets.x._producer", "nothing")]),
        (
            {"run": _run(parent=_facet(run={}, job={"namespace": "n", "name": 3}))},
            [("run.facets.parent.run.runId", "nothing"), ("run.facets.parent.job.name", "3")],
        ),
        ({"run": _run(parent=_facet(run={"runId": "r"}))}, [("run.facets.parent.job", "nothing")]),
        ({"inputs": None}, [("inputs", "nothing")]),
        (
            {"outputs": [{"namespace": "n", "name": "m", "outputFacets": {"y": 1}}]},
            [("outputs[0].outputFacets.y", "1")],
        ),
        (
            {"inputs": _symlinks(identifiers=[{"namespace": "n"}])},
            [("inputs[0].facets.symlinks.identifiers[0].name", "nothing")],
        ),
        ({"inputs": _symlinks()}, [("inputs[0].facets.symlinks.identifiers", "nothing")]),
    ],
)
def test_warning_has_path_and_received_value(
    changes: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    body = _event(**changes)
    entry_of(orjson.dumps(body))
    received = list(event_warnings(body))
    assert [(warning.path, warning.received) for warning in received] == expected
    assert all(warning.expected for warning in received)


def test_job_and_dataset_events_have_their_own_rules() -> None:
    job = _event(run=None, schemaURL=_URI)
    del job["eventType"]
    assert list(event_warnings(job)) == []
    dataset = {**job, "job": None, "dataset": {"namespace": "n", "name": "m", "facets": 3}}
    del dataset["job"], dataset["inputs"], dataset["outputs"]
    assert [warning.path for warning in event_warnings(dataset)] == ["dataset.facets"]


@pytest.fixture
def mixed(live: Live) -> Live:
    """Return a log of five events with warnings and five without, alternating."""
    for number in range(10):
        kind = "COMPLETE" if number % 2 else "done"
        time = f"2025-11-21T08:00:{number:02}Z"
        live.ingest(Batch([entry_of(orjson.dumps(_event(eventType=kind, eventTime=time)))]))
    return live


@pytest.mark.each_database
def test_events_with_warnings_are_listed_newest_first(mixed: Live) -> None:
    with TestClient(make_app(mixed)) as client:
        page = client.get("/api/v2/events/warnings?limit=2").json()
        result = page["items"]
        while page["next"]:
            page = client.get(f"/api/v2/events/warnings?limit=2&cursor={page['next']}").json()
            assert len(page["items"]) <= 2
            result += page["items"]
    assert [event["eventTime"][-3:-1] for event in result] == ["08", "06", "04", "02", "00"]
    assert result[0]["job"] == {"namespace": "demo", "name": "job"}
    assert result[0]["warnings"][0] | {"expected": ""} == {
        "path": "eventType",
        "received": "'done'",
        "expected": "",
    }


@pytest.mark.each_database
def test_latest_events_start_before_a_seq(log: EventLog) -> None:
    times = [f"2025-11-21T08:00:0{number}Z" for number in range(3)]
    log.append([entry_of(orjson.dumps(_event(eventTime=time))) for time in times])
    assert [seq for seq, _ in latest(log, None, 2)] == [3, 2]
    assert [seq for seq, _ in latest(log, 2, 2)] == [1]


def _bodies(file: Path, form: str = "jsonl") -> list[Any]:
    raw = file.read_bytes()
    texts = raw.splitlines() if form == "jsonl" else [raw]
    bodies = [load(text) for text in texts if text.strip()]
    return [event for body in bodies for event in (body if isinstance(body, list) else [body])]


@pytest.mark.replay
def test_every_shared_event_is_accepted_or_rejected_without_server_error(
    shared: Path, tmp_path: Path
) -> None:
    log = EventLog(str(tmp_path / "log.db"))
    folder = shared / "openlineage-events"
    with (folder / "index.csv").open() as file:
        rows = list(csv.DictReader(file))
    result: Counter[tuple[str, str]] = Counter()
    with TestClient(make_app(Live(log)), raise_server_exceptions=False) as client:
        for row in rows:
            bodies = _bodies(folder / row["file"], row["form"])
            answer = client.post("/api/v1/lineage/batch", json=bodies)
            assert answer.status_code in (200, 207, 422), row["file"]
            failed = {event["index"] for event in answer.json()["failed_events"]}
            for index, body in enumerate(bodies):
                warned = index not in failed and any(event_warnings(body))
                category = "rejected" if index in failed else "warned" if warned else "clean"
                result[row["cls"], category] += 1
    assert result == {
        ("captured", "clean"): 582,
        ("captured", "warned"): 15,
        ("captured", "rejected"): 1,  # its run has no id
        ("edge-cases", "clean"): 3,
        ("edge-cases", "warned"): 22,
        ("edge-cases", "rejected"): 1,
        ("golden", "clean"): 42,
        ("golden", "warned"): 280,
        ("golden", "rejected"): 5,  # templates of tests, without run id or name
        ("handmade", "clean"): 34,
        ("handmade", "warned"): 79,
        ("handmade", "rejected"): 5,  # no events, or without a time
    }
    log.close()


@pytest.mark.replay
def test_events_of_this_stack_have_no_warnings(recorded: Path) -> None:
    for file in sorted((recorded / "openlineage-events" / "this-stack").glob("*.jsonl")):
        for body in _bodies(file):
            assert list(event_warnings(body)) == [], file.name
