"""The work for a run with thousands of inputs or outputs grows with their number, not faster."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from headwater.lineage.queries import tree_answer
from packages.headwater.tests.support.explicit import dataset, into, run_event

_COUNT, _MORE = 60, 4
_MOST_GROWTH = 1.5 * _MORE  # quadratic work grows nearly by the square

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
def test_work_for_a_wide_run_grows_with_its_datasets(
    build: Any, direction: Any, events: Callable[[list[str]], list[Json]]
) -> None:
    def calls(count: int) -> int:
        state = build.state(*events([f"d{number}" for number in range(count)]))
        found: list[Any] = []
        made = _calls(lambda: found.append(tree_answer(state, "root", direction)))
        (leaf,) = found[0][direction]["children"]
        assert leaf["name"] == "big"
        assert len(leaf["children"]) == count
        return made

    assert calls(_COUNT * _MORE) < _MOST_GROWTH * calls(_COUNT)
