"""A difference whose comparisons exceed the time limit of a query continues when it is repeated."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

import pytest

from headwater import deadline
from headwater.errors import DeadlineError
from headwater.graph.current import whole_graph_of
from headwater.graph.levels import Level
from headwater.plugins.changes import _diff
from headwater.plugins.changes.queries import diff_answer
from headwater.projection import State
from headwater.projection._apply import apply

_COUNT, _MOST = 8, 50


@pytest.fixture(autouse=True)
def _little_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_diff, "_LEAST", 1)
    monkeypatch.setattr(deadline, "_END", ContextVar("_END", default=None))


def _runs(build: Any, day: str) -> list[Any]:
    events = []
    for number in range(_COUNT):
        event = build.run("COMPLETE", f"{day}{number}", f"j{number}", f"{day}:00:00")
        fields = [{"name": "x"}, {"name": f"y{day}" if number % 2 else "y"}]
        event["outputs"] = [build.dataset(f"db|d{number}", schema={"fields": fields})]
        facet = {"type": "git", "url": "u", "version": day if number % 3 else "1"}
        event["job"]["facets"] = {"sourceCodeLocation": facet}
        events.append(event)
    return events


def _states(build: Any) -> tuple[State, State]:
    before: State = build.state(*_runs(build, "08"))
    after: State = build.state(*_runs(build, "08"), *_runs(build, "09"))
    return before, after


def _repeated(before: State, after: State) -> tuple[Any, int]:
    """Return the difference and the number of queries for it; each exceeds its deadline at once."""
    for state in (before, after):
        whole_graph_of(state, Level.TASK)  # as earlier queries did before their deadline
    for number in range(1, _MOST):
        deadline.start(-1)
        try:
            return diff_answer(before, after), number
        except DeadlineError:
            continue
        finally:
            deadline._END.set(None)
    raise AssertionError(f"no result after {_MOST} queries")


def test_repeated_query_for_a_difference_returns_the_result(build: Any) -> None:
    answer, number = _repeated(*_states(build))
    assert number > _COUNT
    assert answer == diff_answer(*_states(build))
    assert len(answer["schemas"]) == _COUNT // 2
    assert [item["node"] for item in answer["code"]] == [
        f"job:demo:j{number}" for number in range(_COUNT) if number % 3
    ]


def test_event_between_queries_is_included(build: Any) -> None:
    before, after = _states(build)
    _repeated(before, after)
    event = build.run("COMPLETE", "10", "j0", "10:00:00")
    fields = [{"name": "x"}, {"name": "z"}]
    event["outputs"] = [build.dataset("db|d0", schema={"fields": fields})]
    apply(after, build.entry(event).event)
    answer, _ = _repeated(before, after)
    assert {"node": "dataset:db:d0", "added": ["z: "], "removed": ["y: "]} in answer["schemas"]
    apply(before, build.entry(event).event)
    answer, _ = _repeated(before, after)
    assert "dataset:db:d0" not in {item["node"] for item in answer["schemas"]}
