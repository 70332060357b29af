"""An updated graph that is built in parts equals the graph built at once from all events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.events import JobRef, Logged
from headwater.graph.current import generations_of, graph_of, whole_graph_of
from headwater.graph.effective import Graph, PipelineGraph
from headwater.graph.levels import Level
from headwater.graph.nodes import Node
from headwater.graph.run_edges import Edges
from headwater.identity import DatasetName
from headwater.lineage.control import control_edges
from headwater.lineage.neighborhood import graph_around
from headwater.lineage.queries import tree_answer
from headwater.log import Entry
from headwater.plugins.impact.queries import impact_answer
from headwater.projection import State, project
from headwater.projection._apply import apply
from packages.headwater.tests.support.budgets import examples
from packages.headwater.tests.support.entry_strategies import some_entries
from packages.headwater.tests.support.graphs import commit, edges, state_partition_sources


def _edges(state: State, graph: Graph) -> dict[str, Any]:
    """Return all edges of a graph, node by node."""
    names = sorted(set(state.identity))
    nodes = [*map(Node.of_job, sorted(state.jobs)), *map(Node.of_dataset, names)]
    return {
        "jobs": {ref: graph.edges_of(ref) for ref in state.jobs},
        "readers": {name: graph.readers_of(name) for name in names},
        "writers": {name: graph.writers_of(name) for name in names},
        "links": {(node, way): graph.linked(node, way) for node in nodes for way in ("up", "down")},
    }


def _present(state: State) -> set[Any]:
    return {
        (g.job, g.order, frozenset(g.edges.reads)) for g in generations_of(state).present.parts()
    }


def _between_pipelines(state: State, root: Node) -> PipelineGraph:
    """Return the graph between pipelines, from the whole graph."""
    parts = generations_of(state).present.parts().values()
    used = {name for part in parts for name in part.reads if part.writes - {name}}
    return PipelineGraph(whole_graph_of(state, Level.PIPELINE), root, used.__contains__)


def _assert_same_graphs(updated: State, fresh: State) -> None:
    """Assert that a state queried between its events has the same graphs as a new state.

    The updated state is queried node by node, the new one as a whole.
    """
    for level in Level:
        whole = whole_graph_of(fresh, level)
        assert _edges(updated, graph_of(updated, level)) == _edges(fresh, whole)
        pairs = control_edges(generations_of(fresh), level)
        for ref in fresh.jobs:
            near = {pair for pair in pairs if ref in pair}
            assert control_edges(generations_of(updated), level, [ref]) == near
    for root in map(Node.of_dataset, sorted(set(updated.identity))):
        graph = graph_around(updated, root, Level.PIPELINE)
        assert _edges(updated, graph) == _edges(fresh, _between_pipelines(fresh, root))
    assert _present(updated) == _present(fresh)


def _assert_updates(events: Sequence[Logged], is_queried: Sequence[bool]) -> State:
    """Apply events, compare the graphs after the selected ones and the last; return the state."""
    state = State()
    for count, event in enumerate(events, 1):
        apply(state, event)
        if is_queried[count - 1] or count == len(events):
            _assert_same_graphs(state, project(events[:count]))
    return state


_QUERIED = st.lists(st.booleans(), min_size=17, max_size=17)


@pytest.mark.replay
@settings(max_examples=examples(100))
@given(entries=some_entries(), is_queried=_QUERIED)
def test_parts_of_the_graph_equal_the_whole(entries: list[Entry], is_queried: list[bool]) -> None:
    _assert_updates([entry.event for entry in entries], is_queried)


_NAMES = st.lists(
    st.sampled_from(("hive://h|a", "s3://b|b", "s3://b|c", "db|d")), max_size=2, unique=True
)
_RUN = st.tuples(
    st.sampled_from("pqr"),
    st.integers(0, 9),
    st.sampled_from(("COMPLETE", "COMPLETE", "FAIL", "START")),
    _NAMES,
    _NAMES,
    st.sampled_from(
        (
            "replaces",
            "keeps rows",
            "part 0",
            "part 1",
            "sources of parts",
            "explicit lineage",
            "hive://h|a",
            "flink://|a",
            "db|d",
            "CREATE",
            "DROP",
            "TRUNCATE",
            "RENAME",
            "STREAMING",
            "version",
        )
    ),
)


def _add_kind(body: dict[str, Any], kind: str) -> None:
    """Make an event that of a streaming run, or add versions or a lifecycle change to datasets."""
    if kind == "STREAMING":
        body["job"]["facets"]["jobType"] = {"processingType": kind}
    elif kind == "VERSION":
        for item in (*body["inputs"], *body["outputs"]):
            item["facets"]["version"] = {"datasetVersion": str(len(body["inputs"]))}
    else:
        former = {"namespace": "db", "name": "d"}
        for item in body["outputs"]:
            change = {"lifecycleStateChange": kind, "previousIdentifier": former}
            item["facets"]["lifecycleStateChange"] = change


def _event(build: Any, number: int, run: Any) -> Logged:
    """Return the event of a run that, by its kind, keeps rows, states sources or joins names."""
    job, hour, type_, reads, writes, kind = run
    body: dict[str, Any] = build.run(
        type_, f"r{number}", job, f"0{hour}:00:00", reads=tuple(reads), writes=tuple(writes)
    )
    if kind == "keeps rows":
        body = commit(body, 1, 2)
    elif kind.startswith("part"):
        condition = {"type": "location", "locations": [kind]}
        for item in body["outputs"]:
            item["outputFacets"] = {"subset": {"outputCondition": condition}}
    elif kind == "sources of parts":
        state_partition_sources(body)
    elif kind == "explicit lineage":
        inputs = [{"type": "DATASET", **item} for item in body["inputs"]]
        entries = [{"type": "DATASET", **item} for item in body["outputs"]]
        for entry in entries[:1]:
            entry["inputs"] = inputs
        body["job"]["facets"]["lineage"] = {"entries": entries}
    elif kind.isupper():
        _add_kind(body, kind)
    elif "|" in kind:
        namespace, name = kind.split("|")
        table = {"namespace": namespace, "name": name, "type": "TABLE"}
        for item in (*body["inputs"], *body["outputs"]):
            item["facets"] = {"symlinks": {"identifiers": [table]}}
    return build.entry(body).event


@pytest.mark.replay
@settings(max_examples=examples(100))
@given(runs=st.lists(_RUN, min_size=2, max_size=12), is_queried=_QUERIED)
def test_present_generations_follow_every_event(
    runs: list[Any], is_queried: list[bool], build: Any
) -> None:
    _assert_updates([_event(build, n, run) for n, run in enumerate(runs)], is_queried)


def test_late_first_write_is_no_origin_of_an_earlier_reader(build: Any) -> None:
    bodies = [
        build.run("COMPLETE", "p1", "p", "01:00:00", reads=("db|a",), writes=("db|b",)),
        *(build.run("COMPLETE", f"q{h}", "q", f"0{h}:00:00", writes=("db|a",)) for h in "32"),
    ]
    state = _assert_updates([build.entry(body).event for body in bodies], [True, True, True])
    assert len(_present(state)) == 2  # the reader, and the newest write


def test_superseded_load_counts_while_downstream_data_comes_from_it(build: Any) -> None:
    bodies = [
        build.run("COMPLETE", "p1", "p", "01:00:00", reads=("db|a",), writes=("db|c",)),
        build.run("COMPLETE", "q1", "q", "02:00:00", reads=("db|c",), writes=("db|d",)),
        build.run("COMPLETE", "r1", "r", "03:00:00", reads=("db|d",), writes=("db|e",)),
        build.run("COMPLETE", "p2", "p", "04:00:00", reads=("db|b",), writes=("db|c",)),
        build.run("COMPLETE", "q2", "q", "05:00:00", reads=("db|c",), writes=("db|d",)),
        build.run("COMPLETE", "r2", "r", "06:00:00", reads=("db|d",), writes=("db|e",)),
    ]
    events = [build.entry(body).event for body in bodies]
    assert len(_present(_assert_updates(events[:5], [True] * 5))) == 5
    assert len(_present(_assert_updates(events, [True] * 6))) == 3


def test_older_run_counts_only_for_the_outputs_that_are_still_used(build: Any) -> None:
    """A later job read table x of the first split; table y of that split was replaced since."""

    def split(run: str, time: str, source: str) -> dict[str, Any]:
        reads, writes = (f"db|{source}", "db|u"), ("db|y", "db|x")
        body: dict[str, Any] = build.run("COMPLETE", run, "split", time, reads=reads, writes=writes)
        for output, name in zip(body["outputs"], (source, "u"), strict=True):
            made_of = [{"namespace": "db", "name": name, "field": "c"}]
            output["facets"]["columnLineage"] = {"fields": {"c": {"inputFields": made_of}}}
        return body

    state = build.state(
        build.run("COMPLETE", "h1", "load", "01:00:00", reads=("db|w",), writes=("db|z",)),
        split("g1", "02:00:00", "z"),
        build.run("COMPLETE", "m1", "report", "03:00:00", reads=("db|x",), writes=("db|n",)),
        build.run("COMPLETE", "h2", "load", "04:00:00", reads=("db|v",), writes=("db|z",)),
        split("g2", "05:00:00", "other"),
    )
    assert edges(state, "task") == {
        "load < v", "load > z", "report < x", "report > n",
        "split < other", "split < u", "split > x", "split > y",
    }  # fmt: skip
    assert _names(tree_answer(state, "job:demo:split", "up")["up"]) == {"split", "other", "u"}
    assert impact_answer(state, "dataset:db:z")["affected"] == []


def _names(tree: Any) -> set[str]:
    return {tree["name"]}.union(*map(_names, tree["children"]))


def test_parent_named_with_another_job_belongs_to_the_family(build: Any) -> None:
    bodies = [
        build.run("COMPLETE", "p1", "p", "01:00:00", kind="AIRFLOW/TASK"),
        build.run("COMPLETE", "q1", "q", "01:00:01", parent=("p1", "alias"), writes=("db|a",)),
    ]
    _assert_updates([build.entry(body).event for body in bodies], [True, True])


def test_new_level_of_a_parent_changes_the_owner_of_earlier_writes(build: Any) -> None:
    bodies = [
        build.run("COMPLETE", "q1", "q", "01:00:00", parent=("p1", "p"), writes=("db|a",)),
        build.run("COMPLETE", "r1", "r", "01:30:00", reads=("db|a",), writes=("db|b",)),
        build.run("COMPLETE", "q2", "q", "02:00:00", parent=("p2", "p"), writes=("db|a",)),
        build.run("COMPLETE", "p1", "p", "01:00:00", kind="AIRFLOW/TASK"),
    ]
    state = _assert_updates([build.entry(body).event for body in bodies], [True] * 4)
    assert [job.name for job, *_ in sorted(_present(state))] == ["p", "p", "r"]


_B, _C = {"namespace": "db://h", "name": "b"}, {"namespace": "db://h", "name": "c"}


@pytest.mark.parametrize(
    "without_run",
    [
        {"job": {"namespace": "demo", "name": "declared"}, "inputs": [_B], "outputs": [_C]},
        {"dataset": _C | {"facets": {"lineage": {"inputs": [_B | {"type": "DATASET"}]}}}},
        {"dataset": _B | {"facets": {"lineage": {"inputs": [_C | {"type": "DATASET"}]}}}},
    ],
    ids=["declared", "source of a derivation", "derived"],
)
def test_joined_names_change_edges_without_a_run(without_run: Any, build: Any) -> None:
    joining = build.run("COMPLETE", "q1", "q", "02:00:00")
    joining["inputs"] = [build.dataset("db://h|b", symlinks=[("db://h", "a", "TABLE")])]
    bodies = [
        build.run("COMPLETE", "p1", "p", "01:00:00", writes=("db://h|b",)),
        {"eventTime": "2025-11-21T01:30:00Z", **without_run},
        joining,
    ]
    _assert_updates([build.entry(body).event for body in bodies], [True] * 3)


_FILES = [DatasetName("file", f"/{letter}") for letter in "abc"]
_SOURCES = st.sets(st.sampled_from(_FILES))
_ONE_RUN = st.builds(
    lambda reads, writes, stated, default: Edges(
        reads,
        writes,
        {name: found for name, found in stated.items() if name in writes} or None,
        default,
    ),
    *(_SOURCES, _SOURCES),
    st.dictionaries(st.sampled_from(_FILES), _SOURCES),
    st.none() | _SOURCES,
)


@given(runs=st.permutations(range(4)), edges=st.lists(_ONE_RUN, min_size=4, max_size=4))
def test_sources_do_not_depend_on_the_order_of_runs(runs: list[int], edges: list[Edges]) -> None:
    def sources(parts: list[Edges]) -> dict[DatasetName, set[DatasetName]]:
        total = Edges()
        for part in parts:
            total.add(part)
        return {name: total.sources_of(name) for name in total.writes}

    assert sources([edges[run] for run in runs]) == sources(edges)


@pytest.mark.parametrize("kind", ["TRUNCATE", "DROP"])
def test_run_that_only_removes_rows_is_a_possible_writer_as_after_a_restart(
    kind: str, build: Any
) -> None:
    read = build.run("COMPLETE", "r1", "reader", "08:00:00", reads=("db|a",))
    removing = build.run("COMPLETE", "r2", "cleaner", "09:00:00", writes=("db|a",))
    change = {"lifecycleStateChange": {"lifecycleStateChange": kind}}
    removing["outputs"][0]["facets"] = change
    state, name = State(), DatasetName("db", "a")
    for event in (read, removing):
        apply(state, build.entry(event).event)
        generations_of(state).writers(name)
    fresh = generations_of(build.state(read, removing))
    assert generations_of(state).writers(name) == fresh.writers(name) == [JobRef("demo", "cleaner")]
