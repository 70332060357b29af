"""Effective runs of jobs and datasets."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from headwater.events import JobRef
from headwater.graph.generations import Generations
from headwater.lineage.queries import tree_answer
from headwater.plugins.changes.queries import diff_answer
from headwater.plugins.trust._health import health_answer
from headwater.plugins.trust.completeness import completeness_answer
from headwater.projection._apply import apply
from headwater.runs.queries import runs_answer
from packages.headwater.tests.support.graphs import (
    APP,
    FLOW,
    SQL,
    STEP,
    TASK,
    all_names,
    commit,
    edges,
    loads,
    names,
)


def _daily(build: Any, *runs: dict[str, Any]) -> set[str]:
    """Return the edges of a task with one run a day, each under its own DAG run."""
    events = []
    for day, run in enumerate(runs):
        type_ = run.pop("type", "COMPLETE")
        parent = (f"d{day}", "dag")
        events.append(
            build.run(type_, f"r{day}", "dag.t", f"1{day}:00:00", parent=parent, kind=TASK, **run)
        )
    return edges(build.state(*events), "task")


def test_answers_after_an_event_read_only_the_runs_of_its_job(
    build: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    states = {"08": "COMPLETE", "09": "FAIL", "10": "START"}
    state = build.state(
        *(
            build.run(type_, f"{job}{hour}", job, f"{hour}:00:00", writes=(f"db|{job}",))
            for job in ("a", "b", "c")
            for hour, type_ in states.items()
        )
    )
    read: set[str] = set()
    of_runs = Generations.of_runs

    def watched(self: Generations, ref: JobRef, name: str, derive: Any) -> Any:
        def noted(runs: Any) -> Any:
            read.add(ref.name)
            return derive(runs)

        return of_runs(self, ref, name, noted)

    monkeypatch.setattr(Generations, "of_runs", watched)
    for expected in ({"a", "b", "c"}, set(), {"b"}):
        if expected == {"b"}:
            apply(state, build.entry(build.run("FAIL", "b10", "b", "11:00:00")).event)
        read.clear()
        failed = runs_answer(state, condition="FAILED", facets=True)["total"]
        errors = health_answer(state)["counts"]["errors"]
        ends = completeness_answer(state)["measures"]["ends"]["runs"]
        assert (failed, errors, ends) == ((4, 3, 7) if expected == {"b"} else (3, 3, 6))
        assert read == expected


def test_skipped_run_removes_no_edge(build: Any) -> None:
    first = {"reads": ("db|a",), "writes": ("db|b",)}
    assert _daily(build, dict(first), {}) == {"dag.t < a", "dag.t > b"}
    assert _daily(build, dict(first), {"reads": ("db|b",)}) == {"dag.t < a", "dag.t > b"}


def test_newest_finished_run_removes_unread_datasets(build: Any) -> None:
    before = {"reads": ("db|a", "db|x"), "writes": ("db|b",)}
    after = {"reads": ("db|a",), "writes": ("db|b",)}
    assert _daily(build, before, after) == {"dag.t < a", "dag.t > b"}


def test_newer_failed_run_adds_its_edges(build: Any) -> None:
    runs: list[dict[str, Any]] = [
        {"reads": ("db|old",), "writes": ("db|b",), "type": "FAIL"},
        {"reads": ("db|a",), "writes": ("db|b",)},
        {"reads": ("db|new",), "type": "FAIL"},
    ]
    assert _daily(build, *runs) == {"dag.t < a", "dag.t < new", "dag.t > b"}


def test_foreach_runs_of_one_parent_are_united(build: Any) -> None:
    parent = ("f", "Flow")
    events = [
        build.run("COMPLETE", f"r{i}", "Flow.s", f"08:0{i}:00", parent=parent, kind=STEP,
                  reads=(f"db|a{i}",), writes=("db|b",))
        for i in range(3)
    ]  # fmt: skip
    expected = {"Flow.s < a0", "Flow.s < a1", "Flow.s < a2", "Flow.s > b"}
    assert edges(build.state(*events), "task") == expected


def test_late_events_do_not_make_an_old_run_current(build: Any) -> None:
    new = build.run("COMPLETE", "n", "j", "10:00:00", reads=("db|new",), writes=("db|o",))
    old = build.run("COMPLETE", "o", "j", "09:00:00", reads=("db|old",), writes=("db|o",))
    assert edges(build.state(new, old), "task") == {"j < new", "j > o"}


def test_create_table_as_select_is_shown_once(build: Any) -> None:
    app = {"parent": ("a", "app"), "kind": SQL}
    outer, inner = "app.atomic_create_table_as_select.t", "app.append_data.t"
    state = build.state(
        build.run("START", "o", outer, "08:00:00", reads=("file|/in",), **app),
        build.run("START", "i", inner, "08:00:01", reads=("file|/in",), writes=("db|t",), **app),
        build.run("COMPLETE", "i", inner, "08:00:02", writes=("db|t",), **app),
        build.run("COMPLETE", "o", outer, "08:00:03", writes=("db|t",), **app),
        build.run("COMPLETE", "a", "app", "08:00:04", kind=APP),
    )
    assert edges(state, "query") == {"app.append_data.t < /in", "app.append_data.t > t"}
    assert edges(state, "task") == {"app < /in", "app > t"}


def test_merge_keeps_the_edge_from_its_target(build: Any) -> None:
    run = build.run("COMPLETE", "r", "merge", "08:00:00", reads=("db|t",), writes=("db|t",))
    state = build.state(run)
    assert edges(state, "task") == {"merge < t", "merge > t"}
    for level in ("query", "task"):
        up = tree_answer(state, "merge", "up", 20, level)["up"]
        assert names(up) == {"merge": [{"t": [{"merge*": []}]}]}


def test_declared_edges_are_replaced_by_a_run(build: Any) -> None:
    job = {"namespace": "demo", "name": "j"}
    declared = {
        "eventTime": "2025-11-21T08:00:00Z",
        "job": job,
        "inputs": [build.dataset("db|declared")],
    }
    ran = build.run("COMPLETE", "r", "j", "07:00:00", reads=("db|real",))
    assert edges(build.state(declared), "task") == {"j < declared"}
    assert edges(build.state(declared, ran), "task") == {"j < real"}


@pytest.mark.parametrize("level", ["query", "task", "pipeline"])
def test_partitioned_table_comes_from_all_remaining_files(level: str, build: Any) -> None:
    state = build.state(*loads(build, "05", "04", "03"))
    result = all_names(tree_answer(state, "forecast", "up", 20, level)["up"])
    assert {"/03", "/04", "/05"} <= result
    result = all_names(tree_answer(state, "/05", "down", 20, level)["down"])
    assert {"raw", "forecast"} <= result
    assert level == "pipeline" or {"staging", "model"} <= result


def test_replaced_table_comes_from_the_last_commit_only(build: Any) -> None:
    events = loads(build, "05", "04")
    metrics = events[-3]["outputs"][0]["outputFacets"]["icebergCommitReport"]["commitMetrics"]
    metrics["totalRecords"] = metrics["addedRecords"]
    state = build.state(*events)
    result = all_names(tree_answer(state, "raw", "up", 20, "task")["up"])
    assert result == {"raw", "dag.merge", "staging", "dag.stage", "/04"}


def test_commit_that_task_and_query_report_keeps_earlier_rows(build: Any) -> None:
    events = loads(build, "05", "04")
    merge = events[-3]
    merge["outputs"][0]["facets"] = {"version": {"datasetVersion": "7"}}
    parent = ("b1", "dag.merge")
    query = build.run("COMPLETE", "q1", "dag.merge.query", "11:01:50", kind=SQL, parent=parent,
                      reads=("db|staging",), writes=("db|raw",))  # fmt: skip
    query["outputs"][0] |= merge["outputs"][0]
    state = build.state(*events, query)
    assert "/05" in all_names(tree_answer(state, "raw", "up", 20, "task")["up"])


@pytest.mark.parametrize("by", ["task", "queries"])
@pytest.mark.parametrize("is_whole", [True, False])
def test_commits_of_one_task_replace_a_table_only_if_one_replaced_all_rows(
    is_whole: bool, by: str, build: Any
) -> None:
    events = loads(build, "05", "04")
    parts = []
    for version, rows in (("7", 10 if is_whole else 20), ("8", 20)):
        if by == "queries":
            tables = {"reads": ("db|staging",), "writes": ("db|raw",)}
            about = {"kind": SQL, "parent": ("b1", "dag.merge"), **tables}
            part = build.run("COMPLETE", f"q{version}", "dag.merge.query", "11:01:00", **about)
        else:
            part = copy.deepcopy(events[-3]) | {"eventType": "RUNNING"}
        part = commit(part, 10, rows)
        part["outputs"][0]["facets"] = {"version": {"datasetVersion": version}}
        parts.append(part | {"eventTime": f"2025-11-21T11:01:0{version}Z"})
    del events[-3]["outputs"][0]["outputFacets"]
    state = build.state(*events[:-3], *parts, *events[-3:])
    is_kept = "/05" in all_names(tree_answer(state, "raw", "up", 20, "task")["up"])
    assert is_kept is not is_whole


def test_models_and_forecasts_come_from_their_own_training(build: Any) -> None:
    state = build.state(*loads(build, "05", "04", trained_with=("weather", "raw")))
    assert "weather" not in all_names(tree_answer(state, "model", "up", 20, "task")["up"])
    assert "weather" in all_names(tree_answer(state, "forecast", "up", 20, "task")["up"])


def test_dataset_written_only_after_reading_is_no_source(build: Any) -> None:
    state = build.state(
        build.run("COMPLETE", "1", "reader", "08:00:00", reads=("db|a",), writes=("db|b",)),
        build.run("COMPLETE", "2", "writer", "09:00:00", reads=("db|x",), writes=("db|a",)),
    )
    assert "x" not in all_names(tree_answer(state, "b", "up", 20, "task")["up"])
    assert "b" not in all_names(tree_answer(state, "x", "down", 20, "task")["down"])


def _trained_for(build: Any, service: str, hour: str) -> list[Any]:
    """Return the events of one flow whose runs read and write the tables of different services."""
    flow = (f"flow-{service}", "Flow")
    steps = (
        ("count", (f"db|{service}_raw",), (f"db|{service}_rides",)),
        ("train", (f"db|{service}_rides",), ("metaflow|Flow/model",)),
        ("write", ("metaflow|Flow/model",), (f"db|{service}_forecast",)),
    )
    return [
        build.run("COMPLETE", *flow, f"{hour}:30:00", kind=FLOW),
        *(
            build.run("COMPLETE", f"{step}-{service}", f"Flow.{step}", f"{hour}:{n:02}:00",
                      parent=flow, kind=STEP, reads=reads, writes=writes)
            for n, (step, reads, writes) in enumerate(steps)
        ),
    ]  # fmt: skip


@pytest.mark.parametrize("level", ["task", "pipeline"])
def test_later_service_does_not_remove_edges_of_the_first(level: str, build: Any) -> None:
    yellow, green = _trained_for(build, "yellow", "08"), _trained_for(build, "green", "09")
    before, after = build.state(*yellow), build.state(*yellow, *green)
    changes = diff_answer(before, after, level)
    assert changes["removed"] == changes["edgesRemoved"] == []
    assert "dataset:db:green_forecast" in changes["added"]
    tree_of = {
        name: all_names(tree_answer(after, f"{name}_forecast", "up", 9, level)["up"])
        for name in ("yellow", "green")
    }
    assert "yellow_raw" in tree_of["yellow"]
    assert "green_raw" not in tree_of["yellow"]
    assert "yellow_raw" not in tree_of["green"]
    flow = "job:demo:Flow"
    up, down = (all_names(tree_answer(after, flow, way, 9)[way]) for way in ("up", "down"))
    assert {"yellow_raw", "green_raw"} <= up
    assert {"yellow_forecast", "green_forecast"} <= down
