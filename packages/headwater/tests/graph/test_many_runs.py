"""The work of a query for a table to which a job added rows in many runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings

from headwater.graph.current import generations_of
from headwater.graph.generation import Generation
from headwater.graph.times import Times
from headwater.lineage.provenance import flows_from_others
from headwater.plugins.provenance.queries import provenance_answer
from headwater.plugins.trust.gate import gate_answer
from headwater.projection import State
from packages.headwater.tests.support.random_runs import RUNS, events_of


class _Unread(list[Generation]):
    """Generations that may be looked up by position, but not read one after another."""

    def __iter__(self) -> Iterator[Generation]:
        raise AssertionError("read all generations of a task")


def _loads(build: Any, count: int) -> State:
    """Return runs that replace `s`, each followed by one that adds its rows to `t`."""
    events = []
    for number in range(count):
        hour = f"{number:02}"
        events.append(
            build.run("COMPLETE", f"s{number}", "stage", f"{hour}:00:00", writes=("db|s",))
        )
        load = build.run(
            "COMPLETE",
            f"t{number}",
            "load",
            f"{hour}:30:00",
            reads=("db|s",),
            writes=("db|t",),
        )
        load["job"]["facets"]["sql"] = {"query": "insert into t select x from s"}
        for event, side, version in ((events[-1], "outputs", hour), (load, "inputs", hour)):
            event[side][0]["facets"] = {"version": {"datasetVersion": version}}
        events.append(load)
    state: State = build.state(*events)
    return state


def test_flows_into_a_run_do_not_read_all_runs(build: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    counted, calls = Times.counted, []

    def limited(self: Times, writing: list[Generation], *others: Any) -> list[Generation]:
        calls.append(writing)
        return counted(self, _Unread(writing), *others)

    monkeypatch.setattr(Times, "counted", limited)
    runs = provenance_answer(_loads(build, 9), "db/t")["runs"]
    assert len(runs) == 18
    assert calls


@pytest.mark.parametrize(
    "answer", [provenance_answer, lambda state, name: gate_answer(state, [name])]
)
def test_repeated_provenance_and_gate_determine_no_flow_again(
    answer: Any, build: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted, calls = Times.counted, []

    def noted(self: Times, *args: Any) -> list[Generation]:
        calls.append(args)
        return counted(self, *args)

    monkeypatch.setattr(Times, "counted", noted)
    made = []
    for count in (2, 12):
        state = _loads(build, count)
        answer(state, "db/t")
        calls.clear()
        answer(state, "db/t")
        made.append(len(calls))
    assert made[0] == made[1]


@settings(max_examples=60)
@given(runs=RUNS)
def test_cached_flows_equal_new_ones(runs: list[dict[str, Any]], build: Any) -> None:
    generations = generations_of(build.state(*events_of(build, runs)))
    for generation in generations.present.parts():
        found = flows_from_others(generations, generation)
        assert found == generations.flows_into(generation)
