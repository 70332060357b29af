"""Views and exposures of dbt after a failed check; singular tests, which dbt reports twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from packages.headwater.tests.conftest import Call
from packages.headwater.tests.support.dbt_project import (
    Harvest,
    Query,
    dbt_node,
)

_VIEW = {"config": {"materialized": "view"}}
_SINGULAR = {"config": {"severity": "ERROR"}}
_GENERIC = {
    **_SINGULAR,
    "test_metadata": {"name": "unique", "kwargs": {}},
    "attached_node": "model.shop.rides",
}
_SKIPPED = {"star": "skipped", "top": "skipped", "copy": "skipped"}


def _pedal() -> dict[str, Any]:
    """Return raw -> rides -> star (view) -> top (view) -> board, and top -> copy (table)."""
    nodes = [
        dbt_node("seed", "raw"),
        dbt_node("model", "rides", ("seed.shop.raw",)),
        dbt_node("test", "low", ("model.shop.rides",), **_SINGULAR),
        dbt_node("model", "star", ("model.shop.rides",), **_VIEW),
        dbt_node("model", "top", ("model.shop.star",), **_VIEW),
        dbt_node("model", "copy", ("model.shop.top",)),
        dbt_node("exposure", "board", ("model.shop.top",), type="dashboard", owner={"name": "Mia"}),
    ]
    return {node["unique_id"]: node for node in nodes}


def _health(query: Query, *names: str) -> list[tuple[str, str]]:
    found = [query("node", node=name)["health"] for name in names]
    return [(health["state"], health["message"]) for health in found]


def test_views_and_exposures_show_the_data_that_failed_its_check(
    harvest: Harvest, query: Query
) -> None:
    harvest(_pedal())
    harvest(_pedal(), day=2, low="fail", **_SKIPPED)
    shown = "failed_checks", "shows data of db.main.rides that failed its check test.shop.low"
    assert _health(query, "db.main.star", "db.main.top", "board") == [shown] * 3
    ((copy, text),) = _health(query, "db.main.copy")
    assert copy == "blocked"
    assert text.startswith("not written since ")

    (problem,) = query("problems")["items"]
    counts = {key: problem[key] for key in ("datasets", "views", "jobs", "exposures")}
    assert counts == {"datasets": 1, "views": 2, "jobs": 3, "exposures": 1}
    (finding,) = query("findings", kind="failed")["items"]
    assert finding["message"].endswith(
        "; blocks 3 jobs and 1 dataset; data that failed its checks is shown by 2 views and"
        " 1 exposure"
    )
    harvest(_pedal(), day=3)
    assert {state for state, _ in _health(query, "db.main.star", "db.main.top")} == {"healthy"}


def test_table_that_was_not_written_leaves_old_data_in_its_views(
    harvest: Harvest, query: Query
) -> None:
    harvest(_pedal())
    harvest(_pedal(), day=2, rides="error", low="skipped", **_SKIPPED)
    old = "blocked", "shows data from before db.main.shop.rides failed"
    assert _health(query, "db.main.star", "db.main.top", "board") == [old] * 3
    problem = query("problems")["items"][0]
    assert (problem["datasets"], problem["views"], problem["exposures"]) == (2, 2, 1)


def test_view_that_could_not_be_created_is_not_said_to_show_old_data(
    harvest: Harvest, query: Query
) -> None:
    harvest(_pedal())
    harvest(_pedal(), day=2, star="error", top="skipped", copy="skipped")
    reads = "blocked", "reads views that were not created again since db.main.shop.star failed"
    assert _health(query, "db.main.top", "board") == [reads] * 2
    assert _health(query, "db.main.copy")[0][1] == "not written since db.main.shop.star failed"


def test_failed_singular_test_is_one_check_and_one_problem(
    harvest: Harvest, query: Query, call: Call, tmp_path: Path
) -> None:
    harvest(_pedal())
    harvest(_pedal(), day=2, low="fail", **_SKIPPED)
    (answer,) = query("gate", dataset=["db.main.rides"])["datasets"]
    assert [item["message"] for item in answer["violations"]] == [
        "failed its checks: test.shop.low"
    ]
    (problem,) = query("problems")["items"]
    assert problem["cause"]["name"] == "test.shop.low"
    assert query("health")["counts"]["problems"] == 1
    (finding,) = query("findings", kind="failed")["items"]
    assert [cause["subject"] for cause in finding["causes"]] == ["job:dbt:test.shop.low"]
    names = {item["name"] for item in problem["affected"]}
    assert not [name for name in names if ".test" in name]  # the tests ran
    printed = call("problems", "--database", str(tmp_path / "log.db")).stdout
    assert "1 dataset not rebuilt; 3 jobs not run; 2 views affected; 1 exposure affected" in printed
    harvest(_pedal(), day=3)
    assert not query("problems", kind="failed")["items"]


def test_generic_test_that_failed_with_a_singular_one_is_a_problem_of_its_own(
    harvest: Harvest, query: Query
) -> None:
    generic = dbt_node("test", "unique_rides", ("model.shop.rides",), **_GENERIC)
    nodes = {**_pedal(), generic["unique_id"]: generic}
    harvest(nodes, low="fail", unique_rides="fail", **_SKIPPED)
    causes = {problem["cause"]["name"] for problem in query("problems")["items"]}
    assert {"test.shop.low", "db.main.shop.rides.test"} <= causes
    (quality,) = query("findings", kind="quality")["items"]
    assert quality["message"].count("low") == 1
    assert "unique_rides" in quality["message"]
