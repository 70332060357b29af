"""Query the lakehouse with Spark, and report the query as a run."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from pyspark.errors import ParseException, PySparkException
from pyspark.sql import SparkSession

from commands.output import say
from commands.services import prepare
from commands.sql_lineage import reported_query
from lakehouse.errors import PipelineError
from lakehouse.names import CATALOG, DATABASE, Table
from lakehouse.settings import Settings
from spark_jobs.session import open_session

ROWS = 1_000
READING_COMMANDS = ("Show", "Describe", "Explain")
"""Name prefixes of Spark commands that change nothing."""

EXTERNAL_CODE = {
    "ScriptTransformation": "SELECT TRANSFORM, which runs a program",
    "CallMethodViaReflection": "reflect or java_method, which calls Java code",
}
"""Functions not allowed in a read-only query, by their class in Spark's plan."""


class BadQuery(PipelineError):
    """The engine cannot run the query."""


class WritingQuery(PipelineError):
    """A query may change data, but only reading is allowed."""


def run_sql(settings: Settings, query: str, *, may_write: bool = False) -> None:
    """Run a query and print its first 1,000 rows.

    Raises:
        BadQuery: Spark rejects the query.
        WritingQuery: the query may change data, and `may_write` is False.
    """
    prepare(settings)
    log = settings.state_dir / "logs" / "sql.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with reported_query(settings, query) as run:
        try:
            with _stderr_into(log), open_session(settings, "sql_spark", run.spark_conf()) as spark:
                spark.sql(f"USE {CATALOG}.{DATABASE}")
                command = writing_command(spark, query)
                if command and not may_write:
                    raise writing_query(f"is Spark's command {command}")
                if not command:
                    plan, is_explained = analyzed_plan(spark, query)
                    if not may_write and (code := external_code(plan)):
                        raise writing_query(f"uses {code}")
                    if not is_explained:
                        with run.guard():
                            run.inputs = [table.dataset(settings) for table in read_tables(plan)]
                with redirect_stdout(StringIO()) as rows:
                    spark.sql(query).show(ROWS, truncate=False)
        except PySparkException as error:
            message = str(error).strip().splitlines()[0]
            if "TABLE_OR_VIEW_NOT_FOUND" in message:
                message += " `./run status` lists all tables; `./run demo` creates them."
            raise BadQuery(message) from None
    say(rows.getvalue().rstrip())


def writing_query(received: str) -> WritingQuery:
    """Return the error for a query that may change data."""
    return WritingQuery(
        f"The query {received}; this may change data, so the query was not run. Without --write, "
        "only SELECT, WITH, VALUES, TABLE, SHOW, DESCRIBE and EXPLAIN are allowed, without "
        "TRANSFORM, reflect and java_method. To run it, add --write."
    )


def writing_command(spark: SparkSession, query: str) -> str:
    """Return the name of the Spark command that a query runs, or "" if it only reads.

    Spark's own parser decides; a command not listed as reading counts as writing.

    Raises:
        ParseException: Spark cannot parse it.
    """
    jvm, session = spark._jvm, spark._jsparkSession
    assert jvm is not None
    try:  # Spark's own parser, because Iceberg's accepts any statement as a query
        jvm.org.apache.spark.sql.execution.SparkSqlParser().parseQuery(query.rstrip("; \n\t"))
    except ParseException:
        plan = session.sessionState().sqlParser().parsePlan(query)
        name = str(plan.getClass().getSimpleName())
        return "" if name.startswith(READING_COMMANDS) else name
    return ""


def analyzed_plan(spark: SparkSession, query: str) -> tuple[Any, bool]:
    """Return the analyzed plan of a read-only query, and True if the query is an EXPLAIN."""
    state = spark._jsparkSession.sessionState()
    plan = state.sqlParser().parsePlan(query)
    is_explained = str(plan.getClass().getSimpleName()).startswith("Explain")
    return state.analyzer().execute(plan.logicalPlan() if is_explained else plan), is_explained


def external_code(plan: Any) -> str:
    """Return a description of the external code that an analyzed plan runs, or "" if there is none.

    The plan's JSON has the class of every node, including those in subqueries.
    """
    classes = set(_classes(json.loads(plan.toJSON())))
    return next((description for name, description in EXTERNAL_CODE.items() if name in classes), "")


def read_tables(plan: Any) -> list[Table]:
    """Return the lakehouse tables that an analyzed plan and its subqueries read, sorted by name."""
    names = set()
    for part in (plan, *_items(plan.subqueriesAll())):
        for leaf in _items(part.collectLeaves()):
            is_table = leaf.getClass().getSimpleName() == "DataSourceV2Relation"
            if is_table and leaf.identifier().isDefined():
                table = leaf.identifier().get()
                if list(table.namespace()) == [DATABASE]:  # that of a metadata table is longer
                    names.add(str(table.name()))
    return [Table(name) for name in sorted(names)]


def _items(sequence: Any) -> Iterator[Any]:
    """Yield the items of a Scala sequence."""
    return map(sequence.apply, range(sequence.size()))


def _classes(value: Any) -> Iterator[str]:
    """Yield the simple class names in a plan's JSON."""
    if isinstance(value, dict):
        if isinstance(name := value.get("class"), str):
            yield name.rpartition(".")[2]
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _classes(item)


@contextmanager
def _stderr_into(log: Path) -> Iterator[None]:
    """Redirect stderr of Spark and its JVM to a log file."""
    original = os.dup(2)
    with log.open("wb") as out:
        os.dup2(out.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(original, 2)
            os.close(original)
