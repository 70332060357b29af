"""A run depends on what was written before it ended, and never on later writes."""

from __future__ import annotations

from itertools import permutations
from math import inf
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.graph.current import generations_of
from headwater.lineage.queries import tree_answer
from headwater.plugins.impact.queries import impact_answer
from headwater.plugins.trust._health import health_answer
from headwater.plugins.trust.completeness import completeness_answer
from headwater.plugins.trust.gate import gate_answer
from headwater.projection import RunState, State, outcome, start_of
from headwater.projection.derived import is_lost, is_streaming

STREAM = {"jobType": {"processingType": "STREAMING"}}


def _jobs(state: State, name: str) -> set[str]:
    def below(node: dict[str, Any]) -> set[str]:
        return {node["name"]}.union(*map(below, node["children"]))

    return below(tree_answer(state, name)["up"])


def _copy(build: Any, type_: str, run: str, time: str, source: str, target: str) -> Any:
    job = run.rstrip("0123456789")
    reads, writes = (f"db|{source}",), (f"db|{target}",)
    return build.run(type_, run, job, time, reads=reads, writes=writes)


def _versioned(event: Any, version: str, side: str) -> Any:
    event[side][0]["facets"]["version"] = {"datasetVersion": version}
    return event


@pytest.mark.parametrize("type_", ["COMPLETE", "FAIL"])
def test_later_first_write_of_another_job_is_not_upstream(type_: str, build: Any) -> None:
    events = [
        _copy(build, "COMPLETE", "fill1", "08:00:00", "orders", "tmp"),
        _copy(build, "COMPLETE", "publish1", "09:00:00", "tmp", "daily"),
        _copy(build, type_, "other1", "10:00:00", "foreign", "tmp"),
    ]
    for order in permutations(events):
        state = build.state(*order)
        assert _jobs(state, "daily") == {"daily", "publish", "tmp", "fill", "orders"}
        assert gate_answer(state, ["daily"])["passed"]
        affected = {node["name"] for node in impact_answer(state, "foreign")["affected"]}
        assert "daily" not in affected


def test_write_during_a_long_reader_counts_with_the_earlier_one(build: Any) -> None:
    events = [
        _copy(build, "COMPLETE", "load1", "08:00:00", "one", "t"),
        _copy(build, "START", "report1", "09:00:00", "t", "r"),
        _copy(build, "COMPLETE", "load2", "10:00:00", "two", "t"),
        _copy(build, "COMPLETE", "report1", "11:00:00", "t", "r"),
        _copy(build, "COMPLETE", "load3", "12:00:00", "three", "t"),
    ]
    assert _jobs(build.state(*events), "r") == {"r", "report", "t", "load", "one", "two"}


def test_unfinished_write_does_not_hide_the_one_before(build: Any) -> None:
    events = [
        _copy(build, "COMPLETE", "load1", "08:00:00", "one", "t"),
        _copy(build, "START", "load2", "08:50:00", "two", "t"),
        _copy(build, "COMPLETE", "report1", "09:00:00", "t", "r"),
        _copy(build, "COMPLETE", "load2", "10:00:00", "two", "t"),
    ]
    assert _jobs(build.state(*events), "r") == {"r", "report", "t", "load", "one", "two"}


def test_reported_version_outranks_the_times(build: Any) -> None:
    early = _versioned(_copy(build, "COMPLETE", "load1", "08:00:00", "one", "t"), "1", "outputs")
    late = _versioned(_copy(build, "COMPLETE", "load2", "11:00:00", "two", "t"), "2", "outputs")
    for version, source in (("1", "one"), ("2", "two")):
        reader = _copy(build, "COMPLETE", "report1", "09:00:00", "t", "r")
        state = build.state(early, late, _versioned(reader, version, "inputs"))
        assert _jobs(state, "r") == {"r", "report", "t", "load", source}


def _stream(build: Any, type_: str, time: str) -> Any:
    event = _copy(build, type_, "enrich1", time, "topic", "out")
    return event | {"job": event["job"] | {"facets": STREAM}}


@pytest.mark.parametrize("end", [None, "10:30:00"])
def test_stream_depends_on_all_writes_until_its_end(end: str | None, build: Any) -> None:
    hours = {"one": "07", "two": "08", "three": "10", "four": "11"}
    writes = [
        _copy(build, "COMPLETE", f"load{hour}", f"{hour}:00:00", source, "topic")
        for source, hour in hours.items()
    ]
    events = [*writes, _stream(build, "START", "09:00:00")]
    if end:
        events.append(_stream(build, "COMPLETE", end))
    expected = {"one", "two", "three"} | (set() if end else {"four"})
    for order in (events, events[::-1]):
        assert _jobs(build.state(*order), "out") & hours.keys() == expected


def test_silent_stream_is_running_and_has_no_finding(build: Any) -> None:
    state = build.state(_stream(build, "START", "09:00:00"))
    state.stale_before = state.now = 2**60
    (run,) = (run for run in state.runs.values() if run.has_events)
    assert (outcome(state, run).state, is_lost(state, run)) == (RunState.RUNNING, False)
    assert health_answer(state)["isHealthy"]
    assert gate_answer(state, ["out"])["passed"]
    assert completeness_answer(state)["measures"]["ends"]["runs"] == 0


_RUN = st.tuples(
    st.sampled_from("pqr"),
    st.integers(0, 9),
    st.integers(0, 9),
    st.sampled_from(("COMPLETE", "FAIL", "START")),
    st.sets(st.sampled_from("abcd"), max_size=2),
    st.sets(st.sampled_from("abcd"), max_size=2),
    st.booleans(),
)


@settings(max_examples=80)
@given(runs=st.lists(_RUN, min_size=2, max_size=10))
def test_no_upstream_run_starts_after_its_reader_ended(runs: list[Any], build: Any) -> None:
    bodies = []
    for number, (job, start, end, type_, reads, writes, streams) in enumerate(runs):
        names = {"reads": [f"db|{n}" for n in reads], "writes": [f"db|{n}" for n in writes]}
        for kind, minute in (("START", start), (type_, start + end)):
            body = build.run(kind, f"r{number}", job, f"08:{minute:02}:00", **names)
            bodies.append(body | {"job": body["job"] | {"facets": STREAM if streams else {}}})
    state = build.state(*bodies)
    generations = generations_of(state)
    for reader in generations.present.parts():
        ends = [
            inf if is_streaming(state, r) and outcome(state, r).ended is None else r.last or 0
            for r in reader.runs
        ]
        for source in (flow.source for flow in generations.flows_into(reader)):
            assert all((start_of(run) or 0) <= max(ends) for run in source.runs)


def test_later_run_of_a_generation_writes_later(build: Any) -> None:
    dag = ("d1", "dag")
    events = [
        build.run("COMPLETE", "1", "load", "08:00:00", parent=dag, writes=("db|other",)),
        build.run("COMPLETE", "2", "report", "09:00:00", reads=("db|t",), writes=("db|r",)),
        build.run("COMPLETE", "3", "load", "10:00:00", parent=dag, writes=("db|t",)),
    ]
    assert _jobs(build.state(*events), "r") == {"r", "report", "t"}


def test_reader_of_a_view_of_a_dataset_event_depends_on_earlier_loads(build: Any) -> None:
    made_of = {"x": {"inputFields": [{"namespace": "db", "name": "t", "field": "x"}]}}
    view = build.dataset("db|v") | {"facets": {"columnLineage": {"fields": made_of}}}
    events = [
        build.run("COMPLETE", "1", "load", "08:00:00", writes=("db|t",)),
        {"eventTime": "2025-11-21T08:30:00Z", "dataset": view},
        build.run("COMPLETE", "2", "report", "09:00:00", reads=("db|v",), writes=("db|r",)),
        build.run("FAIL", "3", "later", "10:00:00", writes=("db|t",)),
    ]
    state = build.state(*events)
    assert _jobs(state, "r") == {"r", "report", "v", "t", "load"}
    assert _jobs(state, "v") == {"v", "t", "load", "later"}
