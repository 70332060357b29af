"""A column that Spark may use without reporting it is not safe to drop."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.plugins.impact.queries import impact_answer
from headwater.projection import State

_SPARK = "https://github.com/OpenLineage/OpenLineage/tree/1.53.0/integration/spark"
_LAKE = "s3://lake|"
_ORDERS = "s3://lake|bronze/orders"


def _columns(source: str, *fields: str) -> dict[str, Any]:
    namespace, name = source.split("|")
    links = {
        field: {"inputFields": [{"namespace": namespace, "name": name, "field": field}]}
        for field in fields
    }
    return {"_producer": _SPARK, "fields": links}


def _query(
    build: Any,
    number: str,
    job: str,
    *,
    reads: str = "",
    writes: str = "",
    sql: str = "",
    parent: tuple[str, str] | None = ("0", "app"),
) -> dict[str, Any]:
    """Return the last event of a query of Spark that copies the column `id`."""
    event: dict[str, Any] = build.run("COMPLETE", number, job, "01:00:00", parent=parent)
    event["run"]["facets"]["processing_engine"] = {"_producer": _SPARK, "name": "spark"}
    if sql:
        event["job"]["facets"]["sql"] = {"_producer": _SPARK, "query": sql}
    schema = {"fields": [{"name": name} for name in ("id", "note", "day")]}
    event["inputs"] = [build.dataset(reads, schema=schema)] if reads else []
    facets = {"columnLineage": _columns(reads, "id")} if reads else {}
    event["outputs"] = [build.dataset(writes, schema=schema, **facets)] if writes else []
    return event


def _app(build: Any) -> Any:
    """Return the last event of the application of the queries."""
    return build.run("COMPLETE", "0", "app", "02:00:00", kind="SPARK/APPLICATION")


def _verdict(state: State, dataset: str, field: str) -> tuple[str, str]:
    drop = impact_answer(state, dataset.partition("|")[2], field)["drop"]
    return drop["verdict"], drop["reasons"][0]["message"]


def test_column_is_unknown_if_a_merge_reports_no_conditions(build: Any) -> None:
    kinds = "append_data execute_merge_into_command execute_merge_into_command.orders replace_data"
    for kind in kinds.split():
        expected = "safe" if kind == "append_data" else "unknown"
        query = _query(build, "1", f"app.{kind}", reads=_ORDERS, writes=f"{_LAKE}silver/orders")
        state = build.state(_app(build), query)
        assert _verdict(state, _ORDERS, "note")[0] == expected
        assert _verdict(state, _ORDERS, "id")[0] == "unsafe"


def test_column_is_unknown_if_spark_reads_its_table_through_jdbc(build: Any) -> None:
    for table, expected in (
        ("hive://meta.example.org:9083|shop.orders", "safe"),
        ("postgres://db.example.org:5432|shop.public.orders", "unknown"),
    ):
        query = _query(build, "1", "app.append_data", reads=table, writes=f"{_LAKE}bronze/copy")
        assert _verdict(build.state(query), table, "note")[0] == expected


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("delete from delta.`s3://lake/bronze/orders` where note is null", "unknown"),
        ("update delta.`s3a://lake/bronze/orders/` set id = 1 where note = 'x'", "unknown"),
        ("delete from bronze.orders where note is null", "unknown"),
        ("optimize bronze.orders zorder by (note)", "unknown"),
        ("delete from orders_of_all where note is null", "unknown"),
        ("delete from delta.`s3://lake/bronze/orders` where day is null", "safe"),
        ("delete from delta.`s3://lake/bronze/orders_old` where note is null", "safe"),
        ("delete from gold.orders where note is null", "safe"),
    ],
)
def test_column_is_unknown_if_a_text_without_datasets_names_it(
    sql: str, expected: str, build: Any
) -> None:
    """Spark reports no datasets of DELETE, UPDATE and OPTIMIZE of Delta Lake."""
    named = "create table orders_of_all using delta location 's3://lake/bronze/orders'"
    state = build.state(
        _query(build, "1", "app.append_data", reads=_ORDERS, writes=f"{_LAKE}silver/orders"),
        _query(build, "2", "register.create_table", sql=named, parent=("8", "register")),
        # Two statements of a kind have one name, and the newer one has another table.
        _query(build, "3", "clean.execute_delete_command", sql=sql, parent=("9", "clean")),
        _query(
            build, "4", "clean.execute_delete_command", sql="delete from x", parent=("9", "clean")
        ),
    )
    assert _verdict(state, _ORDERS, "note")[0] == expected


def test_column_is_unknown_beside_a_change_of_an_unknown_table(build: Any) -> None:
    """Changes with the API of Delta Lake have neither datasets nor a text."""
    query = _query(build, "1", "app.append_data", reads=_ORDERS, writes=f"{_LAKE}silver/orders")
    change = _query(build, "2", "app.execute_delete_command")
    verdict, message = _verdict(build.state(_app(build), query, change), _ORDERS, "note")
    assert verdict == "unknown"
    assert message == (
        "1 statement of Spark, beside those that use the dataset, changes an unknown table:"
        " app.execute_delete_command."
    )


@pytest.mark.parametrize(
    "sql",
    [
        "insert overwrite table mart.orders partition (day = '2026-11-01') select id, note from t",
        "insert overwrite mart.orders partition (note, day) select id from t",
        "create table mart.orders using parquet partitioned by (day) as select id, note from t",
    ],
)
def test_column_that_partitions_a_table_is_not_safe(sql: str, build: Any) -> None:
    table = "hive://meta.example.org:9083|mart.orders"
    query = _query(build, "1", "app.insert", reads=_ORDERS, writes=table, sql=sql)
    state = build.state(_app(build), query)
    assert _verdict(state, table, "day") == (
        "unsafe",
        "1 job selects partitions by it: app.",
    )
    assert _verdict(state, table, "id")[0] == "safe"
