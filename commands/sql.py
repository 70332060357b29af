"""Query the lakehouse with Spark; the lineage of the query is recorded."""

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
from lakehouse.errors import PipelineError
from lakehouse.names import CATALOG, DATABASE
from lakehouse.settings import Settings
from spark_jobs.session import open_session

ROWS = 1_000
LINEAGE = {"spark.openlineage.job.tags": "ad-hoc"}
"""Spark configuration that tags the query's lineage as ad hoc, so that it is never late."""

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
    """A query may change tables, and only reading was allowed."""


def run_sql(settings: Settings, query: str, *, may_write: bool = False) -> None:
    """Print a query's first 1,000 rows.

    Raises:
        BadQuery: Spark rejects the query.
        WritingQuery: the query does more than read, and that was not allowed.
    """
    prepare(settings)
    log = settings.state_dir / "logs" / "sql.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    try:
        with _stderr_into(log), open_session(settings, "sql", LINEAGE) as spark:
            spark.sql(f"USE {CATALOG}.{DATABASE}")
            if not may_write:
                if command := writing_command(spark, query):
                    raise refusal(f"is Spark's command {command}")
                if code := external_code(spark, query):
                    raise refusal(f"uses {code}")
            with redirect_stdout(StringIO()) as table:
                spark.sql(query).show(ROWS, truncate=False)
        say(table.getvalue().rstrip())
    except PySparkException as error:
        message = str(error).strip().splitlines()[0]
        if "TABLE_OR_VIEW_NOT_FOUND" in message:
            message += " `./run status` lists all tables; `./run demo` creates them."
        raise BadQuery(message) from None


def refusal(received: str) -> WritingQuery:
    """Return the error for a statement that may change something."""
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


def external_code(spark: SparkSession, query: str) -> str:
    """Return what a reading query uses to run code outside Spark, or "" if it does not.

    Spark's analyzed plan decides. Its JSON has the class of every node, also within subqueries.
    """
    state = spark._jsparkSession.sessionState()
    plan = state.sqlParser().parsePlan(query)
    if plan.getClass().getSimpleName().startswith("Explain"):
        plan = plan.logicalPlan()
    classes = set(_classes(json.loads(state.analyzer().execute(plan).toJSON())))
    return next((description for name, description in EXTERNAL_CODE.items() if name in classes), "")


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
