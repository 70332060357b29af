"""Partial answers in tests: queries that determine few items at a time."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from types import ModuleType
from typing import Any

import pytest

from headwater import deadline
from headwater.projection import State

LEAST = 6
"""The number of items that each query determines."""
_MOST_QUERIES = 100


def leave_little_time(monkeypatch: pytest.MonkeyPatch, *modules: ModuleType) -> None:
    """Let queries with a deadline determine only `LEAST` items of some modules each."""
    for module in modules:
        monkeypatch.setattr(module, "_LEAST", LEAST)
        monkeypatch.setattr(module, "_SECONDS", -1.0)
    monkeypatch.setattr(deadline, "_END", ContextVar("_END", default=None))


def state_with_deadline(build: Any, events: list[Any]) -> State:
    """Return the state of some events; queries in this context have a deadline from now on."""
    state: State = build.state(*events)
    deadline.start(600)
    return state


def state_without_deadline(build: Any, events: list[Any]) -> State:
    """Return the state of some events; queries in this context are complete from now on."""
    state: State = build.state(*events)
    deadline._END.set(None)
    return state


def until_complete(query: Callable[[], Any]) -> list[Any]:
    """Return the answers to a query that is repeated until its answer is complete."""
    answers: list[Any] = []
    while not answers or answers[-1]["uncounted"]:
        answers.append(query())
        assert len(answers) <= _MOST_QUERIES
    return answers
