"""`./run sql`: reading is allowed, writing needs --write."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import ParseException
from pyspark.sql import SparkSession

from commands.environment import child_environ
from commands.sql import analyzed_plan, external_code, writing_command
from lakehouse.catalog import load_table
from lakehouse.names import Table
from lakehouse.settings import REPOSITORY, Settings
from tests.spool import events_of

pytestmark = pytest.mark.spark

READING = (
    "SELECT 1;",
    "-- DROP TABLE a\nSELECT 'DROP TABLE a'",
    "WITH a AS (SELECT 1) SELECT * FROM a",
    "FROM a SELECT b",
    "VALUES (1)",
    "TABLE a",
    "(SELECT 1) UNION ALL SELECT 2 ; ",
    "SHOW TABLES",
    "SHOW CREATE TABLE a",
    "DESCRIBE EXTENDED a",
    "DESCRIBE QUERY SELECT 1",
    "EXPLAIN DROP TABLE a",
)
WRITING = {
    "DROP TABLE a": "DropTable",
    "/* SELECT */ drop table a": "DropTable",
    "INSERT INTO a SELECT 1": "InsertIntoStatement",
    "WITH a AS (SELECT 1) INSERT INTO b SELECT * FROM a": "UnresolvedWith",
    "FROM a INSERT INTO b SELECT *": "InsertIntoStatement",
    "DELETE FROM a": "DeleteFromTable",
    "UPDATE a SET x = 1": "UpdateTable",
    "MERGE INTO a USING b ON a.x = b.x WHEN MATCHED THEN DELETE": "MergeIntoTable",
    "CREATE TABLE a AS SELECT 1 AS x": "CreateTableAsSelect",
    "TRUNCATE TABLE a": "TruncateTable",
    "ALTER TABLE a CREATE BRANCH b": "CreateOrReplaceBranch",
    "CALL lakehouse.system.expire_snapshots('a')": "Call",
    "BEGIN DROP TABLE a; END": "CompoundBody",
    "EXECUTE IMMEDIATE 'DROP TABLE a'": "UnresolvedExecuteImmediate",
    "SET x = 1": "SetCommand",
}


def test_spark_parser_recognizes_reading_statements(spark: SparkSession) -> None:
    assert {query: writing_command(spark, query) for query in READING} == dict.fromkeys(READING, "")
    assert {query: writing_command(spark, query) for query in WRITING} == WRITING
    with pytest.raises(ParseException):
        writing_command(spark, "SELECT 1; DROP TABLE a")


CALL = "reflect('java.lang.System', 'getProperty', 'user.name')"
TRANSFORM = "SELECT TRANSFORM(a) USING 'cat' AS (b) FROM VALUES (1) AS t(a)"
EXTERNAL = {
    f"SELECT {CALL};": "reflect or java_method",
    f"SELECT try_{CALL}": "reflect or java_method",
    f"SELECT 1 ORDER BY {CALL.replace('reflect', 'java_method')}": "reflect or java_method",
    f"WITH a AS (SELECT {CALL} AS b) SELECT (SELECT max(b) FROM a)": "reflect or java_method",
    f"SELECT filter(array(1), x -> {CALL} = x)": "reflect or java_method",
    f"EXPLAIN SELECT {CALL} FROM VALUES (1)": "reflect or java_method",
    TRANSFORM: "SELECT TRANSFORM",
    f"SELECT 1 WHERE EXISTS (SELECT * FROM ({TRANSFORM}) WHERE b = 1)": "SELECT TRANSFORM",
    "SELECT \"reflect('a', 'b')\", 'SELECT TRANSFORM(a)' AS ScriptTransformation": "",
    "SELECT transform(array(1), x -> x + 1)": "",
    "EXPLAIN DROP TABLE a": "",
    "SHOW TABLES": "",
}


def test_analyzed_plan_shows_code_outside_spark(spark: SparkSession) -> None:
    plans = {query: analyzed_plan(spark, query)[0] for query in EXTERNAL}
    descriptions = {query: external_code(plan).partition(",")[0] for query, plan in plans.items()}
    assert descriptions == EXTERNAL


def _sql(
    lake: Settings, *arguments: str, start: tuple[str, ...] = ("-m", "commands")
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *start, "sql", *arguments],
        cwd=REPOSITORY,
        env=child_environ(lake),
        capture_output=True,
        text=True,
        check=False,
    )


def test_program_runs_only_with_write(spark: SparkSession, lake: Settings, tmp_path: Path) -> None:
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {Table('t').spark.rpartition('.')[0]}")
    created = tmp_path / "made"
    query = f"SELECT TRANSFORM(a) USING 'tee {created}' AS (b) FROM VALUES ('\\u001b[2J') AS t(a)"
    refused = _sql(lake, query)
    assert refused.returncode == 1
    assert "Error: The query uses SELECT TRANSFORM, which runs a program" in refused.stderr
    assert not created.exists()
    allowed = _sql(lake, query, "--write")
    assert allowed.returncode == 0, allowed.stderr
    assert created.exists()
    assert r"|\x1b[2J|" in allowed.stdout  # a control character of a cell, escaped


def test_dropping_a_table_needs_write(spark: SparkSession, lake: Settings) -> None:
    table = Table("to_be_dropped")
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {table.spark.rpartition('.')[0]}")
    spark.sql(f"CREATE TABLE {table.spark} (x int) USING iceberg")
    drop = f"DROP TABLE {table.name}"
    refused = _sql(lake, drop)
    assert refused.returncode == 1
    assert "Error: The query is Spark's command DropTable" in refused.stderr
    assert "add --write" in refused.stderr
    assert load_table(lake, table) is not None
    allowed = _sql(lake, drop, "--write")
    assert allowed.returncode == 0, allowed.stderr
    assert load_table(lake, table) is None
    events = _events(lake, drop)
    assert {event["job"]["name"] for event in events} == {
        "sql",
        "sql_spark",
        "sql_spark.drop_table",
    }
    assert all(_tags(event) == {"ad-hoc"} for event in events)


def test_query_is_reported_with_its_text_tables_and_error(
    spark: SparkSession, lake: Settings
) -> None:
    table = Table("counted")
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {table.spark.rpartition('.')[0]}")
    spark.sql(f"CREATE TABLE IF NOT EXISTS {table.spark} (x int) USING iceberg")
    name = table.dataset(lake).name
    count = f"SELECT count(*) FROM {table.name}"  # answered from metadata: no Spark job
    subquery = f"SELECT 1 WHERE 1 IN (SELECT x FROM {table.name})"
    missing = "SELECT y FROM missing"
    division = f"SELECT 1 / x FROM VALUES (0) AS t(x) -- {name}"
    _run_all(lake, count, subquery, f"EXPLAIN {count}", missing, division)
    assert _reported(lake, count) == ("COMPLETE", [name], "")
    assert _reported(lake, subquery) == ("COMPLETE", [name], "")
    assert _reported(lake, f"EXPLAIN {count}") == ("COMPLETE", [], "")
    state, inputs, error = _reported(lake, missing)
    assert (state, inputs) == ("FAIL", [])
    assert "[TABLE_OR_VIEW_NOT_FOUND]" in error
    state, inputs, error = _reported(lake, division)
    assert (state, inputs) == ("FAIL", [])
    assert "[DIVIDE_BY_ZERO]" in error


def test_query_runs_if_its_tables_cannot_be_read_for_lineage(
    spark: SparkSession, lake: Settings
) -> None:
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {Table('t').spark.rpartition('.')[0]}")
    query = "SELECT 40 + 2 AS answer"
    broken = "import commands.sql; commands.sql.read_tables = None; import commands.__main__"
    result = _sql(lake, query, start=("-c", broken))
    assert result.returncode == 0, result.stderr
    assert "|42    |" in result.stdout
    assert "warning: lineage is incomplete: TypeError" in result.stderr
    own = [event for event in _events(lake, query) if event["job"]["name"] == "sql"]
    assert [event["eventType"] for event in own] == ["START", "COMPLETE"]


_EACH_QUERY = """
import sys
from contextlib import suppress
from commands.sql import BadQuery, run_sql
from lakehouse.settings import load_settings

for query in sys.argv[1:]:
    with suppress(BadQuery):
        run_sql(load_settings(), query)
"""


def _run_all(lake: Settings, *queries: str) -> None:
    """Run each query in a Spark session of its own, all in one JVM, which is slow to start."""
    command = [sys.executable, "-c", _EACH_QUERY, *queries]
    subprocess.run(command, cwd=REPOSITORY, env=child_environ(lake), check=True)


def _reported(lake: Settings, query: str) -> tuple[str, list[str], str]:
    """Return the last state, the inputs and the error of the job `sql` of a query."""
    events = _events(lake, query)
    (start, end) = (event for event in events if event["job"]["name"] == "sql")
    assert start["eventType"] == "START"
    spark_runs = [event for event in events if event["job"]["name"] == "sql_spark"]
    assert spark_runs
    error = end["run"]["facets"].get("errorMessage", {}).get("message", "")
    return end["eventType"], [dataset["name"] for dataset in end["inputs"]], error


def _events(lake: Settings, query: str) -> list[Any]:
    """Return the events of the newest run of a query and of the runs below it."""
    events = events_of(lake.spool_dir.glob("*.jsonl"))
    own = [
        event
        for event in events
        if event["job"]["name"] == "sql" and event["job"]["facets"]["sql"]["query"] == query
    ]
    run = max(own, key=lambda event: str(event["eventTime"]))["run"]["runId"]
    return [
        event
        for event in sorted(events, key=lambda event: str(event["eventTime"]))
        if run in (event["run"]["runId"], _root(event))
    ]


def _root(event: Any) -> Any:
    return event["run"]["facets"].get("parent", {}).get("root", {}).get("run", {}).get("runId")


def _tags(event: Any) -> set[str]:
    """Return the tags of an event's job."""
    return {tag["key"] for tag in event["job"]["facets"].get("tags", {}).get("tags", ())}
