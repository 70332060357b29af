"""The first lists of a large store are partial: they state how many nodes are missing."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from headwater import deadline
from headwater.console.source import every, open_source
from headwater.nodes import listed
from headwater.plugins.agents._reply import Context
from headwater.plugins.agents.tools import call
from headwater.plugins.search import _freshness
from headwater.plugins.search._freshness import datasets_freshness_answer
from headwater.plugins.search.queries import datasets_answer, groups_answer, jobs_answer
from headwater.projection import State
from headwater.projection.live import Batch, Live
from headwater.query.registry import ask, find_query
from headwater.server.app import make_app
from headwater.settings import Settings
from packages.headwater.tests.support.partial_answers import (
    LEAST,
    leave_little_time,
    state_with_deadline,
    state_without_deadline,
    until_complete,
)

_COUNT = 20


@pytest.fixture(autouse=True)
def _little_time(monkeypatch: pytest.MonkeyPatch) -> None:
    leave_little_time(monkeypatch, listed, _freshness)


def _runs(build: Any) -> list[Any]:
    return [
        build.run(
            "COMPLETE" if number % 2 else "FAIL", f"r{number}", f"j{number}", f"08:00:{number:02}",
            reads=("db|source",), writes=(f"{'db' if number % 3 else 'lake'}|d{number:02}",),
        )
        for number in range(_COUNT - 1)
    ]  # fmt: skip


@pytest.fixture
def state(build: Any) -> State:
    return state_with_deadline(build, _runs(build))


def _names(answer: Any) -> list[str]:
    return [item["name"] for item in answer["items"]]


def test_list_by_name_is_complete_before_filters_are_counted(state: State) -> None:
    answer = datasets_answer(state, limit=15)
    assert _names(answer) == [f"d{number:02}" for number in range(15)]
    assert answer["next"]
    assert answer["total"] == _COUNT
    assert answer["uncounted"] == _COUNT - LEAST
    facets = answer["facets"]
    assert facets
    assert sum(item["count"] for item in facets["namespace"]) == LEAST


def test_filtered_list_states_how_many_nodes_are_uncounted(state: State) -> None:
    answer = datasets_answer(state, namespace="db")
    facets = answer["facets"]
    assert facets
    (counted,) = (item["count"] for item in facets["namespace"] if item["value"] == "db")
    assert answer["total"] == len(answer["items"]) == counted
    assert answer["uncounted"] == _COUNT - LEAST


def test_list_by_time_starts_with_the_most_recently_used_nodes(state: State) -> None:
    answer = jobs_answer(state, sort="started")
    newest_first = [f"j{number}" for number in reversed(range(_COUNT - 1))]
    assert _names(answer) == newest_first[:LEAST]
    assert answer["total"] == _COUNT - 1
    assert answer["uncounted"] == _COUNT - 1 - LEAST


@pytest.mark.parametrize("text", [None, "d"])
@pytest.mark.parametrize("values", [{}, {"state_": "failed"}, {"sort": "written"}])
def test_repeated_lists_continue_until_they_are_complete(
    state: State, build: Any, values: dict[str, Any], text: str | None
) -> None:
    lists = until_complete(lambda: datasets_answer(state, text=text, **values))
    uncounted = [answer["uncounted"] for answer in lists]
    assert len(lists) > 2
    assert uncounted == sorted(set(uncounted), reverse=True)
    other: State = build.state(*_runs(build))
    assert len(listed.choose_rows(other, "dataset", None, {}).rows) == _COUNT
    assert lists[-1] == datasets_answer(other, text=text, **values)


def test_first_groups_state_how_many_nodes_are_uncounted(state: State) -> None:
    (group,) = groups_answer(state)["items"]
    assert (group["datasets"], group["jobs"]) == (LEAST, LEAST)
    assert groups_answer(state)["uncounted"] == 2 * _COUNT - 1 - 4 * LEAST
    (group,) = until_complete(lambda: groups_answer(state))[-1]["items"]
    assert (group["datasets"], group["jobs"]) == (_COUNT, _COUNT - 1)


@pytest.mark.parametrize("due", ["sources", "unscheduled"])
def test_repeated_freshness_continues_until_it_is_complete(
    state: State, build: Any, due: Any
) -> None:
    answers = until_complete(lambda: datasets_freshness_answer(state, due=due))
    uncounted = [answer["uncounted"] for answer in answers]
    assert uncounted[0] == _COUNT - LEAST
    assert uncounted == sorted(set(uncounted), reverse=True)
    other = state_without_deadline(build, _runs(build))
    assert answers[-1] == datasets_freshness_answer(other, due=due)
    assert sum(answers[-1]["counts"][part] for part in ("unscheduled", "sources")) == _COUNT


def test_list_without_a_deadline_is_complete(build: Any) -> None:
    def query() -> Any:
        return datasets_answer(build.state(*_runs(build)))

    assert query()["uncounted"] == 0


def test_command_line_repeats_a_query_until_the_list_is_complete(
    live: Live, build: Any, serving: Callable[[FastAPI], str]
) -> None:
    live.ingest(Batch([build.entry(event) for event in _runs(build)]))
    ask = open_source(Settings(url=serving(make_app(live))), is_local=False)
    by_time = list(every(ask, "datasets", {"sort": "written"}))
    assert len({item["name"] for item in by_time}) == len(by_time) == _COUNT


def test_partial_list_is_not_cached(live: Live, build: Any) -> None:
    live.ingest(Batch([build.entry(event) for event in _runs(build)]))
    with TestClient(make_app(live)) as client:
        first = client.get("/api/v2/datasets")
        assert first.json()["uncounted"] > 0
        assert first.headers["cache-control"] == "no-store"
        assert "etag" not in first.headers
        while client.get("/api/v2/datasets").json()["uncounted"]:
            pass
        whole = client.get("/api/v2/datasets")
        tag = {"If-None-Match": whole.headers["etag"]}
        assert client.get("/api/v2/datasets", headers=tag).status_code == 304


def test_tags_tool_reports_unknown_tags(live: Live, build: Any) -> None:
    live.ingest(Batch([build.entry(event) for event in _runs(build)]))
    deadline.start(600)
    context = Context(lambda name, params: ask(live, find_query(name), params))
    answer = json.loads(call("tags", {}, context))
    assert answer["status"] == "unknown"
    assert "not known yet" in answer["note"]
