"""Queries of deep and dense graphs respond, and mark where the response is cut."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient

from headwater.projection import State
from headwater.projection.live import Batch, Live
from headwater.query.parameters import MOST_STEPS
from headwater.query.registry import Times, load_queries
from headwater.runs.service import run_tree
from headwater.server.app import make_app
from packages.headwater.tests.query.test_deadline import _ASKED as ASKED

pytestmark = pytest.mark.replay

_TABLES = 60
_LONG = 200  # jobs in a chain


def _dense(build: Any) -> list[Any]:
    """Return jobs that each read every table and write one, so that paths visit all of them."""
    tables = tuple(f"db|d{number}" for number in range(_TABLES))
    return [
        build.run("COMPLETE", f"r{number}", f"j{number}", "08:00:00", reads=tables, writes=(table,))
        for number, table in enumerate(tables)
    ]


def _nested(build: Any, count: int) -> list[Any]:
    """Return a chain of nested runs and jobs, each reading the table of the previous one."""
    events = []
    for number in range(count):
        parent = (f"r{number - 1}", f"j{number - 1}") if number else ("top", "top")
        event = build.run(
            "COMPLETE", f"r{number}", f"j{number}", "08:00:00", parent=parent,
            reads=(f"db|d{number}",),
        )  # fmt: skip
        made_of = {"x": {"inputFields": [{"namespace": "db", "name": f"d{number}", "field": "x"}]}}
        dataset = build.dataset(f"db|d{number + 1}", columnLineage={"fields": made_of})
        event["outputs"] = [dataset]
        events.append(event)
    return [*events, build.run("COMPLETE", "top", "top", "07:00:00")]


@pytest.fixture
def client(live: Live) -> Iterator[TestClient]:
    with TestClient(make_app(live)) as client:
        yield client


def _take(live: Live, build: Any, events: list[Any]) -> None:
    live.ingest(Batch([build.entry(event) for event in events]))


def _depth(leaf: Any) -> int:
    """Return the number of levels below a node."""
    level, depth = [leaf], 0
    while level := [child for item in level for child in item["children"]]:
        depth += 1
    return depth


def _leaves(leaf: Any) -> list[dict[str, Any]]:
    result = [leaf]
    for item in result:
        result += item["children"]
    return result


@pytest.mark.replay
@pytest.mark.parametrize("direction", ["up", "down", "both"])
def test_tree_of_a_dense_graph_is_cut_at_a_depth(
    direction: str, client: TestClient, live: Live, build: Any
) -> None:
    _take(live, build, _dense(build))
    asked = f"/api/v2/tree?node=dataset:db:d0&depth=100&direction={direction}"
    response = client.get(asked)
    assert response.status_code == 200
    for way in ("up", "down") if direction == "both" else (direction,):
        tree = response.json()[way]
        assert _depth(tree) == MOST_STEPS
        assert any(leaf["hasMore"] for leaf in _leaves(tree))
        assert {leaf["name"] for leaf in _leaves(tree)} >= {f"d{n}" for n in range(_TABLES)}


def test_nested_runs_are_cut_at_a_depth(client: TestClient, live: Live, build: Any) -> None:
    _take(live, build, _nested(build, 250))
    tree = client.get("/api/v2/runtree?run=top").json()
    assert _depth(tree) == MOST_STEPS
    assert [leaf["runId"] for leaf in _leaves(tree) if leaf["hasMore"]] == [f"r{MOST_STEPS - 1}"]
    deeper = client.get(f"/api/v2/runtree?run=r{MOST_STEPS - 1}").json()
    assert deeper["children"][0]["runId"] == f"r{MOST_STEPS}"


def test_run_tree_of_maximum_depth_is_complete(build: Any) -> None:
    state = build.state(*_nested(build, MOST_STEPS))
    tree = run_tree(state, next(run for key, run in state.runs.items() if key.run_id == "top"))
    assert _depth(tree) == MOST_STEPS
    assert not any(leaf["hasMore"] for leaf in _leaves(tree))


def test_command_marks_where_a_run_tree_is_cut(live: Live, build: Any, call: Any) -> None:
    _take(live, build, _nested(build, MOST_STEPS + 5))
    answer = call("runs", "--tree", "top", "--database", live.log.shown_url)
    assert answer.returncode == 0
    assert f"r{MOST_STEPS - 1}  …" in answer.stdout


def test_deeply_nested_facet_in_response_is_cut(client: TestClient, live: Live, build: Any) -> None:
    value: Any = 1
    for number in range(90):
        value = {"a": value} if number % 2 else [value]
    facets = {"mine": {"deep": value}, "executionParameters": {
        "parameters": [{"name": "p", "value": value}]}}  # fmt: skip
    deep = build.run("COMPLETE", "deep", "j", "08:00:00", facets=facets, parent=("r90", "j90"))
    _take(live, build, [*_nested(build, 100), deep])
    for path in ("runs/deep", "runs?job=j", "runtree?run=top", "events?run=deep", "node?node=j"):
        assert client.get(f"/api/v2/{path}").status_code == 200, path
    assert client.get("/api/v1/jobs/runs/deep").status_code == 200
    tree = client.get("/api/v2/runtree?run=top").text
    assert "… (nested more than 250 levels deep)" in tree


def _asked(name: str, count: int) -> list[dict[str, Any]]:
    """Return the sample parameters of a query, with the ends of a long chain."""
    ends = {"d40": f"d{count}", "dataset:db:d40": f"dataset:db:d{count}", "dag_41": "top"}
    ends |= {"dataset:db:hub": "dataset:db:d0", "job:demo:often": "job:demo:j0", "often": "j0"}
    return [
        {
            key: [f"d{count}"] if isinstance(value, list) else ends.get(value, value)
            for key, value in asked.items()
        }
        for asked in ASKED[name]
    ]


@pytest.fixture(scope="module")
def chain(build: Any) -> State:
    state: State = build.state(*_nested(build, _LONG))
    return state


@pytest.mark.parametrize("name", load_queries())
def test_no_query_recurses_along_the_graph(name: str, chain: State, build: Any) -> None:
    query = load_queries()[name]
    states = [build.state(), chain] if query.times is Times.BETWEEN else [chain]
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + 3 * _LONG // 4)
    try:
        for asked in _asked(name, _LONG):
            assert query.answer(*states, **asked) is not None
    finally:
        sys.setrecursionlimit(before)
