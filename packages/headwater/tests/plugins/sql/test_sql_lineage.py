"""The SQL text of a run completes the lineage of producers that report less than the text."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from headwater.graph.current import generations_of
from headwater.lineage.printing import print_tree_answer
from headwater.lineage.queries import columns_answer, tree_answer
from headwater.plugins.agents._lineage import flat
from headwater.plugins.evidence.queries import column_answer
from headwater.plugins.impact.queries import impact_answer
from headwater.plugins.search.queries import datasets_answer
from headwater.plugins.sql._cache import TextCache
from headwater.plugins.sql.script import local_names, read_script
from headwater.projection import State
from headwater.sql.reader import Arguments, Unread

_AIRFLOW = "https://github.com/apache/airflow/tree/providers-openlineage/2.20.3"
_SHOP = "postgres://shop:5432|shop.public."


def _task(
    build: Any, run: str, job: str, sql: str, reads: Any = (), columns: Any = None, **outputs: Any
) -> dict[str, Any]:
    """Return a task as openlineage-sql reports it; `outputs` are schemas of tables."""
    event = build.run("COMPLETE", run, job, f"0{run}:00:00", reads=[_SHOP + name for name in reads])
    event["job"]["facets"]["sql"] = {"query": sql}
    for name, fields in outputs.items():
        facets: dict[str, Any] = {"schema": {"fields": [{"name": field} for field in fields]}}
        if columns:
            source = {"namespace": "postgres://shop:5432"}
            facets["columnLineage"] = {
                "_producer": _AIRFLOW,
                "fields": {
                    target: {"inputFields": [{**source, "name": f"shop.public.{t}", "field": f}]}
                    for target, (t, f) in columns.items()
                },
            }
        event["outputs"].append(build.dataset(_SHOP + name, **facets))
    return event


@pytest.fixture
def events(build: Any) -> list[dict[str, Any]]:
    """Two tasks of Airflow: an INSERT with a join and a filter, and a CTAS with a CTE."""
    clean = (
        "insert into orders_clean (id, customer_name, amount) select o.id, c.name, o.amount * 2"
        " from raw_orders o join customers c on o.customer_id = c.id where o.status = 'ok'"
    )
    top = (
        "create table if not exists top as with t as (select * from totals)"
        " select customer_name, total from t order by total desc limit 1"
    )
    return [
        _task(build, "1", "load", "insert into raw_orders values (1)", raw_orders=("id", "status")),
        _task(
            build, "2", "clean", clean, ("customers", "raw_orders"),
            {"id": ("raw_orders", "id"), "name": ("customers", "name"),
             "_0": ("raw_orders", "amount")},
            orders_clean=(),
        ),
        _task(
            build, "3", "totals",
            "insert into totals select customer_name, sum(amount) from orders_clean group by 1",
            ("orders_clean",),
            {"customer_name": ("orders_clean", "customer_name"), "_0": ("orders_clean", "amount")},
            totals=(),
        ),
        _task(
            build, "4", "ctas", top, (),
            {"customer_name": ("t", "customer_name"), "total": ("t", "total")}, top=(),
        ),
    ]  # fmt: skip


@pytest.fixture
def state(build: Any, events: list[Any]) -> State:
    return build.state(*events)


def _inputs(state: State, name: str) -> set[str]:
    top = columns_answer(state, name, depth=1, indirect=True)["up"]
    return {
        f"{column['field']} {'<-' if source['isDirect'] else '<~'}"
        f" {source['name'].rpartition('.')[2]}.{source['field']}"
        for column in top["children"]
        for source in column["children"]
    }


def test_columns_come_from_the_text(state: State) -> None:
    rows = {"raw_orders.status", "raw_orders.customer_id", "customers.id"}
    direct = {
        "id <- raw_orders.id",
        "customer_name <- customers.name",
        "amount <- raw_orders.amount",
    }
    fields = ("id", "customer_name", "amount")
    assert _inputs(state, "orders_clean") == direct | {
        f"{field} <~ {source}" for field in fields for source in rows
    }


def test_edges_have_their_evidence(state: State, build: Any) -> None:
    def evidence(column: str) -> dict[str, str]:
        (producer,) = column_answer(state, "orders_clean", column)["producers"]
        return {
            f"{item['name'].rpartition('.')[2]}.{item['field']}": item["evidence"]
            for item in producer["inputs"]
        }

    rows = {"raw_orders.customer_id": "sql", "raw_orders.status": "sql", "customers.id": "sql"}
    assert evidence("id") == {"raw_orders.id": "verified", **rows}
    assert evidence("amount") == {"raw_orders.amount": "sql", **rows}
    unread = build.state(
        _task(build, "1", "job", "insert into b select magic(from", ("a",), {"x": ("a", "x")}, b=())
    )
    (top,) = columns_answer(unread, "b", depth=1)["up"]["children"]
    assert (top["evidence"], top["children"][0]["evidence"]) == (None, "reported")


def test_edges_of_the_tree_have_their_evidence(
    state: State, build: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    def evidence(state: State, table: str) -> dict[str, str | None]:
        answer = tree_answer(state, table, depth=2)["up"]
        (task,) = answer["children"]
        found = {task["name"]: task["evidence"], table: answer["evidence"]}
        return found | {item["name"]: item["evidence"] for item in task["children"]}

    totals = {"shop.public.totals": "sql"}  # openlineage-sql loses the source of a CTAS with a CTE
    assert evidence(state, "top") == {"top": None, "ctas": "verified", **totals}
    assert {item["evidence"] for item in flat(tree_answer(state, "top", depth=2)["up"])} == {
        "verified",
        "sql",
    }
    print_tree_answer(tree_answer(state, "top", depth=2))
    printed = capsys.readouterr().out
    assert "(postgres://shop:5432), read from SQL" in printed
    assert ", verified by SQL" in printed
    copied = build.run("COMPLETE", "1", "copy", "08:00:00", reads=("db|a",), writes=("db|b",))
    assert evidence(build.state(copied), "b") == {"b": None, "copy": "reported", "a": "reported"}
    assert all("evidence" not in item for item in flat(tree_answer(build.state(copied), "b")["up"]))


def test_columns_without_a_name_affect_the_table(state: State) -> None:
    """An INSERT without a list fills the columns by position, and those of `totals` are unknown."""
    assert _inputs(state, "totals") == {
        "None <~ orders_clean.customer_name",
        "None <~ orders_clean.amount",
    }
    assert impact_answer(state, "orders_clean", "amount")["drop"]["verdict"] == "unsafe"


def test_source_of_a_ctas_with_a_cte_is_an_edge(state: State) -> None:
    (task,) = tree_answer(state, "top", depth=2)["up"]["children"]
    assert [child["name"] for child in task["children"]] == ["shop.public.totals"]
    assert {edge for edge in _inputs(state, "top") if "<-" in edge} == {
        "customer_name <- totals.customer_name",
        "total <- totals.total",
    }


def test_cte_is_no_dataset(state: State) -> None:
    names = {item["name"].rpartition(".")[2] for item in datasets_answer(state)["items"]}
    assert names == {"raw_orders", "customers", "orders_clean", "totals", "top"}


@pytest.mark.parametrize(
    ("table", "column"),
    [("raw_orders", "status"), ("raw_orders", "customer_id"), ("customers", "id")],
)
def test_column_of_a_filter_or_join_is_not_safe_to_drop(
    table: str, column: str, state: State
) -> None:
    drop = impact_answer(state, table, column)["drop"]
    assert (drop["verdict"], drop["reasons"][0]["kind"]) == ("unsafe", "rows")


def test_unread_text_leaves_what_was_reported(build: Any) -> None:
    event = _task(
        build, "1", "job", "insert into b select magic(from", ("a",), {"x": ("a", "x")}, b=("x",)
    )
    state = build.state(event)
    assert _inputs(state, "b") == {"x <- a.x"}
    schema = {"fields": [{"name": "x"}, {"name": "y"}]}
    event["inputs"][0]["facets"]["schema"] = schema
    drop = impact_answer(build.state(event), "a", "y")["drop"]
    assert (drop["verdict"], [reason["kind"] for reason in drop["reasons"]]) == (
        "unknown", ["values_only"]
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "is_known"),
    [
        ("insert into b (x) select a.x from a join c on a.id = c.id", True),
        ("insert into b (x) select a.x from a join c on a.id = c.id where flag", False),
        ("insert into b select * from a", False),
        ("create table b as select a.*, 1 as one from a join c on a.id = c.id", False),
        ("create table b as with s as (select * from a) select x from s", True),
    ],
)
def test_column_is_safe_to_drop_only_if_the_text_names_all_used_columns(
    text: str, is_known: bool, build: Any
) -> None:
    """The schema of `a` is that of dbt's YAML files, which may lack columns."""
    event = _task(build, "1", "job", text, ("a", "c"), {"x": ("a", "x")}, b=())
    schema = {"fields": [{"name": "y"}]}
    event["inputs"][0]["facets"] = {"schema": schema, "dbt_model": {"materialized": "table"}}
    drop = impact_answer(build.state(event), "a", "y")["drop"]
    assert (drop["verdict"] == "safe") is is_known
    if not is_known:
        assert "values_only" in [reason["kind"] for reason in drop["reasons"]]


def test_order_of_events_does_not_change_the_edges(build: Any, events: list[Any]) -> None:
    def edges(state: State) -> list[Any]:
        return [(g.job.name, sorted(g.edges.reads)) for g in sorted(
            generations_of(state).present.parts(), key=lambda g: g.job
        )]  # fmt: skip

    states = [build.state(*order) for order in permutations(events)]
    assert all(edges(state) == edges(states[0]) for state in states)


@pytest.mark.parametrize(
    ("text", "local"),
    [
        ("with source as (select * from raw) select * from source", {"source"}),
        ("with orders as (select * from orders) select * from orders", set()),
        ("with orders as (select * from raw.orders) select * from orders", set()),
        ("with a as (select 1 x), b as (select * from a) select * from b", {"a", "b"}),
        ("with b as (select * from a), a as (select 1 x) select * from b, a", set("b")),
        ("with recursive r as (select 1 n union all select n from r) select n from r", {"r"}),
        ("select * from (with t as (select 1 x) select * from t) s join t on true", set()),
        ("select 'with t as ('", set()),
        ("with t as (", set()),
    ],
)
def test_local_names_are_those_of_common_table_expressions(text: str, local: set[str]) -> None:
    assert local_names(text, "postgres").names == local


@pytest.mark.parametrize(
    ("text", "temporary"),
    [
        ("CREATE TEMP TABLE t AS SELECT a FROM u; INSERT INTO r SELECT a FROM t", {"t"}),
        ("create temporary table t (a int); insert into t select a from u", {"t"}),
        ("INSERT INTO r SELECT a FROM t; CREATE TEMP TABLE t AS SELECT a FROM u", set()),
        ("CREATE TEMP TABLE t AS SELECT a FROM t", set()),
        ("CREATE TEMP TABLE t AS SELECT a FROM main.t", set()),
        ("CREATE TABLE t AS SELECT a FROM temp", set()),
    ],
)
def test_temporary_tables_of_a_text_are_no_datasets(text: str, temporary: set[str]) -> None:
    assert local_names(text, "postgres").temporary == temporary


_DOUBLED = "with t0 as (select * from a), " + ", ".join(
    f"t{n} as (select x.*, y.* from t{n - 1} x, t{n - 1} y)" for n in range(1, 40)
)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("insert into b select " + "x, " * 50_000 + "x from a", "more than 100,000 characters"),
        ("insert into b select magic(from", "Expected"),
        ("insert into b " + _DOUBLED + " select * from t39", "takes too long"),
        ("/**/" * 20_000 + "magic; insert into b " + "(" * 400 + "select 1", "nested too deeply"),
    ],
    ids=["long", "invalid", "doubled columns", "comments and parentheses"],
)
def test_unread_text_has_a_reason_and_bounded_costs(text: str, reason: str) -> None:
    columns = ((("d", "s", "a"), ("k", "v")),)
    script = read_script(text, Arguments("postgres", "d", "s", None, columns))
    assert isinstance(script, Unread)
    assert reason in script.reason


def test_cache_of_texts_has_a_maximum_size() -> None:
    cache: TextCache[int, str] = TextCache(100, lambda result, _: len(result))
    reads = []

    def read(text: str) -> str:
        return cache.get(text, 0, lambda: reads.append(text) or text)  # type: ignore[func-returns-value]

    for text in ("a" * 40, "b" * 40, "a" * 40, "c" * 40, "a" * 40, "d" * 500, "a" * 40):
        assert read(text) == text
        assert cache.size <= 100
    assert [text[0] for text in reads] == ["a", "b", "c", "d", "a"]
