"""`./run sql`: reading is allowed, writing needs --write."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
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


def _sql(lake: Settings, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "commands", "sql", *arguments],
        cwd=REPOSITORY,
        env=child_environ(lake),
        capture_output=True,
        text=True,
        check=False,
    )


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


COUNT = "SELECT count(*) FROM counted"  # answered from metadata: no Spark job
SUBQUERY = "SELECT 1 WHERE 1 IN (SELECT x FROM counted)"
MISSING = "SELECT y FROM missing"
UNREAD = "SELECT 40 + 2 AS answer"


@dataclass(frozen=True)
class Asked:
    """Queries that each ran in a Spark session, all in one JVM, because a JVM is slow to start."""

    lake: Settings
    made: Path
    """A file that the program of a query creates."""
    table: str
    """The name of the table `counted` as a dataset."""
    division: str
    program: str
    answers: dict[str, dict[str, Any]]
    """The output and the error of `run_sql`, and if `made` exists, by query and option."""


@pytest.fixture(scope="module")
def asked(spark: SparkSession, lake: Settings, tmp_path_factory: pytest.TempPathFactory) -> Asked:
    """Run all queries of this module that need no command line."""
    table = Table("counted")
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {table.spark.rpartition('.')[0]}")
    spark.sql(f"CREATE TABLE IF NOT EXISTS {table.spark} (x int) USING iceberg")
    name = table.dataset(lake).name
    made = tmp_path_factory.mktemp("sql") / "made"
    division = f"SELECT 1 / x FROM VALUES (0) AS t(x) -- {name}"
    program = f"SELECT TRANSFORM(a) USING 'tee {made}' AS (b) FROM VALUES ('\\u001b[2J') AS t(a)"
    queries = [COUNT, SUBQUERY, f"EXPLAIN {COUNT}", MISSING, division, program]
    asked = [[query, ""] for query in queries] + [[program, "write"], [UNREAD, "broken"]]
    done = subprocess.run(
        [sys.executable, "-c", _EACH_QUERY, json.dumps(asked), str(made)],
        cwd=REPOSITORY,
        env=child_environ(lake),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return Asked(lake, made, name, division, program, json.loads(done.stdout.splitlines()[-1]))


_EACH_QUERY = """
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
import commands.sql
from lakehouse.errors import PipelineError
from lakehouse.settings import load_settings

answers = {}
for query, option in json.loads(sys.argv[1]):
    if option == "broken":
        commands.sql.read_tables = None
    said, error = StringIO(), ""
    with redirect_stdout(said), redirect_stderr(said):
        try:
            commands.sql.run_sql(load_settings(), query, may_write=option == "write")
        except PipelineError as raised:
            error = str(raised)
    exists = Path(sys.argv[2]).exists()
    answers[query + option] = {"said": said.getvalue(), "error": error, "exists": exists}
print(json.dumps(answers))
"""


def test_program_runs_only_with_write(asked: Asked) -> None:
    refused, allowed = asked.answers[asked.program], asked.answers[asked.program + "write"]
    assert "The query uses SELECT TRANSFORM, which runs a program" in refused["error"]
    assert not refused["exists"]
    assert (allowed["error"], allowed["exists"]) == ("", True)
    assert r"|\x1b[2J|" in allowed["said"]  # a control character of a cell, escaped


def test_query_is_reported_with_its_text_tables_and_error(asked: Asked) -> None:
    lake = asked.lake
    assert _reported(lake, COUNT) == ("COMPLETE", [asked.table], "")
    assert _reported(lake, SUBQUERY) == ("COMPLETE", [asked.table], "")
    assert _reported(lake, f"EXPLAIN {COUNT}") == ("COMPLETE", [], "")
    state, inputs, error = _reported(lake, MISSING)
    assert (state, inputs) == ("FAIL", [])
    assert "[TABLE_OR_VIEW_NOT_FOUND]" in error
    state, inputs, error = _reported(lake, asked.division)
    assert (state, inputs) == ("FAIL", [])
    assert "[DIVIDE_BY_ZERO]" in error


def test_query_runs_if_its_tables_cannot_be_read_for_lineage(asked: Asked) -> None:
    answer = asked.answers[UNREAD + "broken"]
    assert answer["error"] == ""
    assert "|42    |" in answer["said"]
    assert "warning: lineage is incomplete: TypeError" in answer["said"]
    own = [event for event in _events(asked.lake, UNREAD) if event["job"]["name"] == "sql"]
    assert [event["eventType"] for event in own] == ["START", "COMPLETE"]


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
