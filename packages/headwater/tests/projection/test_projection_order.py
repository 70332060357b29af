from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.datasets.quality import checks_of
from headwater.events import Logged, parse_time, to_micros
from headwater.graph.column_graph import ColumnEdge
from headwater.graph.current import column_graph_of
from headwater.graph.nodes import Node, node_id
from headwater.lineage.queries import columns_answer, edges_answer, tree_answer
from headwater.log import Entry, entry_of
from headwater.plugins.marquez._latest import latest_of
from headwater.plugins.search.queries import jobs_answer
from headwater.plugins.trust.completeness import completeness_answer
from headwater.plugins.trust.queries import findings_answer
from headwater.projection import State, project
from headwater.projection._apply import apply
from headwater.runs.queries import runs_answer
from packages.headwater.tests.support.budgets import examples
from packages.headwater.tests.support.entry_strategies import canonical, run_entries, some_entries
from packages.headwater.tests.support.graphs import DAG, SQL, TASK


def _canonical(events: list[Logged]) -> bytes:
    return canonical(project(events))


WAYS: tuple[Literal["up", "down"], ...] = ("up", "down")


def _in_order(edges: dict[str, list[ColumnEdge]]) -> dict[str, list[ColumnEdge]]:
    return {field: sorted(found) for field, found in edges.items()}


def _answers(state: State) -> dict[str, Any]:
    """Return the graph of a state: edges at each level, newest runs, trees, columns."""
    latest = latest_of(state)
    columns = column_graph_of(state)
    names = sorted(set(state.identity))
    nodes = [node_id(Node.of_dataset(name)) for name in names]
    return {
        "edges": [edges_answer(state, level) for level in ("query", "task", "pipeline")],
        "latest": {ref: latest.edges_of(ref) for ref in state.jobs},
        "readers": {name: latest.readers_of(name) for name in names},
        "writers": {name: latest.writers_of(name) for name in names},
        "columns into": {name: _in_order(columns.edges_into(name)) for name in names},
        "columns from": {name: _in_order(columns.edges_from(name)) for name in names},
        "trees": [tree_answer(state, node, "both") for node in nodes],
        "columns": [columns_answer(state, n, direction=way) for n in nodes for way in WAYS],
        "checks": [[c._replace(run=None) for c in checks_of(state, name)] for name in names],
        **_trust(state),
    }


def _trust(state: State) -> dict[str, Any]:
    """Return the findings, completeness and counts of runs, when some open runs are lost."""
    state.now = to_micros(parse_time("2025-11-21T12:00:00Z"))
    state.stale_before = to_micros(parse_time("2025-11-21T09:30:00Z"))
    answers = {
        "findings": findings_answer(state),
        "completeness": completeness_answer(state),
        "runs": runs_answer(state, facets=True)["facets"],
        "lost": runs_answer(state, condition="LOST", facets=True),
        "jobs": jobs_answer(state),
    }
    state.now = state.stale_before = 0
    return answers


@pytest.mark.replay
@settings(max_examples=examples(80))
@given(entries=some_entries(), asks=st.lists(st.booleans(), min_size=17, max_size=17))
def test_incremental_graph_equals_the_full_graph(entries: list[Entry], asks: list[bool]) -> None:
    events = [entry.event for entry in entries]
    state = State()
    for count, event in enumerate(events, 1):
        apply(state, event)
        if asks[count - 1] or count == len(events):
            assert _answers(state) == _answers(project(events[:count]))


def _rare(build: Any) -> dict[str, list[dict[str, Any]]]:
    """Return histories whose last event changes an earlier query result in different ways."""

    def run(id_: str, job: str, hour: str, **more: Any) -> dict[str, Any]:
        return build.run(more.pop("type", "COMPLETE"), id_, job, f"{hour}:00:00", **more)

    step, reads = {"kind": TASK, "writes": ("db|out",)}, ("db|in",)
    return {
        "the end of a run is that of the open one below it": [
            run("d", "dag", "08", type="START", kind=DAG),
            run("t0", "dag.t", "07", parent=("d", "dag"), reads=("db|old",), **step),
            run("d1", "dag", "09", type="START", kind=DAG),
            run("t1", "dag.t", "10", type="START", parent=("d1", "dag"), reads=reads, **step),
            run("d1", "dag", "11", kind=DAG),
        ],
        "a query does something for another task than before": [
            run("a1", "dag.a", "08", type="START", kind=TASK),
            run("b1", "dag.b", "08", type="START", kind=TASK),
            run("q1", "q", "08", parent=("a1", "dag.a"), kind=SQL, writes=("db|a",)),
            run("q2", "q", "09", parent=("b1", "dag.b"), kind=SQL),
            run("b2", "dag.b", "10", type="START", kind=TASK),
            run("q3", "q", "10", parent=("b2", "dag.b"), kind=SQL, writes=("db|c",)),
        ],
        "a run that never spoke is placed by the second one below it": [
            run("c1", "c", "08", parent=("p1", "p"), root=("r1", "r"), writes=("db|a",)),
            run("e1", "e", "08", parent=("p1", "p"), root=("r1", "r"), writes=("db|b",)),
            run("c2", "c", "09", parent=("p2", "p"), writes=("db|a",)),
            run("e2", "e", "09", parent=("p2", "p"), root=("r2", "r"), writes=("db|b",)),
        ],
        "a job that never spoke turns out to have nothing above it": [
            run("c1", "c", "08", parent=("p1", "p"), root=("r1", "r"), writes=("db|a",)),
            run("p2", "p", "09"),
        ],
    }


@pytest.mark.parametrize("number", range(4))
def test_graph_is_updated_by_rare_events(build: Any, number: int) -> None:
    name, bodies = list(_rare(build).items())[number]
    events = [build.entry(body).event for body in bodies]
    state = State()
    for event in events:
        _answers(state)
        apply(state, event)
    assert _answers(state) == _answers(project(events)), name


@pytest.mark.replay
@settings(max_examples=examples(60))
@given(entries=run_entries(), random=st.randoms(use_true_random=False), data=st.data())
def test_order_and_repetition_do_not_change_the_projection(
    entries: list[Entry], random: Random, data: st.DataObject
) -> None:
    events = [entry.event for entry in entries]
    again = events + data.draw(st.lists(st.sampled_from(events), max_size=6))
    random.shuffle(again)
    assert _canonical(again) == _canonical(events)


def test_order_of_real_events_does_not_change_the_projection(recorded: Path) -> None:
    folder = recorded / "openlineage-events" / "this-stack"
    lines = [line for f in sorted(folder.glob("*.jsonl")) for line in f.read_bytes().splitlines()]
    events = [entry_of(line).event for line in lines]
    expected = _canonical(events)
    for seed in range(3):
        order = events + events[:: seed + 2]
        Random(seed).shuffle(order)
        assert _canonical(order) == expected
    assert _canonical(events[::-1]) == expected
