from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from headwater.events import shown_time, with_parent
from headwater.log import EventLog
from headwater.projection import RunState, outcome, start_of
from headwater.projection.derived import began_at, parent_of
from headwater.projection.live import Batch, Live
from headwater.runs.queries import runs_answer


def _run(state: Any, run_id: str) -> Any:
    (key,) = state.runs_by_id[run_id]
    return state.runs[key]


@pytest.mark.parametrize("type_", ["RUNNING", "PAUSED", None])
def test_late_events_neither_reopen_nor_extend_a_run(type_: str | None, build: Any) -> None:
    end = build.run("COMPLETE", "r", "j", "08:05:00")
    late = build.run("START", "r", "j", "08:00:00")
    state = build.state(end, late, build.run(type_, "r", "j", "08:36:00"))
    condition, ended = outcome(state, _run(state, "r"))
    assert condition is RunState.COMPLETED
    assert shown_time(ended) == "2025-11-21T08:05:00Z"
    assert shown_time(start_of(_run(state, "r"))) == "2025-11-21T08:00:00Z"


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        (["START", "FAIL"], RunState.FAILED),
        (["START", "ABORT"], RunState.ABORTED),
        (["RUNNING"], RunState.RUNNING),
        (["OTHER"], RunState.NEW),
        (["COMPLETE", "FAIL"], RunState.FAILED),
        (["FAIL", "COMPLETE"], RunState.COMPLETED),
    ],
)
def test_last_end_by_event_time_determines_the_state(
    types: list[str], expected: RunState, build: Any
) -> None:
    events = [build.run(t, "r", "j", f"08:0{i}:00") for i, t in enumerate(types)]
    assert outcome(build.state(*events[::-1]), _run(build.state(*events), "r")).state is expected


def test_inputs_and_outputs_of_a_run_are_merged(build: Any) -> None:
    state = build.state(
        build.run("START", "r", "j", "08:00:00", reads=("db|a",)),
        build.run("RUNNING", "r", "j", "08:01:00", writes=("db|b",)),
        build.run("COMPLETE", "r", "j", "08:02:00", reads=("db|c",)),
    )
    run = _run(state, "r")
    assert {name.name for name in run.inputs} == {"a", "c"}
    assert {name.name for name in run.outputs} == {"b"}


def test_run_without_end_takes_it_from_an_ancestor(build: Any) -> None:
    state = build.state(
        build.run("START", "q", "app.query", "08:02:00", parent=("a", "app")),
        build.run("START", "a", "app", "08:01:00", parent=("t", "dag.task")),
        build.run("START", "t", "dag.task", "08:00:00"),
        build.run("FAIL", "t", "dag.task", "08:05:00"),
    )
    assert outcome(state, _run(state, "q")).state is RunState.FAILED
    assert shown_time(outcome(state, _run(state, "q")).ended) == "2025-11-21T08:05:00Z"


def test_stale_run_is_lost_until_its_end_arrives(log: EventLog, build: Any) -> None:
    since = datetime.now(UTC) - datetime.fromisoformat("2025-11-21T08:30:00Z")
    live = Live(log, lost_after=since.total_seconds())

    def states() -> dict[str, str]:
        with live.reading() as state:
            return {
                run["job"]["name"]: run["state"] for run in runs_answer(state, None, 10)["items"]
            }

    flow, step = ("f", "Flow"), ("s", "Flow.step")
    live.ingest(Batch([build.entry(build.run("START", *flow, "08:00:00"))]))
    assert states() == {"Flow": "LOST"}
    live.ingest(Batch([build.entry(build.run("START", *step, "09:00:00", parent=flow))]))
    assert states() == {"Flow": "RUNNING", "Flow.step": "RUNNING"}  # a child run is active
    live.ingest(Batch([build.entry(build.run("FAIL", *flow, "08:10:00"))]))
    assert states() == {"Flow": "FAILED", "Flow.step": "FAILED"}


def test_run_id_shared_by_two_jobs_keeps_datasets_separate(build: Any) -> None:
    state = build.state(
        build.run("COMPLETE", "r", "one", "08:00:00", reads=("db|a",)),
        build.run("COMPLETE", "r", "two", "08:01:00", reads=("db|b",)),
    )
    inputs = {key.job.name: {n.name for n in state.runs[key].inputs} for key in state.runs}
    assert inputs == {"one": {"a"}, "two": {"b"}}


def test_cycle_of_parents_terminates(build: Any) -> None:
    state = build.state(
        build.run("START", "a", "x", "08:00:00", parent=("b", "y")),
        build.run("START", "b", "y", "08:00:00", parent=("a", "x")),
    )
    assert outcome(state, _run(state, "a")).state is RunState.RUNNING


def test_repeated_batch_changes_nothing(live: Live, build: Any) -> None:
    entries = [build.entry(build.run("START", run, "j", "08:00:00")) for run in ("a", "b")]
    assert (live.ingest(Batch(entries)).stored, live.ingest(Batch(entries)).duplicates) == (2, 2)


@pytest.mark.each_database
def test_events_of_another_process_are_followed(live: Live, build: Any) -> None:
    other = Live(live.log)
    other.ingest(Batch([build.entry(build.run("START", "a", "j", "08:00:00"))]))
    live.ingest(Batch([build.entry(build.run("START", "b", "j", "08:00:00"))]))
    other.follow()
    for item in (live, other):
        with item.reading() as state:
            assert set(state.runs_by_id) == {"a", "b"}


@pytest.mark.each_database
def test_concurrent_writers_lose_no_event(live: Live, build: Any) -> None:
    live.start()
    futures = [
        live.submit(Batch([build.entry(build.run("START", f"r{i % 50}", "j", "08:00:00"))]))
        for i in range(200)
    ]
    live.stop()
    assert sum(future.result().stored for future in futures) == 50
    assert len(list(live.log.read())) == 50


def test_run_without_events_lasts_as_long_as_its_children(build: Any) -> None:
    above = ("t", "dag.task")
    state = build.state(
        build.run("START", "a", "app", "08:01:00", parent=above),
        build.run("COMPLETE", "a", "app", "08:03:00", parent=above),
    )
    silent = _run(state, "t")
    assert outcome(state, silent).state is RunState.COMPLETED
    assert shown_time(outcome(state, silent).ended) == "2025-11-21T08:03:00Z"
    assert shown_time(began_at(state, silent)) == "2025-11-21T08:01:00Z"


def test_legacy_facet_parent_run_is_the_parent(build: Any) -> None:
    child = build.run("COMPLETE", "c", "dag.task", "08:00:00", parent=("p", "dag"))
    facets = child["run"]["facets"]
    facets["parentRun"] = facets.pop("parent")
    state = build.state(child, build.run("START", "p", "dag", "07:59:00"))
    run = next(run for run in state.runs.values() if run.key.run_id == "c")
    above = parent_of(state, run)
    assert above is not None
    assert above.key.job.name == "dag"
    assert run.facets.plain().keys() == {"parent"}
    both = facets | {"parent": {"run": {"runId": "q"}, "job": {"namespace": "demo", "name": "d"}}}
    assert with_parent(both) == {"parent": both["parent"]}
