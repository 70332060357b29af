"""SQL is recognized by its text, and hidden at any depth; sentences are not."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from headwater.hiding import REASON, without_sql
from headwater.hiding._text import reads_as_expression, reads_as_sql

_SQL = (
    "select a from t",
    "SELECT 1",
    "select * from orders where id = 7",
    "select distinct city from t",
    "select sql_no_cache distinct city from t",
    "select distinct top 5 city, name from t",
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
    "select 1",
    "SELECT 'x'",
    "select * from t",
    "SELECT id FROM t",
    "select name from users",
    "Select name, email from users",
    "SELECT new customers FROM europe",
    "select distinct country from shop.orders where country = 'DE'",
    "select count(*) from t",
    "select a.b::int from a",
    "select top 10 name from t",
    "select id\nfrom {{ ref('orders') }}\nwhere x = 'y'",
    "{{ config(materialized='table') }}\nselect id from {{ source('a', 'b') }}",
    "-- loads orders\nselect id from t",
    "/* hint */ SELECT a, sum(b) FROM t GROUP BY a",
    "(select a from b) union all (select c from d)",
    "WITH RECURSIVE x(n) AS (SELECT 1) SELECT n FROM x",
    "insert into t values (1, 'x')",
    "INSERT INTO t (a, b) SELECT a, b FROM s",
    "insert overwrite table t partition (d = '1') select a from s",
    "replace into t values (1)",
    "update t set a = 'x' where b = 1",
    "UPDATE shop.t AS x SET x.a = 'x'",
    "delete from t where a = 'x'",
    "DELETE FROM t",
    "merge into t using s on t.id = s.id",
    "MERGE INTO `p`.`d`.`t` AS t USING s ON t.id = s.id",
    "create table t (id int)",
    "CREATE OR REPLACE TABLE t AS SELECT 1",
    "create view v as select a from b",
    "create table if not exists a.b using iceberg",
    "CREATE USER x IDENTIFIED BY 'y'",
    "DROP VIEW v CASCADE",
    "COPY t FROM 's3://b/x' IAM_ROLE 'y'",
    "unload ('select * from t') to 's3://b'",
    "call system.rewrite('x')",
    "explain select a from b",
    "set x = 'y'; select 1",
    "use shop; drop table t",
    "grant select on t to role_reader",
    "load data inpath '/x' into table t",
    "show table extended in dbt_shop like '*'",
    "refresh table a.b",
    'spark.sql("select id from t")',
    "psql -c 'select id from t'",
    'hive -e "insert into t select 1"',
    'cursor.execute("""\n  select id\n  from t\n""")',
    "Query failed: SELECT id, name FROM t WHERE country = 'DE'",
    "[PARSE_SYNTAX_ERROR] at 'x'.(line 1)\n\n== SQL ==\nselect id from t\n-------^^^",
    "LINE 1: INSERT INTO t VALUES (1)",
    '{"query":"select id from t"}',
    '{"query":"select\\n  id\\nfrom t"}',
    "the job ran INSERT INTO t SELECT a FROM b",
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
    "select",
    "Select a file.",
    "Select customers from the list of active users",
    "Select new customers from Europe",
    "Select the rows and columns from a table",
    "select one of the options from the menu",
    "We select customers from Europe, update prices, and delete from cache",
    "SELECT overall best results FROM reports",
    "Users select one (or more) from each list",
    "You can select red or green from palette",
    "Insert into the table what the producer sent",
    "Update the table: set the owner of each row",
    "Updates prices and sets the currency",
    "Deletes from the cache where needed",
    "Delete from the cart",
    "Create table of contents",
    "Create a table in the warehouse with all orders",
    "Create view for users",
    "Drop the table when it is old",
    "Drop the table scans",
    "Merge into main using the button",
    "With orders as the source, sales are computed (select ones only)",
    "Orders with values (gross) from shops",
    "Truncate long names",
    "Truncate table names to 20 characters",
    "Call the owner (Jane)",
    "Use orders; they are complete",
    "Set the date to = today",
    "Load data from landing into orders",
    "Show tables to the users",
    "Explain select choices",
    "Describe the table",
    "Copy orders from landing to the lake",
    "Grant access on request to owners",
    "Connection refused: postgres://db:5432",
    'Traceback (most recent call last):\n  File "x.py", line 1, in select\n    from x import y',
    "from pyspark.sql import SparkSession",
    "shop_daily.insert_into_orders",
    "append_data_exec_v1.shop_orders",
    "execute_insert_into_hadoop_fs_relation_command.orders",
    "s3://bucket/select/from/x.parquet",
    "struct<select:string,from:string>",
    "orders selected from landing, updated daily",
    "The table orders_daily holds rows from orders",
    "https://h/x?select=a&from=b",
    "2 rows were inserted into orders",
)


@pytest.mark.parametrize("text", _SQL)
def test_statement_reads_as_sql(text: str) -> None:
    assert reads_as_sql(text)


@pytest.mark.parametrize("text", _SENTENCES)
def test_sentence_or_name_does_not_read_as_sql(text: str) -> None:
    assert not reads_as_sql(text)


@pytest.mark.parametrize(
    "text", ["sum(amount)", "CASE WHEN a THEN b END", "a || b", "x::int", "a IS NULL", "a = 'b'"]
)
def test_expression_of_a_column_is_recognized(text: str) -> None:
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
        {"transformations": [{"type": "INDIRECT", "description": "secret_column = 'x'"}]},
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
        {"type": "DIRECT", "subtype": "AGGREGATION", "description": "total of all orders"},
        {"type": "TABLE", "description": "orders = paid carts"},
        {"text": '{"a": [1, 2]}', "other": "{not json"},
        {"query": "", "sql": None, "line": "x"},
    ],
    ids=str,
)
def test_other_values_are_shown(value: Any) -> None:
    assert without_sql(value) == value
