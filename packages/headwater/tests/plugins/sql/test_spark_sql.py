"""The SQL text decides where Spark's listener is known to report wrong columns."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.graph.current import generations_of
from headwater.lineage.queries import columns_answer
from headwater.projection import State

_LISTENER = "https://github.com/OpenLineage/OpenLineage/tree/1.53.0/integration/spark"
_TABLES = {
    "orders": ("id", "amount", "status"),
    "clean": ("id", "amount", "_file"),
    "sales": ("region", "quarter", "amount"),
    "wide": ("region", "q1", "q2"),
}


def _table(build: Any, name: str, **facets: Any) -> Any:
    """Return an Iceberg table as the listener reports it: a location with a symlink."""
    fields = [{"name": field} for field in _TABLES[name]]
    symlink = ("hive://lake:9083", f"shop.{name}", "TABLE")
    place = f"file|/warehouse/shop/{name}"
    return build.dataset(place, symlinks=[symlink], schema={"fields": fields}, **facets)


def _state(build: Any, sql: str, reads: tuple[str, ...], target: str) -> State:
    """Return the state after a query whose target the listener reports to come from itself."""
    own = {"namespace": "file", "name": f"/warehouse/shop/{target}"}
    fields = {
        name: {"inputFields": [{**own, "field": name}]}
        for name in _TABLES[target]
        if name != "_file"
    }
    event = build.run("COMPLETE", "1", "app.query", "01:00:00")
    event["job"]["facets"]["sql"] = {"query": sql, "dialect": "spark", "_producer": _LISTENER}
    event["inputs"] = [_table(build, name) for name in reads]
    lineage = {"_producer": _LISTENER, "fields": fields}
    event["outputs"] = [_table(build, target, columnLineage=lineage)]
    state: State = build.state(event)
    return state


def _sources(state: State, table: str) -> set[str]:
    top = columns_answer(state, f"shop.{table}", depth=1, indirect=False)["up"]
    return {
        f"{column['field']} < {source['name'].rpartition('.')[2]}.{source['field']}"
        for column in top["children"]
        for source in column["children"]
    }


_MERGE = "merge into lake.shop.clean t using {} s on t.id = s.id when not matched then insert *"
_PIVOT = "insert into shop.wide select * from shop.sales pivot (sum(amount) for quarter in (1, 2))"
_GROUP = "insert into shop.clean (id, amount) select id, sum(amount) from shop.orders group by id"


@pytest.mark.parametrize(
    ("sql", "source", "target", "edges"),
    [
        (_MERGE.format("shop.orders"), "orders", "clean", "id < orders.id|amount < orders.amount"),
        (_GROUP, "orders", "clean", "id < orders.id|amount < orders.amount"),
        (_PIVOT, "sales", "wide", "region < sales.region|q1 < sales.amount|q2 < sales.amount"),
    ],
    ids=["merge", "group by", "pivot"],
)
def test_text_replaces_wrong_columns_of_the_listener(
    sql: str, source: str, target: str, edges: str, build: Any
) -> None:
    state = _state(build, sql, (source,), target)
    assert _sources(state, target) == set(edges.split("|"))
    assert [
        len(generation.edges.reads) for generation in generations_of(state).present.parts()
    ] == [1]  # no table is added


@pytest.mark.parametrize(
    "sql",
    [
        _MERGE.format("elsewhere").replace(
            "insert *", "insert (id, amount) values (s.id, s.amount)"
        ),
        _MERGE.format("(select * from parquet.`s3://b/orders`)"),
        "select id, sum(amount) as amount from shop.orders group by id",
        "insert into shop.other select id, sum(amount) from shop.orders group by id",
        "merge into shop.clean using (",
        "insert into shop.clean select id, amount from shop.orders",
    ],
    ids=["view", "file", "query", "other target", "unreadable", "no misread statement"],
)
def test_listener_decides_where_the_text_is_not_certain(sql: str, build: Any) -> None:
    assert _sources(_state(build, sql, ("orders",), "clean"), "clean") == {
        "id < clean.id",
        "amount < clean.amount",
    }
