"""The first answers about health of a large store check some nodes, and never call it healthy."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient

from headwater import deadline
from headwater.health import overdue
from headwater.plugins.agents._reply import Context
from headwater.plugins.agents.tools import call
from headwater.plugins.trust._health import health_answer
from headwater.plugins.trust._problems import problems_answer
from headwater.plugins.trust.completeness import completeness_answer
from headwater.plugins.trust.printing import print_health, print_problems
from headwater.plugins.trust.queries import findings_answer
from headwater.projection import State
from headwater.projection._apply import apply
from headwater.projection.live import Batch, Live
from headwater.query.registry import ask, find_query
from headwater.server.app import make_app
from packages.headwater.tests.support.graphs import DAG, TASK
from packages.headwater.tests.support.partial_answers import (
    LEAST,
    leave_little_time,
    state_with_deadline,
    state_without_deadline,
    until_complete,
)

_COUNT, _DAYS = 10, 5
_FIRST = datetime(2025, 11, 1, 8, tzinfo=UTC)
_EVENING = int((_FIRST + timedelta(days=_DAYS - 1, hours=14)).timestamp() * 1e6)
"""The evening of the last day, in microseconds."""
_NODES = 3 * _COUNT + 1


@pytest.fixture(autouse=True)
def _little_time(monkeypatch: pytest.MonkeyPatch) -> None:
    leave_little_time(monkeypatch, overdue)


def _runs(build: Any, *, late: bool = True) -> list[Any]:
    """Return daily runs of pipelines with one task each.

    If `late`, the last pipeline and the task before it did not run on the last days.
    """
    found = []
    for day in range(_DAYS):
        for number in range(_COUNT):
            is_late = late and day > _DAYS - 3
            if is_late and number == _COUNT - 1:
                continue
            run, pipeline = f"{number}-{day}", f"p{number}"
            bodies = [build.run("COMPLETE", run, pipeline, "08:00:00", kind=DAG)]
            if not (is_late and number == _COUNT - 2):
                task = build.run("COMPLETE", f"{run}-task", f"{pipeline}.load", "08:00:00",
                                 parent=(run, pipeline), kind=TASK, reads=("db|source",),
                                 writes=(f"db|raw{number}",))  # fmt: skip
                bodies.append(task)
            time = (_FIRST + timedelta(days=day)).isoformat()
            found += [body | {"eventTime": time} for body in bodies]
    return found


def _in_the_evening(state: State) -> State:
    state.now, state.stale_before = _EVENING, _EVENING - 24 * 3_600_000_000
    return state


@pytest.fixture
def state(build: Any) -> State:
    return _in_the_evening(state_with_deadline(build, _runs(build)))


def test_first_health_without_errors_is_unknown(build: Any) -> None:
    state = _in_the_evening(state_with_deadline(build, _runs(build, late=False)))
    answer = health_answer(state)
    assert answer["isHealthy"] is None
    assert answer["uncounted"] == _NODES - LEAST
    assert answer["counts"]["jobs"] == 2 * _COUNT
    answers = until_complete(lambda: health_answer(state))
    assert {answer["isHealthy"] for answer in answers[:-1]} == {None}
    assert answers[-1]["isHealthy"] is True


@pytest.mark.parametrize("query", [health_answer, findings_answer, problems_answer])
def test_repeated_queries_end_with_the_complete_answer(
    state: State, build: Any, query: Any
) -> None:
    answers = until_complete(lambda: query(state))
    uncounted = [answer["uncounted"] for answer in answers]
    assert len(answers) > 3
    assert uncounted == sorted(set(uncounted), reverse=True)
    complete = query(_in_the_evening(state_without_deadline(build, _runs(build))))
    assert complete["uncounted"] == 0
    assert answers[-1] == complete


def test_complete_answer_has_the_late_job_and_the_late_dataset(state: State) -> None:
    findings = until_complete(lambda: findings_answer(state))[-1]["items"]
    found = {(item["kind"], item["subject"]) for item in findings}
    assert found == {("late", f"job:demo:p{_COUNT - 1}"), ("late", f"dataset:db:raw{_COUNT - 2}")}
    assert health_answer(state)["isHealthy"] is False


def test_error_among_the_checked_nodes_is_unhealthy(build: Any) -> None:
    failed = build.run("FAIL", "f", "other", "08:00:00")
    state = _in_the_evening(state_with_deadline(build, [*_runs(build, late=False), failed]))
    answer = health_answer(state)
    assert answer["uncounted"] > 0
    assert answer["isHealthy"] is False


def test_events_between_queries_are_checked(state: State, build: Any) -> None:
    health_answer(state)
    more = [body for body in _runs(build, late=False) if body not in _runs(build)]
    for body in more:
        apply(state, build.entry(body).event)
    assert until_complete(lambda: health_answer(state))[-1]["isHealthy"] is True


def test_event_about_a_pipeline_is_an_event_about_the_datasets_of_its_tasks(build: Any) -> None:
    pipeline, dataset = f"p{_COUNT - 2}", f"dataset:db:raw{_COUNT - 2}"
    tagged, untagged = (
        build.run("RUNNING", f"{_COUNT - 2}-0", pipeline, time, kind=DAG)
        for time in ("08:00:00", "09:00:00")
    )
    tagged["job"]["facets"]["tags"] = {"tags": [{"key": "ad-hoc", "value": "true"}]}
    untagged["job"]["facets"]["tags"] = {"tags": []}
    state = _in_the_evening(state_with_deadline(build, [*_runs(build), tagged]))

    def late() -> set[str]:
        items = until_complete(lambda: findings_answer(state))[-1]["items"]
        return {item["subject"] for item in items}

    assert dataset not in late()
    apply(state, build.entry(untagged).event)
    assert dataset in late()


def _ingested(live: Live, build: Any) -> None:
    """Ingest the runs of one day, which are too few for lateness."""
    runs = _runs(build, late=False)
    bodies = [body for body in runs if body["eventTime"] == _FIRST.isoformat()]
    live.ingest(Batch([build.entry(body) for body in bodies]))


def test_partial_health_is_not_cached(live: Live, build: Any) -> None:
    _ingested(live, build)
    with TestClient(make_app(live)) as client:
        first = client.get("/api/v2/health")
        assert first.json()["uncounted"] > 0
        assert first.headers["cache-control"] == "no-store"
        assert until_complete(lambda: client.get("/api/v2/health").json())


def test_problems_tool_reports_unknown_problems(live: Live, build: Any) -> None:
    _ingested(live, build)
    deadline.start(600)
    context = Context(lambda name, params: ask(live, find_query(name), params))
    for arguments in ({}, {"node": "raw1"}):
        answer = json.loads(call("problems", arguments, context))
        assert answer["status"] == "unknown"
        assert "isHealthy" not in answer
        assert "problems may be missing" in answer["note"]


def test_command_line_does_not_print_no_problems_for_a_partial_answer(
    build: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    state = _in_the_evening(state_with_deadline(build, _runs(build, late=False)))
    print_health(health_answer(state), [], completeness_answer(state))
    print_problems(problems_answer(state))
    printed = capsys.readouterr().out
    assert "No problems found yet in 20 jobs" in printed
    assert "No problems." not in printed
    assert printed.count("problems may be missing") == 2
