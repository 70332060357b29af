"""The roll-up map: groups with counts, problems and edges, kept up to date after each event."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.errors import NotFoundError
from headwater.events import Logged
from headwater.graph.nodes import Node
from headwater.health.states import state_of
from headwater.kept import kept
from headwater.plugins.map._index import PROBLEMS, MapIndex, groups_of
from headwater.plugins.map._map import MapAnswer, MapItem
from headwater.plugins.map.queries import map_answer
from headwater.projection import State, project
from headwater.projection._apply import apply
from packages.headwater.tests.plugins.search.test_search_index import _event as any_event
from packages.headwater.tests.support.moments import at

_TIMES = [f"2025-11-{day}T09:00:00Z" for day in (21, 22, 29)]


def _all_pages(state: State, by: Any, path: list[str], limit: int = 200) -> MapAnswer:
    answer = map_answer(state, by, path, limit)
    items, page = list(answer["items"]), answer
    while page["next"]:
        page = map_answer(state, by, path, limit, page["next"])
        items += page["items"]
    answer["items"], answer["next"] = items, None
    return answer


def _whole(state: State) -> dict[tuple[str, ...], MapAnswer]:
    """Return the answers of all groups by path."""
    found: dict[tuple[str, ...], MapAnswer] = {}
    for by in ("platform", "owner", "domain"):
        open_: list[list[str]] = [[]]
        while open_:
            path = open_.pop()
            answer = found[by, *path] = _all_pages(state, by, path)
            is_group = [item for item in answer["items"] if len(path) < 2]
            open_ += [[*path, item["key"]] for item in is_group]
    return found


def _assert_counts(state: State, found: dict[tuple[str, ...], MapAnswer]) -> None:
    """Check the counts against the states of all nodes, and the items against the counts."""
    nodes = [*map(Node.of_job, state.jobs), *map(Node.of_dataset, set(state.identity))]
    index, expected = kept(state, MapIndex), Counter[tuple[Any, ...]]()
    for node in nodes:
        for path in groups_of(index.paths.get(node, ())):
            expected[path] += 1
            expected[*path, "state", state_of(state, node)] += 1
    for path, answer in found.items():
        problems = {name: expected[*path, "state", name] for name in PROBLEMS}
        assert (answer["count"], answer["problems"]) == (expected[path], problems), path
        assert len(answer["items"]) == answer["total"]
        for item in answer["items"] if len(path) < 3 else ():
            inside = found[*path, item["key"]]
            assert (item["count"], item["problems"]) == (inside["count"], inside["problems"])
    assert found["platform",]["count"] == len(set(state.identity))


@pytest.mark.replay
@settings(max_examples=40)
@given(
    events=st.lists(st.tuples(any_event(), st.booleans()), min_size=1, max_size=12),
    time=st.sampled_from(_TIMES),
)
def test_map_is_the_same_after_each_event_as_if_built_again(
    events: list[tuple[Logged, bool]], time: str
) -> None:
    state = at(State(), time)
    for count, (event, is_asked) in enumerate(events, 1):
        apply(state, event)
        if is_asked or count == len(events):
            found = _whole(state)
            _assert_counts(state, found)
            assert found == _whole(at(project([event for event, _ in events[:count]]), time))


def _daily(build: Any, day: int, **failing: str) -> list[Any]:
    """Return the events of one day: `load` writes raw, `make` writes mart from raw."""
    raw, mart = "postgres://h:5432|shop.public.raw", "postgres://h:5432|shop.mart.orders"
    uses: dict[str, dict[str, tuple[str, ...]]] = {
        "load": {"writes": (raw,)},
        "make": {"reads": (raw,), "writes": (mart, "snowflake://acct|dw.out.orders")},
    }
    events = []
    for place, (name, io) in enumerate(uses.items()):
        kind = failing.get(name, "COMPLETE")
        event = build.run(
            kind, f"{name}{day}", f"{name}.task", f"08:0{place}:00",
            parent=(f"dag{day}", "daily"), kind="AIRFLOW/TASK", **io,
        )  # fmt: skip
        event["job"]["facets"]["ownership"] = {"owners": [{"name": f"team-{name}"}]}
        event["eventTime"] = f"2025-11-{day}T08:0{place}:00Z"
        events.append(event)
    return events


def _labels(items: list[MapItem]) -> list[tuple[str, int, dict[str, Any]]]:
    return [
        (item["label"], item["count"], {k: n for k, n in item["problems"].items() if n})
        for item in items
    ]


def test_groups_have_counts_problems_and_edges(build: Any) -> None:
    events = [*_daily(build, 20), *_daily(build, 21, load="FAIL")[:1]]
    state = at(build.state(*events), "2025-11-21T09:00:00Z")
    platforms = map_answer(state)
    assert _labels(platforms["items"]) == [
        ("postgres", 2, {"failed": 1, "blocked": 1}), ("snowflake", 1, {"blocked": 1}),
    ]  # fmt: skip
    assert platforms["edges"] == [{"upstream": "postgres", "downstream": "snowflake", "jobs": 1}]
    schemas = map_answer(state, path=["postgres"])
    assert _labels(schemas["items"]) == [
        ("shop.mart", 1, {"blocked": 1}), ("shop.public", 1, {"failed": 1}),
    ]  # fmt: skip
    assert map_answer(state, path=["postgres", "shop.mart"])["count"] == 1
    mart, public = (item["key"] for item in schemas["items"])
    assert schemas["edges"] == [{"upstream": public, "downstream": mart, "jobs": 1}]
    tables = map_answer(state, path=["postgres", mart])
    assert _labels(tables["items"]) == [("shop.mart.orders", 1, {"blocked": 1})]
    owners = map_answer(state, "owner")
    assert _labels(owners["items"]) == [
        ("team-load", 1, {"failed": 1}), ("team-make", 1, {"blocked": 1}),
    ]  # fmt: skip
    assert owners["edges"] == [{"upstream": "team-load", "downstream": "team-make", "jobs": 1}]
    [pipeline] = map_answer(state, "owner", ["team-make"])["items"]
    assert (pipeline["kind"], pipeline["label"], pipeline["count"]) == ("pipeline", "daily", 1)
    assert map_answer(state, "owner", ["team-make", "daily"])["count"] == 1
    [task] = map_answer(state, "owner", ["team-make", pipeline["key"]])["items"]
    assert (task["kind"], task["label"]) == ("task", "make.task")
    for path in (["nowhere"], ["postgres", mart, "shop.mart.orders"]):
        with pytest.raises(NotFoundError, match="there is no group"):
            map_answer(state, path=path)


def test_pages_begin_with_problems_and_contain_each_node_once(build: Any) -> None:
    events = []
    for number in range(7):
        kind = "FAIL" if number in (2, 5) else "COMPLETE"
        table = (f"postgres://h:5432|a.b.t{number}",)
        events.append(build.run(kind, f"r{number}", f"j{number}", "08:00:00", writes=table))
    state = at(build.state(*events), "2025-11-21T09:00:00Z")
    path = ["postgres", "postgres://h:5432 a.b"]
    for limit in (1, 2, 3, 6, 7):
        names = [item["label"][-1] for item in _all_pages(state, "platform", path, limit)["items"]]
        assert "".join(names) == "2501346"


def test_cost_of_a_map_does_not_grow_with_the_nodes_that_it_does_not_show(
    build: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = [
        build.run("COMPLETE", f"r{n}", f"j{n}", "08:00:00", writes=(f"postgres://h:5432|a.b.t{n}",))
        for n in range(300)
    ]
    state = at(build.state(*events), "2025-11-21T09:00:00Z")
    map_answer(state)
    put: list[Node] = []
    asked: list[Node] = []
    put_before = MapIndex._put

    def put_node(index: MapIndex, node: Node, *, is_sorted: bool) -> Any:
        put.append(node)
        return put_before(index, node, is_sorted=is_sorted)

    def state_of_node(state: State, node: Node) -> Any:
        asked.append(node)
        return state_of(state, node)

    monkeypatch.setattr(MapIndex, "_put", put_node)
    monkeypatch.setattr("headwater.plugins.map._index.state_of", state_of_node)
    apply(state, build.entry(_daily(build, 21, load="FAIL")[0]).event)
    path = ["postgres", "postgres://h:5432 a.b"]
    page = map_answer(state, path=path, limit=5)
    assert (page["count"], len(page["items"])) == (300, 5)
    assert len(set(put)) < 10
    assert len(set(asked)) < 10
