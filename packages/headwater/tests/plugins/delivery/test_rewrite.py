"""Rewriting for every backend."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import orjson
import pytest

from headwater.plugins.delivery.context import RunContext
from headwater.plugins.delivery.rewrite import REWRITINGS, Rewriting
from packages.headwater.tests.support.recording_backend import Specification, events_of, sent

pytestmark = pytest.mark.replay

Json = dict[str, Any]

_STACK = (
    "airflow33-dags.jsonl",
    "metaflow219-spike-flaky.jsonl",
    "spark41-iceberg112-jdbc-workaround.jsonl",
)


@pytest.fixture(params=sorted(REWRITINGS), scope="module")
def rewriting(request: pytest.FixtureRequest) -> Rewriting:
    return REWRITINGS[request.param]


@pytest.fixture(scope="module")
def stack(recorded: Path) -> list[Json]:
    """Return real events of Airflow, Metaflow and Spark with Iceberg."""
    folder = recorded / "openlineage-events" / "this-stack"
    return events_of(*(folder / name for name in _STACK))


@pytest.fixture(scope="module")
def of_stack(rewriting: Rewriting, stack: list[Json]) -> list[Json]:
    """Return the payloads of the events."""
    return sent(rewriting, stack)


@pytest.fixture(scope="module")
def specification(shared: Path) -> Specification:
    return Specification(shared.parent / "spec")


def _edges(bodies: list[Json]) -> set[tuple[str, str, str]]:
    return {
        (body["job"]["name"], side, dataset["name"])
        for body in bodies
        for side in ("inputs", "outputs")
        for dataset in body[side]
    }


def test_payloads_are_valid(of_stack: list[Json], specification: Specification) -> None:
    assert of_stack
    assert [error for body in of_stack for error in specification.errors(body)] == []


def test_rewriting_is_pure(rewriting: Rewriting, stack: list[Json], of_stack: list[Json]) -> None:
    for event in stack[:40]:
        original = deepcopy(event)
        known = RunContext(inputs=({"namespace": "n", "name": "a", "facets": {"x": {"y": None}}},))
        once = rewriting.rewrite(event, known)
        assert rewriting.rewrite(event, known) == once
        assert event == original
        assert known.inputs[0]["facets"] == {"x": {"y": None}}
    assert sent(rewriting, stack) == of_stack


def test_last_payload_does_not_depend_on_order(rewriting: Rewriting, build: Any) -> None:
    parent = ("t", "flow.task")
    events = [
        build.run("START", "t", "flow.task", "08:00:00", kind="METAFLOW/STEP"),
        build.run("START", "q", "app.q", "08:01:00", parent=parent, kind="SPARK/SQL_JOB"),
        build.run("RUNNING", "q", "app.q", "08:02:00", reads=("hive://h|raw",)),
        build.run("COMPLETE", "q", "app.q", "08:03:00", writes=("hive://h|mart",)),
        build.run("COMPLETE", "t", "flow.task", "08:04:00", writes=("metaflow|Flow/model",)),
    ]
    events[1]["job"]["facets"] = events[2]["job"]["facets"] = events[3]["job"]["facets"]
    forwards = _last(sent(rewriting, events))
    assert _last(sent(rewriting, reversed(events))) == forwards
    assert _last(sent(rewriting, events, at_once=True)) == forwards
    task = forwards["flow.task"]
    assert task["eventType"] == "COMPLETE"
    assert _edges([task]) == {
        ("flow.task", "inputs", "raw"),
        ("flow.task", "outputs", "mart"),
        ("flow.task", "outputs", "Flow/model"),
    }


def test_late_intermediate_run_adds_its_descendants(rewriting: Rewriting, build: Any) -> None:
    task, app = ("t", "f.task"), ("a", "app")
    events = [
        build.run("COMPLETE", "t", "f.task", "08:09:00", kind="METAFLOW/STEP", writes=("x|out",)),
        build.run("COMPLETE", "q", "app.q", "08:07:00", parent=app, kind="SPARK/SQL_JOB",
                  reads=("x|in",)),
        build.run("START", "a", "app", "08:06:00", parent=task, kind="SPARK/APPLICATION"),
    ]  # fmt: skip
    body = _last(sent(rewriting, events))["f.task"]
    assert _edges([body]) == {("f.task", "inputs", "in"), ("f.task", "outputs", "out")}


def test_late_event_resends_only_ends_up_to_its_task(build: Any) -> None:
    dag, task = ("d", "dag"), ("t", "dag.task")
    events = [
        build.run("COMPLETE", "d", "dag", "08:09:00", kind="AIRFLOW/DAG"),
        build.run("COMPLETE", "t", "dag.task", "08:08:00", parent=dag, kind="AIRFLOW/TASK"),
        build.run("COMPLETE", "q", "q", "08:07:00", parent=task, kind="SPARK/JOB", reads=("x|a",)),
    ]
    jobs = [body["job"]["name"] for body in sent(REWRITINGS["marquez"], events)]
    assert jobs == ["dag", "dag.task", "q", "dag.task"]


def test_cyclic_parents_are_delivered(rewriting: Rewriting, build: Any) -> None:
    events = [
        build.run("COMPLETE", a, f"f.{a}", "08:00:00", parent=(b, f"f.{b}"), reads=(f"x|{a}",))
        for a, b in (("a", "b"), ("b", "c"), ("c", "a"), ("d", "d"))
    ]
    for event in events:
        event["outputs"] = [build.dataset("x|out")]
    assert {body["job"]["name"] for body in sent(rewriting, events)} == {"f.a", "f.b", "f.c", "f.d"}


def _last(bodies: list[Json]) -> dict[str, Json]:
    """Return the last body of each job, without the fields that identify its event."""
    return {body["job"]["name"]: body for body in bodies}


def test_event_without_context_is_sent_unchanged(rewriting: Rewriting, build: Any) -> None:
    event = build.run(
        "COMPLETE", "r", "flow.j", "08:00:00", reads=("s3://b|in",), writes=("x|out",)
    )
    (body,) = rewriting.rewrite(event, RunContext())
    assert _edges([body]) == {("flow.j", "inputs", "in"), ("flow.j", "outputs", "out")}
    assert body["eventTime"] == event["eventTime"]


def test_table_has_one_name(rewriting: Rewriting, build: Any) -> None:
    table, place = "hive://h|shop.orders", "s3://lake|warehouse/orders"
    link = build.dataset(place, symlinks=[("hive://h", "shop.orders", "TABLE")])
    spark = build.run("COMPLETE", "a", "app.a", "08:00:00", reads=("x|in",))
    spark["outputs"] = [link]
    other = build.run("COMPLETE", "b", "flow.b", "08:01:00", reads=(table,), writes=("x|out",))
    bodies = sent(rewriting, [spark, other], at_once=True)
    assert {name for _, _, name in _edges(bodies)} == {"in", "shop.orders", "out"}


def test_job_and_dataset_events_use_the_same_name(build: Any) -> None:
    link = build.dataset("s3://lake|wh/t", symlinks=[("hive://h", "shop.t", "TABLE")])
    spark = build.run("COMPLETE", "a", "app.a", "08:00:00")
    spark["outputs"] = [link]
    head = {"eventTime": "2025-11-21T08:00:00Z", "producer": "https://example.org/x"}
    dataset = {**head, "dataset": build.dataset("s3://lake|wh/t")}
    job = {
        **head,
        "job": {"namespace": "d", "name": "j"},
        "inputs": [build.dataset("s3a://lake|/wh/t")],
    }
    _, described, declared = sent(REWRITINGS["marquez"], [spark, dataset, job])
    for body in (described["dataset"], *declared["inputs"]):
        assert (body["namespace"], body["name"]) == ("hive://h", "shop.t")


def test_payload_has_dataset_facets_without_those_of_other_runs(
    rewriting: Rewriting, build: Any
) -> None:
    before = build.run("COMPLETE", "a", "f.a", "08:00:00", reads=("x|raw",), writes=("x|in",))
    before["outputs"][0]["facets"] = {
        "version": {"datasetVersion": "1"},
        "schema": {"fields": [{"name": "a", "type": "long"}]},
    }
    event = build.run("COMPLETE", "b", "f.b", "08:01:00", reads=("x|in",), writes=("x|out",))
    event["inputs"][0]["facets"] = {"custom": {"owner": "ada"}}
    event["outputs"][0]["facets"] = {"version": {"datasetVersion": "2"}}
    body = _last(sent(rewriting, [before, event]))["f.b"]
    read, written = body["inputs"][0]["facets"], body["outputs"][0]["facets"]
    assert read["custom"]["owner"] == "ada"
    assert read["schema"]["fields"] == [{"name": "a", "type": "long"}]
    assert "version" not in read
    assert written["version"]["datasetVersion"] == "2"


def test_nulls_are_removed(rewriting: Rewriting, build: Any) -> None:
    event = build.run(
        "COMPLETE", "r", "flow.j", "08:00:00", reads=("x|in",), writes=("x|out",),
        facets={"airflow": {"dag": {"dag_id": "d", "owner": None}}},
    )  # fmt: skip
    (body,) = rewriting.rewrite(event, RunContext())
    assert b"null" not in orjson.dumps(body)
    assert body["run"]["facets"]["airflow"]["dag"] == {"dag_id": "d"}
