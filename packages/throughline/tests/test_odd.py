"""What is odd about events that are taken nevertheless."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path
from typing import Any

import orjson
import pytest
from fastapi.testclient import TestClient

from throughline.api import make_app
from throughline.log import EventLog, entry_of
from throughline.projection.live import Batch, Live
from throughline.spec import load, oddities

_URI = "https://example.org/x"


def _event(**changes: Any) -> dict[str, Any]:
    """An event that nothing is odd about, with changes."""
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


_TABLE = {"type": "DATASET", "namespace": "db", "name": "a"}
_HALF = {"type": "JOB", "name": "half"}


@pytest.mark.parametrize(
    ("changes", "odd"),
    [
        ({}, []),
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
def test_an_oddity_is_named_with_its_path_and_value(
    changes: dict[str, Any], odd: list[tuple[str, str]]
) -> None:
    body = _event(**changes)
    entry_of(orjson.dumps(body))
    found = list(oddities(body))
    assert [(each.path, each.received) for each in found] == odd
    assert all(each.expected for each in found)


def test_job_and_dataset_events_are_looked_at_by_their_own_rules() -> None:
    job = _event(run=None, schemaURL=_URI)
    del job["eventType"]
    assert list(oddities(job)) == []
    dataset = {**job, "job": None, "dataset": {"namespace": "n", "name": "m", "facets": 3}}
    del dataset["job"], dataset["inputs"], dataset["outputs"]
    assert [each.path for each in oddities(dataset)] == ["dataset.facets"]


@pytest.fixture
def mixed(live: Live) -> Live:
    """Five odd events between five good ones."""
    for number in range(10):
        kind = "COMPLETE" if number % 2 else "done"
        time = f"2025-11-21T08:00:{number:02}Z"
        live.take(Batch([entry_of(orjson.dumps(_event(eventType=kind, eventTime=time)))]))
    return live


@pytest.mark.each_database
def test_odd_events_are_listed_page_by_page_the_last_to_arrive_first(mixed: Live) -> None:
    with TestClient(make_app(mixed)) as client:
        page = client.get("/api/v2/events/odd?limit=2").json()
        found = page["items"]
        while page["next"]:
            page = client.get(f"/api/v2/events/odd?limit=2&cursor={page['next']}").json()
            assert len(page["items"]) <= 2
            found += page["items"]
    assert [each["eventTime"][-3:-1] for each in found] == ["08", "06", "04", "02", "00"]
    assert found[0]["job"] == {"namespace": "demo", "name": "job"}
    assert found[0]["odd"][0] | {"expected": ""} == {
        "path": "eventType",
        "received": "'done'",
        "expected": "",
    }


@pytest.mark.each_database
def test_a_page_of_the_latest_events_begins_before_a_seq(log: EventLog) -> None:
    times = [f"2025-11-21T08:00:0{number}Z" for number in range(3)]
    log.append([entry_of(orjson.dumps(_event(eventTime=time))) for time in times])
    assert [seq for seq, _ in log.latest(None, 2)] == [3, 2]
    assert [seq for seq, _ in log.latest(2, 2)] == [1]


def _bodies(file: Path, form: str = "jsonl") -> list[Any]:
    raw = file.read_bytes()
    texts = raw.splitlines() if form == "jsonl" else [raw]
    bodies = [load(text) for text in texts if text.strip()]
    return [each for body in bodies for each in (body if isinstance(body, list) else [body])]


@pytest.mark.replay
def test_every_shared_event_is_taken_or_refused_and_never_a_5xx(
    shared: Path, tmp_path: Path
) -> None:
    log = EventLog(str(tmp_path / "log.db"))
    folder = shared / "openlineage-events"
    with (folder / "index.csv").open() as file:
        rows = list(csv.DictReader(file))
    found: Counter[tuple[str, str]] = Counter()
    with TestClient(make_app(Live(log)), raise_server_exceptions=False) as client:
        for row in rows:
            bodies = _bodies(folder / row["file"], row["form"])
            answer = client.post("/api/v1/lineage/batch", json=bodies)
            assert answer.status_code in (200, 207, 422), row["file"]
            failed = {each["index"] for each in answer.json()["failed_events"]}
            for index, body in enumerate(bodies):
                odd = index not in failed and any(oddities(body))
                what = "refused" if index in failed else "odd" if odd else "clean"
                found[row["cls"], what] += 1
    assert found == {
        ("captured", "clean"): 582,
        ("captured", "odd"): 15,
        ("captured", "refused"): 1,  # its run has no id
        ("edge-cases", "clean"): 3,
        ("edge-cases", "odd"): 22,
        ("edge-cases", "refused"): 1,
        ("golden", "clean"): 42,
        ("golden", "odd"): 280,
        ("golden", "refused"): 5,  # patterns of tests, without run id or name
        ("handmade", "clean"): 34,
        ("handmade", "odd"): 79,
        ("handmade", "refused"): 5,  # no events, or without a time
    }
    log.close()


def test_nothing_is_odd_about_what_this_stack_emits(shared: Path) -> None:
    for file in sorted((shared / "openlineage-events" / "this-stack").glob("*.jsonl")):
        for body in _bodies(file):
            assert list(oddities(body)) == [], file.name
