"""SQL is recognised by its text, and hidden at any depth; sentences are not."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from headwater.server._hiding import REASON, without_sql
from headwater.server._sql_text import reads_as_expression, reads_as_sql

_SQL = (
    "select a from t",
    "SELECT 1",
    "select * from orders where id = 7",
    "select distinct city from t",
    "  (select id, name from t)",
    "select current_date()",
    "Select id, name From t",
    "-- daily load\ninsert into t select 1",
    "/* load */ select id as x from t",
    "{{ config(materialized='table') }}\nselect id from {{ ref('t') }}",
    "with x as (select 1) select * from x",
    "WITH RECURSIVE x (n) AS (SELECT 1) SELECT n FROM x",
    "insert overwrite table t partition (d = '1') select 1",
    "INSERT INTO t VALUES (1, 'x')",
    "update t set name = 'x' where id = 1",
    "delete from t where id = 1",
    "merge into t using s on t.id = s.id when matched then delete",
    "create or replace temporary view v as select 1",
    "create table if not exists t (id int)",
    "create table t as select 1",
    "drop table if exists t",
    "alter table t add column x int",
    "truncate table t",
    "grant select on t to role reader",
    "copy into t from @stage",
    "COPY t FROM 's3://b' IAM_ROLE 'x'",
    "unload ('select 1') to 's3://b'",
    "explain select 1 from t",
    "call load_orders(1)",
    "exec dbo.load @day = 1",
    "from t insert overwrite table x select id",
    "where name = 'x'",
    "values (1, 'x')",
    "set x = 1; select x from t",
    "Error near 'select a from t'",
    "[parameters: x]\nSELECT id FROM t",
)
_SENTENCES = (
    "Select the best option from the list.",
    "Select customers from Germany",
    "Selected orders from the landing zone",
    "Update the table, set the date and restart",
    "Insert into the form",
    "Delete from the list what is not needed",
    "Deleted from cart when the user logs out",
    "Create a table of contents",
    "Create view of the data for analysts",
    "Drop table names that nobody uses",
    "With the new loader as the default (see below)",
    "With orders as the main source",
    "From the warehouse, orders are selected daily",
    "Values (in millions of euros)",
    "Grant applications by year",
    "Call center (EU)",
    "Copy files from the source folder",
    "copy files from source",
    "Where is the data from?",
    "Use the role of the owner",
    "where = the place",
    "Merge into main",
    "Set of orders",
    "orders_select_daily",
    "s3://bucket/select/from/x",
    "shop.orders",
    "the order total, with tax",
    "",
)


@pytest.mark.parametrize("text", _SQL)
def test_statement_reads_as_sql(text: str) -> None:
    assert reads_as_sql(text)


@pytest.mark.parametrize("text", _SENTENCES)
def test_sentence_or_name_does_not_read_as_sql(text: str) -> None:
    assert not reads_as_sql(text)


@pytest.mark.parametrize("text", ["sum(amount)", "CASE WHEN a THEN b END", "a || b", "x::int"])
def test_expression_of_a_column_is_recognised(text: str) -> None:
    assert reads_as_expression(text)
    assert not reads_as_expression("the total of all orders")


_CODE = "select secret_column from t"


@pytest.mark.parametrize(
    "value",
    [
        {"task": {"sql": ["psql -c x", _CODE]}},
        {"task": {"sql": {"a": {"b": "secret_column + 1"}}}},
        {"task": {"bash_command": ["psql", "-c", "secret_column"]}},
        {"task": {"bash_command": {"run": "print secret_column"}}},
        {"task": {"hql": "secret_column"}},
        {"task": {"params": {"x": [{"y": _CODE}]}}},
        {"bigQueryJob": {"properties": orjson.dumps({"query": {"text": _CODE}}).decode()}},
        {"dbt_model": {"raw_code": "{{ secret_column }}", "compiled_code": "secret_column"}},
        {"sql": {"query": _CODE, "normalizedQuery": "secret_column"}},
        {"queryList": [{"statement": "secret_column"}]},
        {"spark_jobDetails": {"jobDescription": f"{_CODE} where"}},
        {"fields": {"a": {"transformationDescription": "max(secret_column)"}}},
        {"note": f"failed: {_CODE}"},
        {"counts": {_CODE: 1}},
        [_CODE],
        [[_CODE]],
        {"type": "text", "text": orjson.dumps({"x": _CODE}).decode()},
        {"sources": "x", "sql": None, "language": "python", "source": "secret_column"},
    ],
    ids=str,
)
def test_sql_in_any_shape_is_hidden(value: Any) -> None:
    shown = orjson.dumps(without_sql(value)).decode()
    assert "secret_column" not in shown
    assert REASON in shown or isinstance(value, list)


@pytest.mark.parametrize(
    "value",
    [{"facets": {"documentation": {"description": sentence}}} for sentence in _SENTENCES]
    + [
        {"sql": {"_producer": "https://x", "dialect": "ansi"}},
        {"counts": {"sql": 3, "query": 1}},
        {"transformationDescription": "total of all orders"},
        {"text": '{"a": [1, 2]}', "other": "{not json"},
        {"query": "", "sql": None, "line": "x"},
    ],
    ids=str,
)
def test_other_values_are_shown(value: Any) -> None:
    assert without_sql(value) == value
