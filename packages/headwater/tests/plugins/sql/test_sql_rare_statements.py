"""Rare SQL statements: the columns that they use count as used; unknown effects are not guessed."""

from __future__ import annotations

import pytest

from headwater.plugins.sql.script import read_script
from headwater.sql.reader import Arguments, Script, Unread

_COLUMNS = {
    "orders": ("id", "customer_id", "amount", "status"),
    "archive": ("id", "amount"),
    "quarters": ("region", "q1", "q2"),
}


def _read(sql: str, dialect: str) -> Script | Unread:
    known = tuple((("shop", "public", table), names) for table, names in _COLUMNS.items())
    return read_script(sql, Arguments(dialect, "shop", "public", None, known))


def _script(sql: str, dialect: str) -> Script:
    found = _read(sql, dialect)
    assert isinstance(found, Script), found
    return found


def _targets(script: Script) -> dict[str, set[str]]:
    """Return the sources of each table that a script writes, as `schema.table`."""
    return {
        ".".join(table[1:]): {".".join(source[1:]) for source in written.sources}
        for table, written in script.written
    }


@pytest.mark.parametrize(
    ("dialect", "sql"),
    [
        ("snowflake", "copy into @stage/out from (select status from orders)"),
        ("snowflake", "copy into 's3://b/x/' from orders partition by (status)"),
        ("redshift", "unload ('select * from orders') to 's3://b/x' iam_role 'r'"),
        ("duckdb", "copy orders to 'x.parquet' (format parquet)"),
        ("postgres", "copy (select * from orders) to '/tmp/x'"),
        ("postgres", "select * from orders"),
        ("postgres", "with o as (select * from orders) select * from o"),
        (
            "postgres",
            "insert into archive values (1, 2) returning (select max(status) from orders)",
        ),
        (
            "postgres",
            "insert into archive values (1, 2) on conflict (id) do update "
            "set amount = (select max(o.id) from orders o where o.status = 'x')",
        ),
        (
            "bigquery",
            "create table x as select id from orders limit (select max(status) from orders)",
        ),
    ],
)
def test_columns_of_exports_results_and_subqueries_are_used(dialect: str, sql: str) -> None:
    assert (("shop", "public", "orders"), "status") in _script(sql, dialect).used


def test_exports_to_stages_write_no_table() -> None:
    script = _script("copy into @stage/out from (select id from orders)", "snowflake")
    assert script.is_complete
    assert not script.written


@pytest.mark.parametrize(
    ("dialect", "sql", "reason"),
    [
        ("duckdb", "create table x as summarize orders", "SUMMARIZE"),
        (
            "bigquery",
            "for r in (select id, amount from orders) do insert into archive (id, amount) "
            "values (r.id, r.amount); end for",
            "loop",
        ),
        ("tsql", "with d as (select id from archive) delete from d where id > 1", "common table"),
        (
            "tsql",
            "with d as (select id, amount from archive) update d set amount = 1 where id > 1",
            "common table",
        ),
        (
            "tsql",
            "insert into archive (id) output inserted.id into quarters (q1) select id from orders",
            "OUTPUT",
        ),
        ("postgres", "set search_path to raw, public; delete from archive where id > 1", "schemas"),
    ],
)
def test_statement_with_unknown_effect_is_not_read(dialect: str, sql: str, reason: str) -> None:
    found = _read(sql, dialect)
    assert isinstance(found, Unread)
    assert reason in found.reason


@pytest.mark.parametrize(
    ("dialect", "sql"),
    [
        ("snowflake", "alter table archive swap with x_new"),
        ("tsql", "alter table archive switch partition 1 to orders partition 1"),
        ("postgres", "alter table orders attach partition archive for values in ('a')"),
        ("clickhouse", "alter table archive replace partition 1 from orders"),
        ("hive", "alter table archive exchange partition (d = 1) with table orders"),
    ],
)
def test_move_of_rows_between_tables_has_an_unknown_effect(dialect: str, sql: str) -> None:
    script = _script(sql, dialect)
    assert script.skipped
    assert not script.is_complete


@pytest.mark.parametrize(
    ("dialect", "sql"),
    [
        ("postgres", "create table x (id int references orders (status))"),
        ("postgres", "create table x (id int, foreign key (id) references orders (status))"),
        ("postgres", "alter table x add column y int references orders (status)"),
        (
            "postgres",
            "insert into archive select id, amount from orders o where hstore(o) ? 'status'",
        ),
        ("snowflake", "create stream s on table orders"),
        ("postgres", "create policy p on orders using (status = current_user)"),
    ],
)
def test_definition_that_may_use_a_column_is_not_complete(dialect: str, sql: str) -> None:
    assert not _script(sql, dialect).is_complete


@pytest.mark.parametrize("sql", ["create table x (id varchar(9), n int)", "create schema s"])
def test_definition_of_own_columns_is_complete(sql: str) -> None:
    assert _script(sql, "postgres").is_complete


@pytest.mark.parametrize(
    ("dialect", "before", "schema"),
    [
        ("snowflake", "use schema raw", "raw"),
        ("snowflake", "use database other", "public"),
        ("snowflake", "use warehouse raw", "public"),
        ("snowflake", "use role raw", "public"),
        ("spark", "use raw", "raw"),
        ("databricks", "use catalog other; use schema raw", "raw"),
        ("trino", "use hive.raw", "raw"),
        ("mysql", "use `Raw`", "raw"),
        ("tsql", "use other", "dbo"),
        ("postgres", "set search_path to raw", "raw"),
        ("postgres", "set search_path = 'public'", "public"),
    ],
)
def test_use_sets_the_schema_of_later_tables(dialect: str, before: str, schema: str) -> None:
    script = _script(f"{before}; insert into archive select id, amount from orders", dialect)
    assert _targets(script) == {f"{schema}.archive": {f"{schema}.orders"}}
    found = _script(f"{before}; insert into p.archive select id, amount from p.orders", dialect)
    assert _targets(found) == {"p.archive": {"p.orders"}}


def test_use_sets_the_database_of_later_tables() -> None:
    script = _script("use database other; insert into archive select 1, 2", "snowflake")
    assert [table for table, _ in script.written] == [("other", "public", "archive")]


def test_renamed_temporary_table_keeps_its_sources() -> None:
    script = _script(
        "create temp table t as select id, amount from orders; alter table t rename to u; "
        "insert into archive select * from u",
        "postgres",
    )
    assert _targets(script) == {"public.archive": {"public.orders"}}


def test_table_variable_is_no_dataset() -> None:
    script = _script(
        "declare @t table (id int, amount int); insert into @t select id, status from orders; "
        "insert into archive select id, amount from @t",
        "tsql",
    )
    assert _targets(script) == {"public.archive": {"public.orders"}}
    ((_, written),) = script.written
    origins = {name: {origin.column for origin in found} for name, found in written.columns}
    assert origins == {"id": {"id"}, "amount": {"status"}}


@pytest.mark.parametrize(
    ("dialect", "sql"),
    [
        ("duckdb", "create table x as select columns(c -> c like 'q%') from quarters"),
        ("duckdb", "create table x as select min(columns(*)) from quarters"),
        ("duckdb", "create table x as select columns(* exclude (q1)) + 1 from quarters"),
        ("duckdb", "create table x as from quarters select count(*), max(q1)"),
        ("spark", "create table x as select max(q1), q2 + 1 from quarters"),
        ("mysql", "create table x as select sum(q1) from quarters"),
    ],
)
def test_columns_with_unknown_names_are_omitted(dialect: str, sql: str) -> None:
    ((_, written),) = _script(sql, dialect).written
    assert not written.columns
    assert not written.has_all_columns


@pytest.mark.parametrize("dialect", ["postgres", "duckdb"])
def test_column_that_a_subquery_lacks_is_unknown(dialect: str) -> None:
    sql = "create table x as select q.other from (select id from orders) q"
    ((_, written),) = _script(sql, dialect).written
    assert written.has_unknown_columns
    assert not _script(sql, dialect).is_complete
