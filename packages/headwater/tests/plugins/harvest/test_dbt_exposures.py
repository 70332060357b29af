"""Exposures of dbt, from artifacts and from the events of dbt-ol."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from headwater.errors import NotFoundError
from headwater.graph.current import generations_of
from headwater.lineage.queries import edges_answer
from headwater.plugins.impact.queries import impact_answer
from headwater.projection import State, project
from headwater.projection._apply import apply
from packages.headwater.tests.conftest import Call
from packages.headwater.tests.support.dbt_project import (
    NAMESPACE,
    Harvest,
    Query,
    inputs_of,
    shop_project,
)


def _exposing(build: Any, time: str, dataset: str, *exposures: str) -> dict[str, Any]:
    """Return an event of a model whose output feeds exposures, as dbt-ol sends it."""
    event: dict[str, Any] = build.run("COMPLETE", time, f"model of {dataset}", time, writes=(
        dataset,))  # fmt: skip
    listed = [{"unique_id": name, "name": name, "type": "dashboard"} for name in exposures]
    event["outputs"][0]["facets"]["dbt_exposures"] = {"exposures": listed}
    return event


def _reads(state: State) -> set[tuple[str, str]]:
    return {
        (row["job"]["name"], row["dataset"]["name"])
        for row in edges_answer(state, "task")["items"]
        if row["direction"] == "reads"
    }


def test_exposures_read_the_tables_behind_their_metrics(
    harvest: Harvest, query: Query, call: Call, tmp_path: Path
) -> None:
    harvest(shop_project())
    assert "unused" not in call("doctor", "--database", str(tmp_path / "log.db")).stdout
    assert inputs_of(query, "exposure.shop.dashboard") == {"db.main.daily"}
    affected = query("impact", node="db.main.orders")["affected"]
    (found,) = (node for node in affected if node["name"] == "exposure.shop.dashboard")
    assert found["owners"] == ["cfo@example.org"]
    assert query("search", text="dashboard")["items"][0]["name"] == "exposure.shop.dashboard"
    for name in ("dashboard", "exposure.shop.dashboard", "job:dbt:exposure.shop.dashboard"):
        with pytest.raises(NotFoundError, match="Use a dataset that it reads: db.main.daily"):
            query("gate", dataset=[name])
    links = query("node", node="dashboard")["links"]
    assert links == [{"name": "Dashboard", "url": "https://bi.example.org/1"}]


def test_import_replaces_the_exposures_that_dbt_ol_reported(
    harvest: Harvest, query: Query, call: Call, tmp_path: Path, build: Any
) -> None:
    event = _exposing(build, "08:00:00", f"{NAMESPACE}|db.main.daily", "exposure.shop.dashboard")
    event["job"]["namespace"] = "dbt"
    (tmp_path / "dbt-ol.json").write_text(json.dumps(event))
    call("ingest", str(tmp_path / "dbt-ol.json"), "--database", str(tmp_path / "log.db"))
    assert inputs_of(query, "exposure.shop.dashboard") == {"db.main.daily"}
    nodes = shop_project()
    nodes["exposure.shop.dashboard"]["parents"] = ("model.shop.orders",)
    harvest(nodes, day=30)
    assert inputs_of(query, "exposure.shop.dashboard") == {"db.main.orders"}


@pytest.mark.parametrize(("schema", "is_kept"), [("main", False), ("other", True)])
def test_import_removes_deleted_models_from_exposures_that_dbt_ol_reported(
    schema: str, is_kept: bool, harvest: Harvest, query: Query, call: Call, tmp_path: Path,
    build: Any,
) -> None:  # fmt: skip
    """A model in a schema that the import does not have may belong to another environment."""
    dataset = f"db.{schema}.deleted"
    event = _exposing(build, "08:00:00", f"{NAMESPACE}|{dataset}", "exposure.shop.dashboard")
    event["job"]["namespace"] = "dbt"
    (tmp_path / "dbt-ol.json").write_text(json.dumps(event))
    call("ingest", str(tmp_path / "dbt-ol.json"), "--database", str(tmp_path / "log.db"))
    harvest(shop_project(), day=30)
    kept = {dataset} if is_kept else set()
    assert inputs_of(query, "exposure.shop.dashboard") == {"db.main.daily", *kept}


def test_exposure_of_a_failed_model_is_blocked(harvest: Harvest, query: Query) -> None:
    harvest(shop_project())
    assert query("node", node="dashboard")["health"]["state"] == "unknown"
    harvest(shop_project(), day=2, orders="error", daily="skipped", unique_daily="skipped")
    health = query("node", node="dashboard")["health"]
    text = "shows data from before db.main.shop.orders failed"
    assert (health["state"], health["message"]) == ("blocked", text)
    harvest(shop_project(), day=3)
    assert query("node", node="dashboard")["health"]["state"] == "unknown"
    harvest(shop_project(), day=4, unique_daily="fail")
    health = query("node", node="dashboard")["health"]
    text = "shows data of db.main.daily that failed its check unique_daily"
    assert (health["state"], health["message"]) == ("failed_checks", text)


def test_exposures_of_dbt_ol_read_the_datasets_that_name_them(build: Any) -> None:
    bodies = [
        _exposing(build, "08:00:00", "db|a", "board", "report"),
        _exposing(build, "09:00:00", "db|a", "board"),
        _exposing(build, "08:30:00", "db|b", "board"),
    ]
    events = [build.entry(body).event for body in bodies]
    for order in permutations(events):
        state = State()
        for event in order:
            apply(state, event)
            generations_of(state)  # builds the caches that the next event must update
            assert _reads(state) == _reads(project(order[: order.index(event) + 1]))
        assert _reads(state) == {("board", "a"), ("board", "b")}


def test_column_of_a_table_behind_an_exposure_is_never_safe(build: Any) -> None:
    event = _exposing(build, "08:00:00", "db|a", "board")
    event["outputs"][0]["facets"]["schema"] = {"fields": [{"name": "total", "type": "int"}]}
    drop = impact_answer(build.state(event), "a", field="total")["drop"]
    assert drop["verdict"] == "unknown"
    assert drop["reasons"][0]["message"].endswith("reported no column lineage: board.")


@pytest.mark.parametrize(("has_text", "reads"), [(True, {"raw.a"}), (False, {"raw.a", "main.a"})])
def test_ephemeral_model_of_dbt_ol_is_no_table(build: Any, has_text: bool, reads: Any) -> None:
    """Without a text that contains its query, it may be the only source."""
    event = build.run("COMPLETE", "1", "daily", "08:00:00", reads=("postgres://h:5432|raw.a",),
                      writes=("postgres://h:5432|main.b",))  # fmt: skip
    config = {"config": {"materialized": "ephemeral"}}
    event["inputs"].append(build.dataset("postgres://h:5432|main.a", dbt_model=config))
    text = "with __dbt__cte__a as (select x from raw.a) select x from __dbt__cte__a"
    event["job"]["facets"] = {"sql": {"query": text}} if has_text else {}
    assert {dataset for _, dataset in _reads(build.state(event))} == reads
