"""Inherited descriptions of columns."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.nodes.queries import node_answer
from headwater.plugins.evidence.queries import column_answer

_TEXT = "Fare in dollars"
_SAME = {"type": "DIRECT", "subtype": "IDENTITY"}


def _run(build: Any, number: int, source: str, target: str, **kind: Any) -> Any:
    """Return a run that passes the column `x` of a table on to another, with descriptions."""
    run = build.run("COMPLETE", str(number), f"to_{target}_{number}", f"08:0{number}:00",
                    reads=(f"db|{source}",), writes=(f"db|{target}",))  # fmt: skip
    used = {"namespace": "db", "name": source, "field": "x"}
    link = {**used, "transformations": [{**_SAME, **kind}]}
    fields = {"x": {"inputFields": [link]}}
    for dataset in (*run["inputs"], *run["outputs"]):
        dataset["facets"] = {"schema": {"fields": [{"name": "x", "type": "int"}]}}
    run["outputs"][0]["facets"]["columnLineage"] = {"fields": fields}
    return run


def _describe(dataset: Any, text: str) -> None:
    dataset["facets"]["schema"]["fields"][0]["description"] = text


def _inherited(state: Any, table: str) -> Any:
    node = f"dataset:db:{table}"
    (field,) = node_answer(state, node)["fields"]
    assert column_answer(state, node, "x")["inheritedDescription"] == field["inheritedDescription"]
    return field["inheritedDescription"]


def test_description_flows_along_unchanged_columns(build: Any) -> None:
    first, second = _run(build, 1, "raw", "clean"), _run(build, 2, "clean", "fares")
    _describe(first["inputs"][0], _TEXT)
    expected = {"text": _TEXT, "column": {"namespace": "db", "name": "raw", "field": "x"}}
    state = build.state(first, second)
    assert _inherited(state, "clean") == _inherited(state, "fares") == expected
    _describe(second["outputs"][0], "Own")
    assert _inherited(build.state(first, second), "fares") is None


@pytest.mark.parametrize(
    "kind",
    [
        {"subtype": "TRANSFORMATION"},
        {"subtype": "AGGREGATION"},
        {"subtype": None},
        {"masking": True},
        {"type": "INDIRECT", "subtype": "FILTER"},
    ],
)
def test_description_does_not_flow_along_other_edges(kind: Any, build: Any) -> None:
    run = _run(build, 1, "raw", "clean", **kind)
    _describe(run["inputs"][0], _TEXT)
    assert _inherited(build.state(run), "clean") is None


@pytest.mark.parametrize(("other", "is_inherited"), [(_TEXT, True), ("Tip", False), ("", False)])
def test_all_sources_must_have_the_same_description(
    other: str, *, is_inherited: bool, build: Any
) -> None:
    runs = [_run(build, 1, "yellow", "all"), _run(build, 2, "green", "all")]
    for run, text in zip(runs, (_TEXT, other), strict=True):
        _describe(run["inputs"][0], text)
    found = _inherited(build.state(*runs), "all")
    assert (found is not None) is is_inherited


def test_self_reads_and_failed_runs_do_not_stop_inheritance(build: Any) -> None:
    runs = [_run(build, 1, "raw", "t"), _run(build, 2, "t", "t"), _run(build, 3, "other", "t")]
    _describe(runs[0]["inputs"][0], _TEXT)
    runs[2]["eventType"] = "FAIL"
    found = _inherited(build.state(*runs), "t")
    assert found["text"] == _TEXT


@pytest.mark.parametrize(
    ("owners", "kind", "is_inherited"),
    [
        (("finance", "finance"), {}, True),
        (("finance", "growth"), {}, False),
        (("finance", None), {}, False),
        (("finance", "finance"), {"subtype": "AGGREGATION"}, False),
    ],
)
def test_owners_flow_along_unchanged_columns(
    owners: tuple[str | None, ...], kind: Any, *, is_inherited: bool, build: Any
) -> None:
    runs = [_run(build, 1, "yellow", "all"), _run(build, 2, "green", "all", **kind)]
    for run, owner in zip(runs, owners, strict=True):
        if owner:
            run["inputs"][0]["facets"]["ownership"] = {"owners": [{"name": owner}]}
    runs.append(_run(build, 3, "all", "copy"))
    state = build.state(*runs)
    source = {"id": "dataset:db:green", "type": "dataset", "namespace": "db", "name": "green"}
    expected = {"owners": ["finance"], "node": source} if is_inherited else None
    for table in ("all", "copy"):
        assert node_answer(state, f"dataset:db:{table}")["inferredOwners"] == expected
    assert node_answer(state, "dataset:db:green")["inferredOwners"] is None
