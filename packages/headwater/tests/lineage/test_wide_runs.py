"""The work for trees and graphs grows linearly with the inputs and outputs of runs."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from headwater.graph.levels import Level
from headwater.graph.nodes import Node
from headwater.graph.walk import reach
from headwater.lineage.neighborhood import graph_around
from headwater.lineage.queries import tree_answer
from headwater.lookup import find_node
from packages.headwater.tests.support.explicit import dataset, into, run_event

_COUNT, _MORE = 60, 4
_MOST_GROWTH = 1.5 * _MORE  # quadratic work would grow by nearly _MORE squared

Json = dict[str, Any]


def _reading(names: list[str]) -> list[Json]:
    return [run_event("big", reads=" ".join(names), writes="root")]


def _writing(names: list[str]) -> list[Json]:
    return [run_event("big", reads="root", writes=" ".join(names))]


def _between(names: list[str]) -> list[Json]:
    wide = " ".join(names)
    first = run_event("first", reads="source", writes=wide, time="2026-03-25T11:00:00Z")
    return [first, run_event("big", reads=wide, writes="root", run="2")]


def _with_columns(names: list[str]) -> list[Json]:
    event = run_event("big", reads=" ".join(names), writes="root other")
    sources = [{**source, "field": "x"} for source in event["inputs"]]
    facets = {"columnLineage": {"fields": {"x": {"inputFields": sources}}}}
    event["outputs"] = [{**output, "facets": facets} for output in event["outputs"]]
    return [event]


def _explicit(names: list[str]) -> list[Json]:
    entries = [into(dataset("root"), dataset(name)) for name in names]
    return [run_event("big", *entries, reads=" ".join(names), writes="root")]


def _calls(function: Callable[[], object]) -> int:
    """Return the number of calls of functions and steps of generators."""
    count: Counter[str] = Counter()
    sys.setprofile(lambda _frame, kind, _argument: count.update((kind,)))
    try:
        function()
    finally:
        sys.setprofile(None)
    return count["call"] + count["c_call"]


@pytest.mark.replay
@pytest.mark.parametrize(
    ("events", "direction"),
    [
        (_reading, "up"),
        (_writing, "down"),
        (_between, "up"),
        (_with_columns, "up"),
        (_explicit, "up"),
    ],
)
def test_work_for_a_tree_grows_linearly_with_the_datasets_of_a_run(
    build: Any, direction: Any, events: Callable[[list[str]], list[Json]]
) -> None:
    def calls(count: int) -> int:
        state = build.state(*events([f"d{number}" for number in range(count)]))
        trees: list[Any] = []
        call_count = _calls(lambda: trees.append(tree_answer(state, "root", direction)))
        (leaf,) = trees[0][direction]["children"]
        assert leaf["name"] == "big"
        assert len(leaf["children"]) == count
        return call_count

    assert calls(_COUNT * _MORE) < _MOST_GROWTH * calls(_COUNT)


def _staged(build: Any, count: int) -> list[Json]:
    """Return the events of a pipeline that stages and merges tables, and of one that reads all."""
    tables = range(count)
    of_load: Json = {"parent": ("0", "load")}
    events = [build.run("COMPLETE", "0", "load", "08:00:00", kind="AIRFLOW/DAG")]
    for step, source, target in (
        ("stage", "file|/", "db|staging"),
        ("merge", "db|staging", "db|d"),
    ):
        for n in tables:
            ends = {"reads": (f"{source}{n}",), "writes": (f"{target}{n}",)}
            run = (f"{step}{n}", f"load.{step}{n}", "08:10:00")
            events.append(build.run("COMPLETE", *run, **ends, **of_load))
    read: Json = {"reads": tuple(f"db|d{n}" for n in tables), "writes": ("db|out",)}
    return [*events, build.run("COMPLETE", "report", "report", "09:00:00", **read)]


@pytest.mark.replay
def test_work_for_a_walk_between_pipelines_grows_linearly_with_their_datasets(build: Any) -> None:
    def calls(count: int) -> int:
        state = build.state(*_staged(build, count))
        root = find_node(state, "out")
        reached: list[dict[Node, int]] = []
        call_count = _calls(
            lambda: reached.append(reach(graph_around(state, root, Level.PIPELINE), root, "up", 9))
        )
        names = {node.name for node in reached[0]}
        assert names == {"out", "report", "load"}.union(*({f"d{n}", f"/{n}"} for n in range(count)))
        return call_count

    assert calls(_COUNT * _MORE) < _MOST_GROWTH * calls(_COUNT)
