"""The work for the tree of a run grows linearly with the number of its inputs or outputs."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from headwater.lineage.queries import tree_answer
from packages.headwater.tests.support.explicit import dataset, into, run_event

_COUNT, _MORE = 60, 4
_MOST_GROWTH = 1.5 * _MORE  # quadratic work would grow by nearly _MORE squared

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


@pytest.mark.replay
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
def test_work_for_a_tree_grows_linearly_with_the_datasets_of_a_run(
    build: Any, direction: Any, events: Callable[[list[str]], list[Json]]
) -> None:
    def calls(count: int) -> int:
        state = build.state(*events([f"d{number}" for number in range(count)]))
        trees: list[Any] = []
        call_count = _calls(lambda: trees.append(tree_answer(state, "root", direction)))
        (leaf,) = trees[0][direction]["children"]
        assert leaf["name"] == "big"
        assert len(leaf["children"]) == count
        return call_count

    assert calls(_COUNT * _MORE) < _MOST_GROWTH * calls(_COUNT)
