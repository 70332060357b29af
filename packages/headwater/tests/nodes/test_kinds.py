"""Kinds and titles of datasets: views are shown as views in every list."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import headwater
from headwater.graph.nodes import Node
from headwater.node_facets import is_file, kind_of
from headwater.nodes.queries import node_answer
from headwater.plugins.search.queries import datasets_answer, newest_answer, search_answer
from headwater.projection import State
from headwater.text import FILE_ENDING, title_of_dataset

_VIEW = {"datasetType": {"datasetType": "VIEW"}}


def _create(build: Any, sql: str, hour: str, dataset: str = "db|v", **facets: Any) -> Any:
    event = build.run("COMPLETE", hour, "create", f"{hour}:00:00", reads=("db|t",))
    event["job"]["facets"]["sql"] = {"query": sql}
    return event | {"outputs": [build.dataset(dataset, **facets)]}


def _read(build: Any, **facets: Any) -> Any:
    event = build.run("COMPLETE", "r", "read", "20:00:00", writes=("db|report",))
    return event | {"inputs": [build.dataset("db|v", **facets)]}


def _dataset_event(build: Any, **facets: Any) -> Any:
    event = build.run("COMPLETE", "r", "read", "09:00:00")
    return {
        "eventTime": event["eventTime"],
        "producer": event["producer"],
        "dataset": build.dataset("db|v", **facets),
    }


def _kinds(state: State) -> set[str]:
    """Return the kind of v, which all answers show alike."""
    hits = [hit["kind"] for hit in search_answer(state, "v")["items"] if hit["name"] == "v"]
    listed = {row["name"]: row["kind"] for row in datasets_answer(state)["items"]}
    views = {row["name"] for row in datasets_answer(state, type_="view")["items"]}
    kind = node_answer(state, "v")["kind"]
    assert views == ({"v"} if kind == "view" else set())
    return {kind, listed["v"], *hits}


def test_dataset_that_only_its_facet_calls_a_view_is_a_view(build: Any) -> None:
    assert _kinds(build.state(_read(build, **_VIEW))) == {"view"}
    assert _kinds(build.state(_dataset_event(build, **_VIEW))) == {"view"}
    assert _kinds(build.state(_read(build))) == {"table"}


@pytest.mark.parametrize(
    ("sql", "facets", "kind"),
    [
        ("create or replace view v as select * from t", {}, "view"),
        ("create table v as select * from t", {}, "table"),
        ("create materialized view v as select * from t", {}, "table"),
        ("select * from t", {"dbt_model": {"config": {"materialized": "view"}}}, "view"),
        ("select * from t", {"dbt_model": {"config": {"materialized": "table"}}}, "table"),
        ("create view v as select * from t", {"datasetType": {"datasetType": "TABLE"}}, "table"),
    ],
)
def test_dataset_that_runs_only_created_as_a_view_is_a_view(
    sql: str, facets: dict[str, Any], kind: str, build: Any
) -> None:
    state = build.state(_create(build, sql, "10", **facets), _read(build))
    assert _kinds(state) == {kind}
    assert {item["name"]: item["kind"] for item in newest_answer(state)["items"]}["v"] == kind


def test_view_that_became_a_table_is_a_table(build: Any) -> None:
    events = [
        _create(build, "create view v as select * from t", "10"),
        _create(build, "drop view v; create table v as select * from t", "11"),
    ]
    assert _kinds(build.state(*events)) == {"table"}
    assert _kinds(build.state(*reversed(events))) == {"table"}


@pytest.mark.parametrize(
    ("name", "facets", "kind"),
    [
        ("s3://lake|a/b.parquet", {}, "file"),
        ("s3://lake|a/b", {"symlinks": [("hive://h", "a.b", "TABLE")]}, "table"),
        ("s3://lake|a/b", {"datasetType": {"datasetType": "MODEL"}}, "model"),
        ("kafka://b:9092|orders", {}, "stream"),
        ("pulsar://b|orders", {"datasetType": {"datasetType": "STREAM"}}, "stream"),
    ],
)
def test_kind_of_other_datasets(name: str, facets: Any, kind: str, build: Any) -> None:
    event = build.run("COMPLETE", "w", "write", "10:00:00")
    state = build.state(event | {"outputs": [build.dataset(name, **facets)]})
    node = Node("dataset", *name.split("|"))
    assert (kind_of(state, node), is_file(state, node)) == (kind, kind == "file")


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("db.shop.orders", "orders"),
        ("weekly_revenue.pdf", "weekly_revenue.pdf"),
        ("Report.XLSX", "Report.XLSX"),
        ("/reports/weekly.v2.bin", "weekly.v2.bin"),
        ("warehouse/sales.db/orders", "orders"),
        ("lake/trips/", "trips"),
        ("audit.log", "log"),
    ],
)
def test_title_of_a_dataset_keeps_the_dots_of_a_file(name: str, title: str) -> None:
    assert title_of_dataset(name) == title


def test_page_and_server_know_the_same_endings_of_files() -> None:
    words = Path(headwater.__file__).parents[2] / "web/src/graph/words.ts"
    (on_page,) = re.findall(r"const FILE_ENDING = /\\\.\(([^)]*)\)\$/i", words.read_text())
    assert FILE_ENDING.pattern == rf"\.({on_page})$"
