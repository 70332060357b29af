"""Timelines: runs around a node over time, and the changes of the graph there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.errors import ConfigError
from headwater.events import JobRef
from headwater.graph import generation as of_task
from headwater.graph.current import generations_of
from headwater.graph.generation import Generation
from headwater.graph.levels import Level
from headwater.lineage.queries import graph_answer
from headwater.log import EventLog
from headwater.plugins.changes._steps import steps_of
from headwater.plugins.changes.queries import diff_answer, timeline_answer
from packages.headwater.tests.conftest import Call
from packages.headwater.tests.support.graphs import DAG, SQL, TASK, loads
from packages.headwater.tests.support.moments import at


def _lines(answer: dict[str, Any]) -> list[str]:
    """Return the changes in short form, oldest first."""
    results = []
    for change in reversed(answer["changes"]):
        names = [answer["nodes"][change[key]]["name"] for key in ("node", "other") if change[key]]
        gone = "-" if change["isGone"] else ""
        results.append(
            " ".join([change["at"][11:13], gone + change["kind"], *names, *change["detail"]])
        )
    return results


def _nights(build: Any, *inputs: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return the events of a weather job, and of one nightly run with varying inputs."""
    events = [build.run("COMPLETE", "w", "weather", "07:00:00", writes=("db|weather",))]
    for number, reads in enumerate(inputs):
        events.append(
            build.run("COMPLETE", f"r{number}", "prepare", f"{8 + number:02}:00:00",
                      reads=reads, writes=("db|data",))
        )  # fmt: skip
    return events


def test_new_input_is_a_change_with_its_run_and_diff(
    build: Any,
) -> None:
    events = _nights(build, ("db|rides",), ("db|rides",), ("db|rides", "db|weather"))
    state = build.state(*events)
    result = timeline_answer(state, "prepare")
    assert _lines(result) == [
        "08 node data prepare",
        "08 node rides prepare",
        "08 node prepare",
        "10 input prepare weather",
    ]
    (change,) = [item for item in result["changes"] if item["kind"] == "input"]
    assert change["runId"] == "r2"
    before, after = (
        build.state(*(event for event in events if event["eventTime"] <= change[moment]))
        for moment in ("before", "at")
    )
    assert diff_answer(before, after)["edgesAdded"] == [["dataset:db:weather", "job:demo:prepare"]]


def test_timeline_of_a_dataset_has_changes_of_its_jobs(build: Any) -> None:
    state = build.state(*_nights(build, ("db|rides",), ("db|weather",), ("db|rides",)))
    result = _lines(timeline_answer(state, "dataset:db:weather", up=0, down=1))
    assert "09 input prepare weather" in result
    assert "10 -input prepare weather" in result


def test_edge_of_an_effective_older_run_is_not_removed(build: Any) -> None:
    state = build.state(*loads(build, "01", "02", "03"))
    result = _lines(timeline_answer(state, "dag.stage", up=1, down=0))
    assert [item for item in result if "/0" in item] == [
        "10 node /01 dag.stage",
        "11 node /02 dag.stage",
        "12 node /03 dag.stage",
    ]


def test_timeline_of_a_pipeline_has_changes_of_external_edges(build: Any) -> None:
    def night(number: int, *reads: str) -> list[dict[str, Any]]:
        dag, hour = (f"d{number}", "dag"), f"{8 + number:02}"
        return [
            build.run("COMPLETE", f"s{number}", "dag.stage", f"{hour}:01:00", parent=dag,
                      kind=TASK, reads=("db|in",), writes=("db|staging",)),
            build.run("COMPLETE", f"l{number}", "dag.load", f"{hour}:02:00", parent=dag,
                      kind=TASK, reads=("db|staging", *reads), writes=("db|out",)),
            build.run("COMPLETE", f"d{number}", "dag", f"{hour}:03:00", kind=DAG),
        ]  # fmt: skip

    events = [*night(0), *night(1, "db|in"), *night(2, "db|other")]
    result = _lines(timeline_answer(build.state(*events), "dag", level="pipeline"))
    assert [item for item in result if "staging" in item] == []
    assert [item for item in result if item.startswith(("09", "10"))] == ["10 node other dag"]


def test_timeline_has_code_schema_and_failure_changes(build: Any) -> None:
    def ran(hour: str, type_: str, code: str, *fields: str) -> dict[str, Any]:
        event: dict[str, Any] = build.run(type_, f"r{hour}", "load", f"{hour}:00:00")
        event["job"]["facets"]["sourceCodeLocation"] = {"version": code}
        reported = {"fields": [{"name": name, "type": "int"} for name in fields]}
        event["outputs"] = [build.dataset("db|t", schema=reported)]
        return event

    bad = build.run("FAIL", "r11", "load", "11:00:00")
    bad["run"]["facets"]["errorMessage"] = {"message": "no disk"}
    state = build.state(ran("08", "COMPLETE", "a", "x"), ran("09", "COMPLETE", "b", "x"),
                        ran("10", "COMPLETE", "b", "x", "y"), bad)  # fmt: skip
    result = timeline_answer(state, "load")
    assert _lines(result)[2:] == [
        "09 code load a b",
        "10 schema t + y: int",
        "11 failed load no disk",
    ]
    assert timeline_answer(state, "load", limit=1)["changes"] == result["changes"][:1]
    assert timeline_answer(state, "load", limit=1)["isMore"]


def test_runs_are_counted_by_interval_and_state(build: Any) -> None:
    good = [build.run("COMPLETE", f"r{n}", "load", f"{n:02}:10:00", reads=("db|t",))
            for n in range(8, 12)]  # fmt: skip
    bad = [build.run("FAIL", "x", "load", "11:20:00"), build.run("START", "y", "load", "11:30:00")]
    state = at(build.state(*good, *bad), "2025-11-21T12:00:00Z")
    span = {"from_": "2025-11-21T10:00:00Z", "to": "2025-11-21T12:00:00Z"}
    result = timeline_answer(state, "load", parts=2, **span)
    assert result["runs"] == [
        {"from": "2025-11-21T10:00:00Z", "to": "2025-11-21T11:00:00Z",
         "at": "2025-11-21T11:00:00Z", "completed": 1, "failed": 0, "lost": 0, "running": 0},
        {"from": "2025-11-21T11:00:00Z", "to": "2025-11-21T12:00:00Z",
         "at": "2025-11-21T12:00:00Z", "completed": 1, "failed": 1, "lost": 0, "running": 1},
    ]  # fmt: skip
    assert [change["kind"] for change in result["changes"]] == ["failed"]
    whole = timeline_answer(state, "load", parts=1)
    assert (whole["from"], whole["to"]) == ("2025-11-21T08:10:00Z", "2025-11-21T12:00:00Z")
    assert sum(whole["runs"][0][group] for group in ("completed", "failed", "running")) == 6


def test_interval_time_is_after_the_end_of_its_runs(build: Any) -> None:
    task = ("t", "load")
    events = [
        build.run("START", *task, "08:00:00", kind=TASK),
        build.run("COMPLETE", "q", "app.q", "11:29:00", parent=task, kind=SQL,
                  reads=("db|a",), writes=("db|t",)),
        build.run("COMPLETE", *task, "11:30:00", kind=TASK),
        build.run("START", "later", "load", "11:50:00", kind=TASK),
    ]  # fmt: skip
    state = at(build.state(*events), "2025-11-21T12:00:00Z")
    result = timeline_answer(state, "dataset:db:t", parts=4)
    assert [(part["to"][11:16], part["at"][11:16]) for part in result["runs"]] == [
        ("09:00", "11:30"),
        ("12:00", "12:00"),
    ]
    then = build.state(
        *(event for event in events if event["eventTime"] <= result["runs"][0]["at"])
    )
    assert graph_answer(then, "dataset:db:t")["nodes"]


def test_timeline_command_prints_changes_and_run_counts(
    build: Any, call: Call, tmp_path: Path
) -> None:
    events = _nights(build, ("db|rides",), ("db|weather",), ("db|rides",))
    for event, code in zip(events[1:], ("a", "b", "b"), strict=True):
        event["job"]["facets"]["sourceCodeLocation"] = {"version": code}
        fields = [{"name": name, "type": "int"} for name in ("x", code)]
        event["outputs"] = [build.dataset("db|data", schema={"fields": fields})]
    events.append(build.run("FAIL", "r9", "prepare", "12:00:00"))
    log = EventLog(str(tmp_path / "log.db"))
    log.append([build.entry(body) for body in events])
    log.close()
    there = ("--database", str(tmp_path / "log.db"))
    result = call("timeline", "prepare", *there)
    *changes, runs = result.stdout.splitlines()
    assert (result.returncode, runs) == (0, "4 runs: 3 completed, 1 failed")
    assert [" ".join(line[21:].split()) for line in changes] == [
        "! prepare failed",
        "+ rides became an input of prepare",
        "- weather is no longer an input of prepare",
        "+ weather became an input of prepare",
        "- rides is no longer an input of prepare",
        "~ prepare: code a → b",
        "~ data: + b: int, − a: int",
        "+ prepare is new",
        "+ rides is new, first used by prepare",
        "+ data is new, first used by prepare",
    ]
    short = call("timeline", "prepare", "--limit", "1", *there).stdout.splitlines()
    assert (short[0][21:], short[1][:14]) == ("!  prepare failed", "More results: ")
    since = call("timeline", "prepare", "--since", "2025-11-21T13:00:00Z", *there).stdout
    assert since.splitlines() == ["No changes.", "0 runs"]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"from_": "soon"}, "from: received 'soon', expected a time"),
        ({"to": "later"}, "to: received 'later', expected a time"),
        ({"from_": "2030-01-01T00:00:00Z"}, "expected a time before now"),
    ],
)
def test_invalid_time_is_rejected(asked: dict[str, str], message: str, build: Any) -> None:
    with pytest.raises(ConfigError, match=message):
        timeline_answer(build.state(*_nights(build, ("db|rides",))), "prepare", **asked)


_NIGHT = st.tuples(
    st.sampled_from(("COMPLETE", "FAIL", "START")),
    st.sets(st.sampled_from("abc")),
    st.sets(st.sampled_from("xyz")),
)


def _expected(oldest_first: list[Generation]) -> set[Generation]:
    """Return the effective generations as the rule says it."""
    complete = [g for g in oldest_first if g.is_complete]
    wrote = [g for g in complete if g.edges.writes]
    newest = (wrote or complete)[-1:]
    since = oldest_first.index(newest[0]) if newest else -1
    unfinished = [g for g in oldest_first[since + 1 :] if not g.is_complete]
    unreplaced = [
        g
        for place, g in enumerate(oldest_first)
        if g.edges.writes.difference(*(later.edges.writes for later in oldest_first[place + 1 :]
                                       if later.is_complete))
    ]  # fmt: skip
    return {*newest, *unfinished, *unreplaced}


@settings(max_examples=80)
@given(nights=st.lists(_NIGHT, min_size=1, max_size=8))
def test_steps_match_the_effective_generations_at_every_time(nights: list[Any], build: Any) -> None:
    events = [
        build.run(type_, f"r{n}", "j", f"{8 + n:02}:00:00",
                  reads=tuple(f"db|{read}" for read in sorted(reads)),
                  writes=tuple(f"db|{write}" for write in sorted(writes)))
        for n, (type_, reads, writes) in enumerate(nights)
    ]  # fmt: skip
    generations = generations_of(build.state(*events))
    ref = JobRef("demo", "j")
    derived = generations.derived(ref, "all", list)
    kept, effective, edges = of_task.EffectiveGenerations(), set[Generation](), set[Any]()
    for count, (generation, step) in enumerate(
        zip(derived, steps_of(generations, ref, Level.TASK), strict=True)
    ):
        kept.take(generation)
        effective = (effective | set(kept.entered)) - set(kept.left)
        expected = _expected(derived[: count + 1])
        assert effective == expected == set(of_task.effective(derived[: count + 1]))
        edges = (edges | step.added) - step.removed
        reads = {name for item in expected for name in item.edges.reads}
        writes = {name for item in expected for name in item.edges.writes}
        assert {e.dataset for e in edges if e.direction == "reads"} == reads
        assert {e.dataset for e in edges if e.direction == "writes"} == writes


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"])
def test_timeline_accepts_events_at_extreme_times(build: Any, time: str) -> None:
    event = build.run("COMPLETE", "1", "load", "08:00:00", reads=("db|a",), writes=("db|b",))
    state = build.state(event, event | {"eventTime": time, "run": {"runId": "2", "facets": {}}})
    answer = timeline_answer(state, "b", from_="0001-01-01T00:00:00Z", to="9999-12-31T23:59:59Z")
    assert answer["level"] == "task"
