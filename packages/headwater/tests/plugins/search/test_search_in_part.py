"""The first searches of a large store find all names, and count the nodes without an index."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from headwater import deadline
from headwater.console.source import open_source
from headwater.plugins.agents._reply import Context
from headwater.plugins.agents.tools import call
from headwater.plugins.search import _index
from headwater.plugins.search.queries import datasets_answer, search_answer
from headwater.projection import State
from headwater.projection._apply import apply
from headwater.projection.live import Batch, Live
from headwater.query.registry import ask, find_query
from headwater.server.app import make_app
from headwater.settings import Settings
from packages.headwater.tests.support.partial_answers import (
    leave_little_time,
    state_with_deadline,
    until_complete,
)

_COUNT = 20
_FIELDS = [{"name": "fare"}, {"name": "place"}]


@pytest.fixture(autouse=True)
def _little_time(monkeypatch: pytest.MonkeyPatch) -> None:
    leave_little_time(monkeypatch, _index)


def _runs(build: Any) -> list[Any]:
    return [
        _run(build, number, build.dataset(f"db|raw{number:02}", schema={"fields": _FIELDS}))
        for number in range(_COUNT - 1)
    ]


def _run(build: Any, number: int, *outputs: Any) -> Any:
    event = build.run("COMPLETE", f"r{number}", f"load{number}", "08:00:00", reads=("db|source",))
    return {**event, "outputs": outputs}


@pytest.fixture
def state(build: Any) -> State:
    return state_with_deadline(build, _runs(build))


def _names(answer: Any) -> set[str]:
    return {item["name"] for item in answer["items"]}


def _until_complete(state: State, text: str) -> list[Any]:
    return until_complete(lambda: search_answer(state, text, limit=100))


def test_first_search_finds_every_name(state: State) -> None:
    answer = search_answer(state, "RAW", limit=100)
    assert _names(answer) == {f"raw{number:02}" for number in range(_COUNT - 1)}
    assert answer["uncounted"] > _COUNT


def test_first_search_counts_the_nodes_without_searched_columns(state: State) -> None:
    first, *_, last = answers = _until_complete(state, "fare")
    uncounted = [answer["uncounted"] for answer in answers]
    assert len(_names(first)) < _COUNT - 1
    assert len(answers) > 3
    assert uncounted == sorted(uncounted, reverse=True)
    assert _names(last) == {f"raw{number:02}" for number in range(_COUNT - 1)}


@pytest.mark.parametrize(
    "text",
    [
        "raw",
        "fare",
        "place raw1",
        "column:fare",
        "name:raw",
        "namespace:db",
        "zzz",
        "lode3",
        "owner:nobody",
    ],
)
def test_repeated_searches_end_with_the_result_of_a_complete_index(
    state: State, build: Any, text: str
) -> None:
    last = _until_complete(state, text)[-1]
    deadline.start(600)
    other: State = build.state(*_runs(build))
    other.is_past = True  # a past state has no index: a search scans all nodes
    assert last == {**search_answer(other, text, limit=100), "unreadTexts": last["unreadTexts"]}


def test_similar_names_are_suggested_only_with_a_complete_index(state: State) -> None:
    *partial, last = _until_complete(state, "pluce")
    assert [item for answer in partial for item in answer["items"]] == []
    assert {item["isFuzzy"] for item in last["items"]} == {True}


def test_partial_index_follows_renamed_datasets(state: State, build: Any) -> None:
    search_answer(state, "fare")
    links = [("hive://lake", "shop.trips", "TABLE")]
    named = _run(build, 3, build.dataset("db|raw03", symlinks=links))
    apply(state, build.entry(named).event)
    assert _names(search_answer(state, "trips")) == {"shop.trips"}
    last = _until_complete(state, "raw03")[-1]
    assert _names(last) == {"shop.trips"}
    assert len(state.identity) == _COUNT


def test_list_by_column_states_how_many_nodes_are_uncounted(state: State) -> None:
    first = datasets_answer(state, text="column:fare")
    assert first["uncounted"] > 0
    _until_complete(state, "x")
    last = datasets_answer(state, text="column:fare")
    assert (last["total"], last["uncounted"]) == (_COUNT - 1, 0)


def test_search_without_a_deadline_is_complete(build: Any) -> None:
    answer = search_answer(build.state(*_runs(build)), "fare", limit=100)
    assert (len(answer["items"]), answer["uncounted"]) == (_COUNT - 1, 0)


def test_command_line_repeats_a_search_until_the_index_is_complete(
    live: Live, build: Any, serving: Callable[[FastAPI], str]
) -> None:
    live.ingest(Batch([build.entry(event) for event in _runs(build)]))
    ask = open_source(Settings(url=serving(make_app(live))), is_local=False)
    answer = ask("search", {"text": "fare", "limit": 100})
    assert len(answer["items"]) == _COUNT - 1


def test_partial_search_is_not_cached(live: Live, build: Any) -> None:
    live.ingest(Batch([build.entry(event) for event in _runs(build)]))
    with TestClient(make_app(live)) as client:
        first = client.get("/api/v2/search", params={"text": "fare"})
        assert first.json()["uncounted"] > 0
        assert first.headers["cache-control"] == "no-store"


def test_find_tool_reports_that_only_names_were_searched(live: Live, build: Any) -> None:
    live.ingest(Batch([build.entry(event) for event in _runs(build)]))
    deadline.start(600)
    context = Context(lambda name, params: ask(live, find_query(name), params))
    assert "covers only names so far" in json.loads(call("find", {"text": "fare"}, context))["note"]
