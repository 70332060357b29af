"""The graph that is kept up to date and built in parts is the graph of all events."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from throughline.graph.current import generations_of, graph_of, whole_graph_of
from throughline.graph.edges import LevelGraph, control_edges
from throughline.graph.effective import Graph, PipelineGraph
from throughline.graph.levels import Level
from throughline.graph.nodes import Node
from throughline.graph.walk import leave_out_inner
from throughline.log import Entry
from throughline.projection import State, project
from throughline.projection._apply import apply

from .entry_strategies import some_entries
from .graphs import commit

WAYS = ("up", "down")


def _edges(state: State, graph: Graph) -> dict[str, Any]:
    """Return all edges of a graph, node by node."""
    names = sorted(set(state.identity))
    nodes = [*map(Node.of_job, sorted(state.jobs)), *map(Node.of_dataset, names)]
    return {
        "jobs": {ref: graph.edges_of(ref) for ref in state.jobs},
        "readers": {name: graph.readers_of(name) for name in names},
        "writers": {name: graph.writers_of(name) for name in names},
        "links": {(node, way): graph.linked(node, way) for node in nodes for way in WAYS},
    }


def _present(state: State) -> set[Any]:
    return {(g.job, g.order, tuple(g.edges.reads)) for g in generations_of(state).present}


def _between_pipelines(state: State, root: Node) -> LevelGraph:
    present = generations_of(state).present
    graph = LevelGraph.build(generations_of(state), Level.PIPELINE, present)
    leave_out_inner(graph, present, root)
    return graph


def _check(state: State, anew: State) -> None:
    """Compare a state that was queried between its events with one of the same events."""
    assert _present(state) == _present(anew)
    for level in Level:
        whole = whole_graph_of(anew, level)
        assert _edges(state, graph_of(state, level)) == _edges(anew, whole)
        pairs = control_edges(generations_of(anew), level)
        for ref in anew.jobs:
            near = {pair for pair in pairs if ref in pair}
            assert control_edges(generations_of(state), level, [ref]) == near
    for root in map(Node.of_dataset, sorted(set(state.identity))):
        graph = PipelineGraph(generations_of(state), root)
        assert _edges(state, graph) == _edges(anew, _between_pipelines(anew, root))


@pytest.mark.replay
@settings(max_examples=100)
@given(entries=some_entries(), asks=st.lists(st.booleans(), min_size=17, max_size=17))
def test_parts_of_the_graph_equal_the_whole(entries: list[Entry], asks: list[bool]) -> None:
    events = [entry.event for entry in entries]
    state = State()
    for count, event in enumerate(events, 1):
        apply(state, event)
        if asks[count - 1] or count == len(events):
            _check(state, project(events[:count]))


_NAMES = st.lists(st.sampled_from(("db|a", "db|b", "db|c", "db|d")), max_size=2, unique=True)
_RUN = st.tuples(
    st.sampled_from("pqr"),
    st.integers(0, 9),
    st.sampled_from(("COMPLETE", "COMPLETE", "FAIL", "START")),
    _NAMES,
    _NAMES,
    st.sampled_from(("replaces", "keeps", "states", "links")),
)


def _run(build: Any, number: int, run: Any) -> dict[str, Any]:
    """Return a run that replaces its outputs, keeps their rows, states inputs, or joins names."""
    job, hour, type_, reads, writes, kind = run
    event: dict[str, Any] = build.run(
        type_, f"r{number}", job, f"0{hour}:00:00", reads=tuple(reads), writes=tuple(writes)
    )
    if kind == "keeps":
        return commit(event, 1, 2)
    if kind == "links":
        table = {"namespace": "db", "name": "a", "type": "TABLE"}
        for item in (*event["inputs"], *event["outputs"]):
            item["facets"] = {**item.get("facets", {}), "symlinks": {"identifiers": [table]}}
    if kind == "states":
        inputs = [{"type": "DATASET", **item} for item in event["inputs"]]
        entries = [{"type": "DATASET", **item} for item in event["outputs"]]
        for entry in entries[:1]:
            entry["inputs"] = inputs
        event["job"]["facets"]["lineage"] = {"entries": entries}
    return event


@settings(max_examples=100)
@given(runs=st.lists(_RUN, min_size=2, max_size=12), asks=st.integers(0, 2**12))
def test_present_generations_follow_every_event(runs: list[Any], asks: int, build: Any) -> None:
    events = [build.entry(_run(build, n, run)).event for n, run in enumerate(runs)]
    state = State()
    for count, event in enumerate(events, 1):
        apply(state, event)
        if asks >> count & 1 or count == len(events):
            _check(state, project(events[:count]))


def test_late_first_write_becomes_the_origin_of_an_earlier_reader(build: Any) -> None:
    reader = build.run("COMPLETE", "p1", "p", "01:00:00", reads=("db|a",), writes=("db|b",))
    writes = [
        build.run("COMPLETE", f"q{hour}", "q", f"0{hour}:00:00", writes=("db|a",)) for hour in "32"
    ]
    state = build.state(reader, writes[0])
    assert len(_present(state)) == 2
    apply(state, build.entry(writes[1]).event)
    assert len(_present(state)) == 3
    _check(state, build.state(reader, *writes))
