"""Trees, paths, columns and impact where two paths reach a dataset at different times."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.graph.current import generations_of
from headwater.graph.levels import Level
from headwater.graph.nodes import Node
from headwater.graph.walk import reach, reached
from headwater.lineage.queries import columns_answer, tree_answer
from headwater.lineage.timed_walk import TimedWalk
from headwater.lineage.walked_graph import walked_graph
from headwater.plugins.impact.queries import impact_answer, path_answer
from packages.headwater.tests.support.graphs import names
from packages.headwater.tests.support.random_runs import RUNS, events_of


@pytest.fixture
def state(build: Any) -> Any:
    """`early` read `orders` before the job `fix` wrote it, `late` read it after; `both` has both.

    The job `early` takes one step more than `late`, so a path over the edges alone is shorter.
    """
    return build.state(
        build.run("COMPLETE", "1", "load", "08:00:00", reads=("db|raw",), writes=("db|orders",)),
        build.run("COMPLETE", "2", "early", "09:00:00", reads=("db|orders",), writes=("db|a",)),
        build.run("COMPLETE", "3", "fix", "10:00:00", reads=("db|fixes",), writes=("db|orders",)),
        build.run("COMPLETE", "4", "late", "11:00:00", reads=("db|orders",), writes=("db|b",)),
        build.run("COMPLETE", "5", "copy", "11:30:00", reads=("db|b",), writes=("db|c",)),
        build.run("COMPLETE", "6", "both", "12:00:00", reads=("db|a", "db|c"), writes=("db|t",)),
    )


@pytest.mark.parametrize("level", ["task", "pipeline"])
def test_tree_shows_no_later_writer_above_an_earlier_reader(level: str, state: Any) -> None:
    load: Any = {"load": [{"raw": []}]}
    fix: Any = {"fix": [{"fixes": []}]}
    assert names(tree_answer(state, "db/t", "up", level=level)["up"]) == {
        "t": [{"both": [
            {"a": [{"early": [{"orders": [load]}]}]},
            {"c": [{"copy": [{"b": [{"late": [{"orders": [fix, {"load*": []}]}]}]}]}]},
        ]}]
    }  # fmt: skip
    after: Any = {"b": [{"copy": [{"c": [{"both": [{"t": []}]}]}]}]}
    down = names(tree_answer(state, "db/fixes", "down", level=level)["down"])
    assert down == {"fixes": [{"fix": [{"orders": [{"late": [after]}]}]}]}


@pytest.mark.parametrize("level", ["task", "pipeline"])
def test_path_and_distance_lead_through_the_later_reader(level: str, state: Any) -> None:
    path = [node["name"] for node in path_answer(state, "db/fixes", "db/t", level=level)["path"]]
    assert path == ["fixes", "fix", "orders", "late", "b", "copy", "c", "both", "t"]
    assert len(path_answer(state, "db/raw", "db/t", level=level)["path"]) == 7
    affected = {
        item["name"]: item["distance"]
        for item in impact_answer(state, "db/fixes", level=level)["affected"]
    }
    assert affected["t"] == len(path) - 1


def test_tree_of_pipelines_follows_times_through_their_tasks(build: Any) -> None:
    """The pipelines `early` and `late` pass data through staging tables, which are not shown."""

    def task(number: str, pipeline: str, time: str, source: str, target: str) -> Any:
        parent = (pipeline, pipeline)
        name, reads, writes = f"{pipeline}.{target}", (f"db|{source}",), (f"db|{target}",)
        return build.run("COMPLETE", number, name, time, parent=parent, reads=reads, writes=writes)

    state = build.state(
        task("1", "load", "08:00:00", "raw", "orders"),
        task("2", "early", "09:00:00", "orders", "stage"),
        task("3", "early", "09:10:00", "stage", "a"),
        task("4", "fix", "10:00:00", "fixes", "orders"),
        task("5", "late", "11:00:00", "orders", "late_stage"),
        task("6", "late", "11:10:00", "late_stage", "b"),
        build.run("COMPLETE", "7", "both", "12:00:00", reads=("db|a", "db|b"), writes=("db|t",)),
    )
    load: Any = {"load": [{"raw": []}]}
    assert names(tree_answer(state, "db/t", "up", level="pipeline")["up"]) == {
        "t": [{"both": [
            {"a": [{"early": [{"orders": [load]}]}]},
            {"b": [{"late": [{"orders": [{"fix": [{"fixes": []}]}, {"load*": []}]}]}]},
        ]}]
    }  # fmt: skip
    late: Any = {"late": [{"b": [{"both": [{"t": []}]}]}]}
    down = names(tree_answer(state, "db/fixes", "down", level="pipeline")["down"])
    assert down == {"fixes": [{"fix": [{"orders": [late]}]}]}


def test_file_of_a_folder_that_another_pipeline_reads_is_not_inside_its_pipeline(
    build: Any,
) -> None:
    """The writer alone uses the file itself, but the folder's reader has the contents too."""
    file = "s3://lake|trips/day=1"
    state = build.state(
        build.run("COMPLETE", "1", "load", "08:00:00", reads=("db|raw",), writes=(file,)),
        build.run("COMPLETE", "2", "load", "09:00:00", reads=(file,), writes=(file, "db|sums")),
        build.run("COMPLETE", "3", "report", "10:00:00", reads=("s3://lake|trips",)),
    )
    (sums, part) = names(tree_answer(state, "demo/load", "down", level="pipeline")["down"])["load"]
    assert sums == {"sums": []}
    assert {"trips": [{"report": []}]} in part["trips/day=1"]
    path = path_answer(state, "db/raw", "demo/report", level="pipeline")["path"]
    assert [node["name"] for node in path] == ["raw", "load", "trips/day=1", "trips", "report"]


def test_columns_follow_the_times_of_runs(build: Any) -> None:
    events = [
        build.run("COMPLETE", number, job, time, reads=(source,), writes=(target,))
        for number, job, time, source, target in (
            ("1", "load", "08:00:00", "db|raw", "db|orders"),
            ("2", "early", "09:00:00", "db|orders", "db|a"),
            ("3", "fix", "10:00:00", "db|fixes", "db|orders"),
            ("4", "late", "11:00:00", "db|orders", "db|b"),
            ("5", "of a", "12:00:00", "db|a", "db|t"),
            ("6", "of b", "12:00:00", "db|b", "db|t"),
        )
    ]
    for event in events:
        (source,), (target,) = event["inputs"], event["outputs"]
        field = {"namespace": source["namespace"], "name": source["name"], "field": "x"}
        target["facets"]["columnLineage"] = {"fields": {"x": {"inputFields": [field]}}}
    state = build.state(*events)

    def tree(column: Any) -> Any:
        return {column["name"]: [tree(child) for child in column["children"]]}

    (up,) = columns_answer(state, "db/t", "x")["up"]["children"]
    assert tree(up) == {
        "t": [{"a": [{"orders": [{"raw": []}]}]}, {"b": [{"orders": [{"fixes": []}, {"raw": []}]}]}]
    }
    (down,) = columns_answer(state, "db/fixes", "x", "down")["down"]["children"]
    assert tree(down) == {"fixes": [{"orders": [{"b": [{"t": []}]}]}]}


@pytest.mark.replay
@settings(max_examples=100)
@given(runs=RUNS)
def test_timed_walk_reaches_the_nodes_of_the_graph(runs: list[dict[str, Any]], build: Any) -> None:
    state = build.state(*events_of(build, runs))
    generations = generations_of(state)
    nodes = [*map(Node.of_dataset, set(state.identity)), *map(Node.of_job, state.jobs)]
    for level in Level:
        for way in ("up", "down"):
            for root in sorted(nodes):
                walked = reached(generations, root, way, level)
                graph = walked_graph(generations, walked, root, way, level)
                walk = TimedWalk(generations, graph, walked, root, way, level)
                assert walk.reach([root], -1).keys() == reach(graph, root, way, -1).keys()


_PLAIN = st.lists(
    st.fixed_dictionaries(
        {
            "job": st.sampled_from("pqrs"),
            "start": st.integers(0, 9),
            "hours": st.integers(0, 3),
            "reads": st.lists(st.sampled_from("abcd"), max_size=2, unique=True),
            "writes": st.lists(st.sampled_from("abcd"), max_size=2, unique=True),
        }
    ),
    min_size=1,
    max_size=9,
)
_Run = dict[str, Any]


@pytest.mark.replay
@settings(max_examples=100)
@given(runs=_PLAIN)
def test_runs_along_a_path_of_a_tree_follow_each_other(runs: list[_Run], build: Any) -> None:
    """On each path up, there is a run of each job that began before the next one ended."""
    events = []
    for number, run in enumerate(runs):
        uses = {side: tuple(f"db|{name}" for name in run[side]) for side in ("reads", "writes")}
        times = (f"{run['start']:02}:00:00", f"{run['start'] + run['hours']:02}:00:01")
        events += [
            build.run("START", f"r{number}", run["job"], times[0]),
            build.run("COMPLETE", f"r{number}", run["job"], times[1], **uses),
        ]
    state = build.state(*events)
    for name in "abcd":
        if Node("dataset", "db", name) in map(Node.of_dataset, set(state.identity)):
            for path in _paths(tree_answer(state, f"db/{name}", "up")["up"]):
                possible = [run for run in runs if run["job"] == path[1] and name in run["writes"]]
                for passed, job in zip(path[2::2], path[3::2], strict=False):
                    readers = [run for run in possible if passed in run["reads"]]
                    possible = [
                        run
                        for run in runs
                        if run["job"] == job and passed in run["writes"]
                        if any(run["start"] <= other["start"] + other["hours"] for other in readers)
                        or any(run["job"] == other["job"] for other in readers)
                    ]
                assert possible, path


def _paths(node: Any, above: tuple[str, ...] = ()) -> Iterator[list[str]]:
    """Yield the names of the nodes from the root to each job without repeated nodes below it."""
    path = (*above, node["name"])
    if node["type"] == "job":
        yield list(path)
    for child in node["children"]:
        yield from _paths(child, path)
