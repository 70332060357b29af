"""Pages contain every item once, even if items arrive in between."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import orjson
import pytest
from fastapi.testclient import TestClient
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.errors import ConfigError
from headwater.identity import DatasetName
from headwater.log import RejectedLine
from headwater.plugins.alerts.endpoints import alerts_answer
from headwater.plugins.alerts.rules import read_rules
from headwater.plugins.alerts.watch import Watch
from headwater.plugins.aliases._entry import make_alias
from headwater.plugins.aliases.queries import aliases_answer
from headwater.projection import State, project
from headwater.projection.live import Batch, Live
from headwater.query.pages import cursor_of, cut, place_of
from headwater.query.registry import load_queries
from headwater.server.app import make_app
from headwater.server.openapi import document
from packages.headwater.tests.conftest import Call
from packages.headwater.tests.support.moments import at

_PAGED = {
    name
    for name, query in load_queries().items()
    if "cursor" in {parameter.name for parameter in query.parameters}
}
_ASKED: dict[str, dict[str, Any]] = {
    "runs": {},
    "search": {"text": "d"},
    "edges": {},
    "nodes": {},
    "tags": {},
    "tagged": {"tag": "k"},
    "aliases/suggested": {},
    "unused": {"days": 1},
    "drift": {},
    "taints": {},
    "freshness": {},
    "datasets": {"sort": "written"},
    "jobs": {"sort": "started"},
    "groups": {"by": "tag", "sort": "datasets"},
    "findings": {},
    "problems": {},
    "map": {"path": ["", "db "]},
    "freshness/datasets": {"due": "unscheduled"},
    "completeness/pipelines": {},
}
_HISTORIES = {"of a dataset": "dataset:db:d1", "of a job": "job:demo:d1"}


def _moved(item: dict[str, Any]) -> str:
    """Return the part of an item that stays the same: a run and its time, or the whole item."""
    run = item if "startedAt" in item else item.get("run") if item.get("done") == "ran" else None
    return json.dumps([run["runId"], run["job"], run["startedAt"]] if run else item, sort_keys=True)


def _event(build: Any, parts: tuple[int, str, int, int, int, str]) -> Any:
    number, type_, hour, source, target, field = parts
    time = f"{hour:02}:{number:02}:00"
    event = build.run(type_, f"r{number}", f"d{target}", time, reads=(f"db|d{source}",))
    lineage = {"inputFields": [{"namespace": "db", "name": f"d{source}", "field": field}]}
    facets = {
        "schema": {"fields": [{"name": field, "type": "int"}]},
        "tags": {"tags": [{"key": "k", "value": str(hour), "field": field}]},
        "columnLineage": {"fields": {field: lineage}},
    }
    event["outputs"] = [build.dataset(f"db|d{target}", **facets)]
    return event


_EVENTS = st.tuples(
    st.integers(0, 7),
    st.sampled_from(("START", "COMPLETE", "FAIL")),
    st.integers(8, 12),
    st.integers(0, 2),
    st.integers(0, 2),
    st.sampled_from("xy"),
)


@pytest.mark.replay
@pytest.mark.parametrize("name", [*sorted(_ASKED), *_HISTORIES])
@settings(max_examples=40)
@given(
    there=st.lists(_EVENTS, min_size=4, max_size=12), later=st.lists(_EVENTS, max_size=6),
    limit=st.integers(1, 4),
)  # fmt: skip
def test_pages_contain_every_remaining_item_once(
    name: str, there: list[Any], later: list[Any], limit: int, build: Any
) -> None:
    parts = [(0, "COMPLETE", 8, 0, 1, "x"), *there, *later]  # there is a d1
    events = [build.entry(_event(build, item)).event for item in parts]
    query = load_queries()["history" if name in _HISTORIES else name]
    asked = {"node": _HISTORIES[name]} if name in _HISTORIES else _ASKED[name]
    known = 1 + len(there)

    @cache
    def state(count: int) -> State:
        return at(project(events[:count]), "2025-11-21T23:00:00Z")

    def ask(**more: Any) -> Any:
        return query.answer(state(known), **asked, **more)

    first = ask(limit=1_000)["items"]
    stood = {_moved(item) for item in first}
    page = ask(limit=limit)
    result = list(page["items"])
    while page["next"]:
        known += 1  # no event arrives after the last one
        before, page = page, ask(limit=limit, cursor=page["next"])
        assert len(page["items"]) <= limit
        assert page["next"] != before["next"]
        result += page["items"]
        stood &= {_moved(item) for item in ask(limit=1_000)["items"]}  # a tag may reappear
    reported = [_moved(item) for item in result]
    assert stood <= set(reported)
    assert len(reported) == len(set(reported))
    if not later:
        assert result == first


def test_aliases_are_paged() -> None:
    names = [DatasetName("db", f"n{number}") for number in range(6)]
    pairs = list(zip(names, names[1:], strict=False))
    state = project(make_alias(*pair, 1).event for pair in pairs)
    page = aliases_answer(state, limit=2)
    result = page["items"]
    while page["next"]:
        page = aliases_answer(state, limit=2, cursor=page["next"])
        result += page["items"]
    assert [(item["one"]["name"], item["other"]["name"]) for item in result] == [
        (one.name, other.name) for one, other in pairs
    ]


def test_every_paged_query_is_covered() -> None:
    assert {*_ASKED, "history", "aliases"} == _PAGED


@pytest.fixture
def client(live: Live, tmp_path: Path, build: Any) -> Iterator[TestClient]:
    """Yield a client of a log with three of everything that is stored besides events."""
    rules = tmp_path / "rules.yaml"
    rules.write_text("rules: [{name: x, kind: failed, actions: [{type: log}]}]")
    watch = Watch(read_rules(rules), live)
    watch.check()
    for number in range(3):
        failed = build.run("FAIL", f"r{number}", f"j{number}", "08:00:00", writes=("db|d1",))
        refusal = RejectedLine(f"f:{number}", "why", str(number))
        live.ingest(Batch([build.entry(failed)], [refusal]))
    watch.check()
    assert len(alerts_answer(live.log, 10)["items"]) == 3
    with TestClient(make_app(live), raise_server_exceptions=False) as client:
        yield client


_ROUTES = ("alerts", "rejected", "events/warnings", *sorted(_PAGED))


def _path(route: str) -> str:
    needed = {"search": "text=d", "tagged": "tag=k", "history": "node=dataset:db:d1"}
    return f"/api/v2/{route}?{needed.get(route, '')}"


@pytest.mark.each_database
@pytest.mark.parametrize("route", ["alerts", "rejected", "events/warnings"])
def test_stored_lists_are_paged(route: str, client: TestClient) -> None:
    whole = client.get(_path(route)).json()
    page = client.get(f"{_path(route)}limit=1").json()
    result = page["items"]
    while page["next"]:
        page = client.get(f"{_path(route)}limit=1&cursor={page['next']}").json()
        assert len(page["items"]) <= 1
        result += page["items"]
    assert (result, whole["next"], len(result)) == (whole["items"], None, 3)


@pytest.mark.parametrize("route", _ROUTES)
def test_invalid_cursor_or_cursor_of_another_query_is_a_400(route: str, client: TestClient) -> None:
    mine = client.get("/api/v2/runs?condition=FAILED&limit=1").json()["next"]
    for cursor in ("x", "é", "", "W10", "bnVsbA", mine):
        answer = client.get(_path(route), params={**_params(route), "cursor": cursor})
        message = f"cursor: received {cursor!r}, expected `next`"
        assert (answer.status_code, answer.json()["message"][: len(message)]) == (400, message)
    again = client.get("/api/v2/runs", params={"condition": "FAILED", "limit": 1, "cursor": mine})
    assert (again.status_code, len(again.json()["items"])) == (200, 1)


def _params(route: str) -> dict[str, str]:
    pairs = (item.split("=") for item in _path(route).partition("?")[2].split("&") if item)
    return dict(pairs)


@pytest.mark.parametrize("place", [["a"], [None], [[1]], [{}], [1.5], [-1], [2**63], ["a\x00"]])
def test_cursor_with_impossible_sort_key_is_invalid(place: list[Any]) -> None:
    _, cursor = cut(("q",), [3, 4], lambda each: (each, "x"), 1, None)
    assert cursor is not None
    mark = orjson.loads(bytes(_decoded(cursor)))[0]
    forged = urlsafe_b64encode(json.dumps([mark, *place]).encode()).decode()
    with pytest.raises(ConfigError, match="cursor: received"):
        cut(("q",), [3, 4], lambda each: (each, "x"), 1, forged)


def _decoded(cursor: str) -> bytes:
    from base64 import urlsafe_b64decode

    return urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))


def test_every_list_of_the_api_is_paged(client: TestClient) -> None:
    app: Any = client.app
    bare = {
        path
        for path, item in document(app)["paths"].items()
        if path.startswith("/api/v2/") and "get" in item
        for content in [item["get"]["responses"]["200"].get("content", {})]
        if content.get("application/json", {}).get("schema", {}).get("type") == "array"
    }
    assert bare == {"/api/v2/keys", "/api/v2/deliver"}  # only as many as are configured


def test_command_line_continues_from_the_cursor(
    client: TestClient, tmp_path: Path, call: Call
) -> None:
    del client
    where = ("--database", str(tmp_path / "log.db"))
    page = orjson.loads(call("runs", "--limit", "2", "--json", *where).stdout)
    assert (len(page["items"]), call("runs", *where).stderr) == (2, "")
    result = call("runs", "--limit", "2", *where).stderr
    assert result == f"More results: raise --limit, or pass --cursor {page['next']}\n"
    rest = orjson.loads(call("runs", "--cursor", page["next"], "--json", *where).stdout)
    assert (len(rest["items"]), rest["next"]) == (1, None)
    assert call("search", "d", "--cursor", page["next"], *where).returncode == 2


@given(
    numbers=st.sets(st.integers(0, 50)), limit=st.integers(1, 9), newest_first=st.booleans(),
    late=st.sets(st.integers(0, 50)),
)  # fmt: skip
def test_pages_follow_the_order_despite_late_items(
    numbers: set[int], limit: int, newest_first: bool, late: set[int]
) -> None:
    present, result, cursor = set(numbers), [], None
    while True:
        page, cursor = cut(
            ("q",), present, lambda n: (n, str(n)), limit, cursor, newest_first=newest_first
        )
        assert len(page) == limit or cursor is None
        result += page
        if cursor is None:
            break
        present |= late
    assert result == sorted(result, reverse=newest_first)
    assert numbers <= set(result) <= numbers | late


@given(text=st.one_of(st.text(max_size=20), st.binary(max_size=20).map(
    lambda raw: urlsafe_b64encode(raw).decode()
)))  # fmt: skip
def test_arbitrary_cursor_is_a_config_error(text: str) -> None:
    with pytest.raises(ConfigError, match="cursor: received"):
        place_of(("q",), text)


@given(place=st.lists(st.integers(0, 2**63 - 1) | st.text("aé☃", max_size=5), max_size=4))
def test_cursor_returns_its_place_to_the_same_query_only(place: list[int | str]) -> None:
    cursor = cursor_of(("q", 1), tuple(place))
    assert place_of(("q", 1), cursor) == tuple(place)
    assert place_of(("q", 1), cursor, tuple(map(type, place))) == tuple(place)
    for about, kinds in ((("q", 2), None), (("q", 1), (*map(type, place), int))):
        with pytest.raises(ConfigError):
            place_of(about, cursor, kinds)
