"""Columns that hooks, semantic models, time spines and unit tests of dbt name."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.plugins.impact.queries import impact_answer
from packages.headwater.tests.support.dbt_project import (
    Harvest,
    Query,
    dbt_node,
)

_SEMANTIC = {
    "defaults": {"agg_time_dimension": "day"},
    "entities": [{"name": "order", "expr": "order_id"}],
    "dimensions": [{"name": "day", "type": "time"}, {"name": "country"}],
    "measures": [{"name": "revenue", "expr": "amount * rate"}],
}
_UNIT = {
    "given": [{"input": "ref('kept')", "rows": [{"id": 1}]}, {"input": "this", "rows": "x\n1"}],
    "expect": {"rows": [{"name": "a"}]},
}


def _project(config: dict[str, Any], text: str) -> dict[str, Any]:
    """Return a project whose model `copy` reads `kept`, by default only its column `name`."""
    names = ("name", "id", "order_id", "day", "country", "amount", "rate")
    columns = {name: {"name": name} for name in names}
    table = {"materialized": "table"}
    kept = dbt_node("model", "kept", ("seed.shop.raw",), config=table, columns=columns,
                 compiled_code="select * from db.main.raw")  # fmt: skip
    copy = dbt_node("model", "copy", ("model.shop.kept",), config=table | config, columns=columns,
                 compiled_code=text)  # fmt: skip
    nodes = [dbt_node("seed", "raw"), kept, copy]
    return {node["unique_id"]: node for node in nodes}


def _verdict(query: Query, table: str, field: str) -> str:
    drop = query("impact", node=f"db.main.{table}", field=field)["drop"]
    return str(drop["verdict"])


_READS = "select name from db.main.kept"


@pytest.mark.parametrize(
    ("hook", "verdicts"),
    [
        ("insert into log select max(id) from {{ ref('kept') }}", {"id": "unsafe", "day": "safe"}),
        ("grant select on {{ this }} to bi", {"id": "safe", "day": "safe"}),
    ],
)
def test_columns_in_the_hooks_of_readers_are_used(
    hook: str, verdicts: dict[str, str], harvest: Harvest, query: Query
) -> None:
    harvest(_project({"post-hook": [{"sql": hook, "transaction": True}]}, _READS))
    assert {field: _verdict(query, "kept", field) for field in verdicts} == verdicts


def test_other_options_of_readers_name_columns_of_their_own_tables(
    harvest: Harvest, query: Query
) -> None:
    harvest(_project({"cluster_by": ["id"]}, _READS))
    assert (_verdict(query, "kept", "id"), _verdict(query, "copy", "id")) == ("safe", "unsafe")


def test_columns_of_semantic_models_are_used(harvest: Harvest, query: Query) -> None:
    nodes = _project({}, _READS)
    nodes["semantic_model.shop.sales"] = dbt_node(
        "semantic_model", "sales", ("model.shop.kept",), **_SEMANTIC
    )
    harvest(nodes)
    for field in ("order_id", "day", "country", "amount", "rate"):
        assert _verdict(query, "kept", field) == "unsafe", field
    assert _verdict(query, "kept", "id") == "unknown"  # the semantic model is a reader
    affected = query("impact", node="db.main.kept")["affected"]
    assert "semantic_model.shop.sales" in {node["name"] for node in affected}


def test_columns_of_hooks_of_the_project_and_of_time_spines_are_used(
    harvest: Harvest, query: Query
) -> None:
    nodes = _project({}, _READS)
    nodes["model.shop.copy"]["time_spine"] = {"standard_granularity_column": "day"}
    code = {"raw_code": "insert into log select max(id) from {{ ref('copy') }}"}
    hook = dbt_node("operation", "shop-on-run-end-0", ("model.shop.copy",), **code)
    harvest({**nodes, hook["unique_id"]: hook})
    found = {field: _verdict(query, "copy", field) for field in ("id", "day", "rate")}
    assert found == {"id": "unsafe", "day": "unsafe", "rate": "safe"}
    harvest(_project({}, _READS), day=2)
    assert _verdict(query, "copy", "id") == "safe"  # the hook was removed


def test_columns_of_the_rows_of_unit_tests_are_used(harvest: Harvest, query: Query) -> None:
    nodes = _project({}, _READS)
    nodes["unit_test.shop.u"] = dbt_node("unit_test", "u", ("model.shop.copy",), **_UNIT)
    harvest(nodes)
    assert (_verdict(query, "kept", "id"), _verdict(query, "kept", "rate")) == ("unsafe", "safe")
    assert (_verdict(query, "copy", "name"), _verdict(query, "copy", "rate")) == ("unsafe", "safe")


@pytest.mark.parametrize(
    ("kind", "text", "verdict"),
    [
        ("MODEL", "select id from db.main.other", "unknown"),
        ("MODEL", "select k.name from db.main.kept k join db.main.other o on k.id2 = o.id", "safe"),
        ("TASK", "select id from db.main.other", "safe"),
    ],
)
def test_reader_whose_text_does_not_name_the_dataset_is_unknown(
    kind: str, text: str, verdict: str, build: Any
) -> None:
    """dbt lists the tables of hooks, macros and `is_incremental()`, but reports only the query."""
    place = "postgres://h:1|db.main"
    event = build.run("COMPLETE", "1", "copy", "08:00:00", kind=f"DBT/{kind}",
                      reads=(f"{place}.kept", f"{place}.other"),
                      writes=(f"{place}.copy",))  # fmt: skip
    event["job"]["facets"]["sql"] = {"query": text, "dialect": "postgres"}
    for item in event["inputs"]:
        fields = [{"name": name} for name in ("id", "id2", "name", "amount")]
        item["facets"] = {"schema": {"fields": fields}}
    table = {"dbt_model": {"config": {"materialized": "table"}}}
    written = build.run("COMPLETE", "0", "kept", "07:00:00", kind="DBT/MODEL",
                        writes=(f"{place}.kept",))  # fmt: skip
    written["outputs"][0]["facets"] = {**event["inputs"][0]["facets"], **table}
    answer: Any = impact_answer(build.state(written, event), node="db.main.kept", field="amount")
    assert answer["drop"]["verdict"] == verdict, answer["drop"]
