"""A source that only column lineage names is an input for every answer."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from headwater.lineage.queries import columns_answer, tree_answer
from headwater.plugins.impact.queries import impact_answer, path_answer
from headwater.plugins.provenance.queries import provenance_answer
from headwater.plugins.trust.queries import gate_answer
from headwater.projection import State


def _column(field: str, *sources: str) -> dict[str, Any]:
    inputs = [dict(zip(("namespace", "name", "field"), s.split("|"), strict=True)) for s in sources]
    return {"columnLineage": {"fields": {field: {"inputFields": inputs}}}}


@pytest.fixture
def events(build: Any) -> list[dict[str, Any]]:
    """A failed load of a source, and a MERGE that names it only in the lineage of a column."""
    load = build.run("FAIL", "1", "load", "08:00:00", reads=("x|feed",), writes=("db|src",))
    merge = build.run("COMPLETE", "2", "merge", "09:00:00", reads=("db|tgt",), writes=("db|tgt",))
    merge["outputs"][0]["facets"] = _column("id", "db|src|id", "db|tgt|id")
    other = build.run("COMPLETE", "3", "other", "09:00:00", reads=("x|y",), writes=("db|z",))
    other["outputs"][0]["facets"] = _column("a", "db|z|a")
    return [load, merge, other]


def _names(node: dict[str, Any]) -> set[str]:
    return {name for child in node["children"] for name in {child["name"], *_names(child)}}


def test_every_answer_knows_a_source_of_columns(build: Any, events: list[Any]) -> None:
    state: State = build.state(*events)
    assert {"src", "load", "feed"} <= _names(tree_answer(state, "tgt")["up"])
    assert "tgt" in {node["name"] for node in impact_answer(state, "src")["affected"]}
    assert [node["name"] for node in path_answer(state, "feed", "tgt")["path"]] == [
        "feed", "load", "src", "merge", "tgt"
    ]  # fmt: skip
    runs = provenance_answer(state, "tgt")["runs"]
    assert {run["job"]["name"] for run in runs} == {"load", "merge"}
    (gated,) = gate_answer(state, ["tgt"])["datasets"]
    assert [violation["subject"] for violation in gated["violations"]] == ["job:demo:load"]
    (column,) = columns_answer(state, "src", direction="down")["down"]["children"]
    assert (column["field"], [child["name"] for child in column["children"]]) == ("id", ["tgt"])


def test_a_column_computed_from_its_own_table_adds_no_input(build: Any, events: list[Any]) -> None:
    tree = tree_answer(build.state(*events), "z")["up"]
    assert _names(tree) == {"other", "y"}


def test_order_of_events_does_not_matter(build: Any, events: list[Any]) -> None:
    trees = [tree_answer(build.state(*order), "tgt") for order in permutations(events)]
    assert all(tree == trees[0] for tree in trees)


def test_sources_of_columns_without_a_job_are_upstream(build: Any, events: list[Any]) -> None:
    facets = _column("id", "db|src|id", "db|tgt|id")
    event = {key: events[1][key] for key in ("eventTime", "producer")}
    event |= {"dataset": {"namespace": "db", "name": "tgt", "facets": facets}}
    for order in permutations([events[0], event]):
        state = build.state(*order)
        assert _names(tree_answer(state, "tgt")["up"]) == {"src", "load", "feed"}
        assert "tgt" in {node["name"] for node in impact_answer(state, "src")["affected"]}
        assert impact_answer(state, "src", "id")["drop"]["verdict"] == "unsafe"
        (gated,) = gate_answer(state, ["tgt"])["datasets"]
        assert [violation["subject"] for violation in gated["violations"]] == ["job:demo:load"]
    event["dataset"]["facets"] = _column("id")
    assert _names(tree_answer(build.state(events[0], event), "tgt")["up"]) == set()
