"""Edges at a level, and the owners of runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headwater.events import JobRef
from headwater.graph import Level, Levels
from headwater.lineage.queries import edges_answer
from headwater.log import entry_of
from headwater.projection import project
from packages.headwater.tests.support.graphs import (
    APP,
    DAG,
    FLOW,
    SQL,
    STEP,
    TASK,
    edges,
    two_orchestrators,
)


def test_edges_roll_up_to_the_nearest_job_of_the_level(build: Any) -> None:
    state = two_orchestrators(build)
    assert edges(state, "task") == {
        "dag.load < /in",
        "dag.load > raw",
        "Flow.train < raw",
        "Flow.train > Flow/model",
    }
    assert edges(state, "pipeline") == {
        "dag < /in",
        "dag > raw",
        "Flow < raw",
        "Flow > Flow/model",
    }


def test_container_is_shown_with_its_own_edges_only(
    build: Any,
) -> None:
    assert edges(two_orchestrators(build), "query") == {
        "app.q < /in",
        "app.q > raw",
        "spark.q < raw",
        "Flow.train > Flow/model",
    }


def test_outlets_repeated_from_spark_are_shown_once(
    build: Any,
) -> None:
    task, app = ("t", "dag.t"), ("a", "app")
    state = build.state(
        build.run("COMPLETE", "t", "dag.t", "08:05:00", kind=TASK, writes=("db|t", "db|extra")),
        build.run("COMPLETE", "a", "app", "08:04:00", parent=task, kind=APP),
        build.run("COMPLETE", "q", "app.q", "08:03:00", parent=app, kind=SQL, writes=("db|t",)),
    )
    assert edges(state, "query") == {"app.q > t", "dag.t > extra"}
    assert edges(state, "task") == {"dag.t > t", "dag.t > extra"}


def test_edges_without_step_belong_to_the_task_above(build: Any) -> None:
    task, flow = ("t", "dag.run_flow"), ("f", "Flow")
    state = build.state(
        build.run("COMPLETE", "t", "dag.run_flow", "08:05:00", kind=TASK),
        build.run("COMPLETE", "f", "Flow", "08:04:00", parent=task, kind=FLOW),
        build.run("COMPLETE", "q", "app", "08:03:00", parent=flow, kind=APP, reads=("db|t",)),
    )
    assert edges(state, "task") == {"dag.run_flow < t"}
    assert edges(state, "pipeline") == {"Flow < t"}


def test_application_without_parent_owns_its_queries(build: Any) -> None:
    state = build.state(
        build.run("COMPLETE", "a", "app", "08:04:00", kind=APP),
        build.run("COMPLETE", "q", "app.q", "08:03:00", parent=("a", "app"), kind=SQL,
                  reads=("db|t",)),
    )  # fmt: skip
    assert edges(state, "task") == edges(state, "pipeline") == {"app < t"}
    assert edges(state, "query") == {"app.q < t"}


def test_single_job_represents_itself_at_every_level(build: Any) -> None:
    state = build.state(build.run("COMPLETE", "r", "alone", "08:00:00", reads=("db|a",)))
    for level in ("query", "task", "pipeline"):
        assert edges(state, level) == {"alone < a"}


def test_levels_without_job_type_follow_from_the_hierarchy(build: Any) -> None:
    state = build.state(
        build.run("START", "a", "app", "08:00:00", parent=("t", "d.t"), root=("d", "d"), kind=APP),
        build.run("START", "x", "old.task", "08:00:00", parent=("o", "old")),
    )
    levels = Levels(state)
    results = {ref.name: levels.of(ref) for ref in state.jobs}
    assert results == {
        "app": Level.QUERY,
        "d.t": Level.TASK,
        "d": Level.PIPELINE,
        "old": Level.PIPELINE,
        "old.task": Level.TASK,
    }


@pytest.mark.parametrize(
    ("kind", "level"),
    [
        (DAG, Level.PIPELINE),
        (TASK, Level.TASK),
        (FLOW, Level.PIPELINE),
        (STEP, Level.TASK),
        (APP, Level.QUERY),
        (SQL, Level.QUERY),
        ("SPARK/RDD_JOB", Level.QUERY),
        ("DBT/JOB", Level.PIPELINE),
        ("DBT/MODEL", Level.TASK),
        ("FLINK/JOB", Level.QUERY),
    ],
)
def test_job_type_facet_sets_the_level(kind: str, level: Level, build: Any) -> None:
    state = build.state(build.run("START", "r", "j", "08:00:00", kind=kind))
    assert Levels(state).of(JobRef("demo", "j")) is level


def test_control_edges_are_rolled_up_and_never_data(build: Any) -> None:
    def depends(**ends: Any) -> dict[str, Any]:
        return {"jobDependencies": {k: [{"job": j, "run": r}] for k, (j, r) in ends.items()}}

    load = ({"namespace": "demo", "name": "ingest.load"}, {"runId": "t"})
    end = ({"namespace": "demo", "name": "Flow.end"}, None)
    state = build.state(
        build.run("COMPLETE", "t", "ingest.load", "08:00:00", parent=("d", "ingest"), kind=TASK),
        build.run("COMPLETE", "e", "Flow.end", "08:09:00", parent=("f", "Flow"), kind=STEP),
        build.run("COMPLETE", "f", "Flow", "08:05:00", kind=FLOW, facets=depends(upstream=load)),
        build.run(
            "COMPLETE", "s", "Flow.start", "08:06:00", parent=("f", "Flow"), kind=STEP,
            facets=depends(downstream=end),
        ),
    )  # fmt: skip
    pairs = {
        level: {
            (edge["upstream"]["name"], edge["downstream"]["name"])
            for edge in edges_answer(state, level, "control")["items"]
        }
        for level in ("task", "pipeline")
    }
    assert pairs["task"] == {("ingest.load", "Flow"), ("Flow.start", "Flow.end")}
    assert pairs["pipeline"] == {("ingest", "Flow")}
    assert edges(state, "task") == set()


def test_task_edges_of_real_events(recorded: Path) -> None:
    folder = recorded / "openlineage-events" / "this-stack"
    files = ("metaflow219-spike-spk.jsonl", "metaflow219-spike-spk-spark-side.jsonl")
    lines = [line for f in files for line in (folder / f).read_bytes().splitlines()]
    state = project(entry_of(line).event for line in lines)
    assert edges(state, "task") == {
        "SpkFlow.start < /data/data/b",
        "SpkFlow.start > /data/data/c",
        "SpkFlow.start > SpkFlow/n",
        "SpkFlow.end < SpkFlow/n",
    }
    assert {e.split()[0] for e in edges(state, "pipeline")} == {"SpkFlow"}


def test_iceberg_tables_of_real_events_join_on_symlinks(recorded: Path) -> None:
    file = recorded / "openlineage-events/this-stack/spark41-iceberg112-jdbc-workaround.jsonl"
    state = project(entry_of(line).event for line in file.read_bytes().splitlines())
    datasets = {
        (e["dataset"]["namespace"], e["dataset"]["name"]): [
            a["name"] for a in e["dataset"]["aliases"]
        ]
        for e in edges_answer(state, "task", "data")["items"]
    }
    assert datasets["hive://lake:9083", "nyc.trips_raw"] == ["/data/wh2/data/nyc/trips_raw"]
    assert {e["job"]["name"] for e in edges_answer(state, "task", "data")["items"]} == {
        "taxi_dag.spark_merge"
    }
    assert not any(name.startswith("/data/wh2/data") for _, name in datasets)
