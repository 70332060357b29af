"""The first queries for completeness of a large store measure some jobs and report no share."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headwater import deadline
from headwater.plugins.agents._reply import Context
from headwater.plugins.agents.tools import call
from headwater.plugins.trust import completeness
from headwater.plugins.trust.completeness import completeness_answer
from headwater.plugins.trust.queries import pipelines_answer
from headwater.projection import State
from headwater.projection._apply import apply
from headwater.projection.live import Batch, Live
from headwater.query.registry import ask, find_query
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
    leave_little_time(monkeypatch, completeness)


def _runs(build: Any) -> list[Any]:
    return [
        build.run(
            "COMPLETE", f"r{number}", f"p{number // 4}.load{number}", "08:00:00",
            reads=("db|source",) if number % 5 else (), writes=(f"db|raw{number:02}",),
            parent=(f"top{number // 4}", f"p{number // 4}"), kind="AIRFLOW/TASK",
        )
        for number in range(_COUNT)
    ]  # fmt: skip


@pytest.fixture
def state(build: Any) -> State:
    return state_with_deadline(build, _runs(build))


def _complete_state(build: Any, *more: Any) -> State:
    return state_without_deadline(build, [*_runs(build), *more])


def _until_complete(state: State) -> list[Any]:
    return until_complete(lambda: completeness_answer(state))


def test_first_answer_has_no_share(state: State) -> None:
    answer = completeness_answer(state)
    assert answer["uncounted"] == len(state.jobs) - LEAST
    assert {result["share"] for result in answer["measures"].values()} == {None}
    assert 0 < answer["measures"]["outputs"]["runs"] < _COUNT
    assert answer["orphans"] == []


def test_repeated_queries_end_with_the_complete_answer(state: State, build: Any) -> None:
    answers = _until_complete(state)
    uncounted = [answer["uncounted"] for answer in answers]
    assert len(answers) > 3
    assert uncounted == sorted(set(uncounted), reverse=True)
    complete = completeness_answer(_complete_state(build))
    assert answers[-1] == complete
    assert complete["measures"]["inputs"]["share"] == 0.8
    assert complete["orphans"] != []


def test_event_between_queries_is_measured(state: State, build: Any) -> None:
    completeness_answer(state)
    fixed = build.run(
        "COMPLETE", "later", "p0.load0", "09:00:00", reads=("db|source",), writes=("db|raw00",),
        parent=("top0", "p0"), kind="AIRFLOW/TASK",
    )  # fmt: skip
    apply(state, build.entry(fixed).event)
    assert _until_complete(state)[-1] == completeness_answer(_complete_state(build, fixed))


def test_pipelines_with_unmeasured_jobs_are_missing(state: State, build: Any) -> None:
    pages = until_complete(lambda: pipelines_answer(state))
    complete = {item["id"]: item for item in pipelines_answer(_complete_state(build))["items"]}
    sizes = [len(page["items"]) for page in pages]
    assert len(complete) == _COUNT // 4
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1] == len(complete)
    for page in pages:
        assert all(complete[item["id"]] == item for item in page["items"])


def test_upstream_tool_reports_unknown_completeness(live: Live, build: Any) -> None:
    live.ingest(Batch([build.entry(event) for event in _runs(build)]))
    deadline.start(600)
    context = Context(lambda name, params: ask(live, find_query(name), params))
    answer = json.loads(call("upstream", {"node": "raw19"}, context))
    assert answer["completeness"]["isComplete"] is None
    assert "have not been measured yet" in answer["completeness"]["gaps"][-1]
    with live.reading() as state:
        _until_complete(state)
    answer = json.loads(call("upstream", {"node": "raw19"}, context))
    assert answer["completeness"] == {"isComplete": True}
