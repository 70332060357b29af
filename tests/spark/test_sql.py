"""`./run sql`: reading is allowed, writing needs --write."""

from __future__ import annotations

import subprocess
import sys

import pytest
from pyspark.errors import ParseException
from pyspark.sql import SparkSession

from commands.environment import child_environ
from commands.sql import writing_command
from lakehouse.catalog import load_table
from lakehouse.names import Table
from lakehouse.settings import REPOSITORY, Settings

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


def test_dropping_a_table_needs_write(spark: SparkSession, lake: Settings) -> None:
    table = Table("to_be_dropped")
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {table.spark.rpartition('.')[0]}")
    spark.sql(f"CREATE TABLE {table.spark} (x int) USING iceberg")

    def sql(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "commands", "sql", f"DROP TABLE {table.name}", *arguments],
            cwd=REPOSITORY,
            env=child_environ(lake),
            capture_output=True,
            text=True,
            check=False,
        )

    refused = sql()
    assert refused.returncode == 1
    assert "WritingQuery: The query is Spark's command DropTable" in refused.stderr
    assert "add --write" in refused.stderr
    assert load_table(lake, table) is not None
    allowed = sql("--write")
    assert allowed.returncode == 0, allowed.stderr
    assert load_table(lake, table) is None
