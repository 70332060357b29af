"""Trees and impact agree on renamed tables and on SQL tables in other namespaces."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.lineage.queries import tree_answer
from headwater.plugins.impact.queries import impact_answer
from packages.headwater.tests.support.graphs import all_names


def _affected(state: Any, node: str, level: str = "task") -> set[str]:
    return {item["id"] for item in impact_answer(state, node, level=level)["affected"]}


@pytest.mark.parametrize("writes", [("db|b",), ("db|a", "db|b")])
def test_impact_and_tree_agree_on_an_input_of_another_namespace(
    writes: tuple[str, ...], build: Any
) -> None:
    event = build.run("COMPLETE", "2", "q", "01:00:00", reads=("s3://b|a",), writes=writes)
    text = "insert into b (x) select x from a"
    event["job"]["facets"]["sql"] = {"query": text, "dialect": "duckdb"}
    state = build.state(build.run("COMPLETE", "1", "p", "00:00:00", writes=("db|a",)), event)
    is_target = "db|a" in writes
    above = all_names(tree_answer(state, "dataset:db:b")["up"])
    assert ("p" in above) is is_target
    assert ("dataset:db:b" in _affected(state, "dataset:db:a")) is is_target
    assert "dataset:db:b" in _affected(state, "dataset:s3://b:a")


def test_pipeline_tree_has_the_former_name_of_a_table_that_its_job_reads(build: Any) -> None:
    names = {"reads": ("db|a",), "writes": ("db|a", "db|b")}
    former = {"namespace": "db", "name": "d"}
    change = {"lifecycleStateChange": "RENAME", "previousIdentifier": former}
    rename = {
        "eventTime": "2025-11-21T01:00:00Z",
        "producer": "https://example.org/tests",
        "dataset": build.dataset("db|a", lifecycleStateChange=change),
    }
    state = build.state(build.run("COMPLETE", "1", "p", "01:00:00", **names), rename)
    assert "dataset:db:b" in _affected(state, "dataset:db:d", "pipeline")
    tree = tree_answer(state, "dataset:db:b", "up", level="pipeline")
    assert {"a", "d"} <= all_names(tree["up"])
