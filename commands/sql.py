"""Query the lakehouse with Spark; the lineage of the query is recorded."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.errors import ParseException, PySparkException
from pyspark.sql import SparkSession

from commands.services import prepare
from lakehouse.errors import PipelineError
from lakehouse.names import CATALOG, DATABASE
from lakehouse.settings import Settings
from spark_jobs.session import open_session

ROWS = 1_000


READING_COMMANDS = ("Show", "Describe", "Explain")
"""Name prefixes of Spark commands that change nothing."""


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
        with _stderr_into(log), open_session(settings, "sql") as spark:
            spark.sql(f"USE {CATALOG}.{DATABASE}")
            if not may_write and (command := writing_command(spark, query)):
                raise refusal(f"Spark's command {command}")
            spark.sql(query).show(ROWS, truncate=False)
    except PySparkException as error:
        told = str(error).strip().splitlines()[0]
        if "TABLE_OR_VIEW_NOT_FOUND" in told:
            told += " `./run status` lists the tables that there are, `./run demo` makes them."
        raise BadQuery(told) from None


def refusal(received: str) -> WritingQuery:
    """Return the error for a statement that may change something."""
    return WritingQuery(
        f"The query is {received}, which may change data; it was not run. Without --write, only "
        "SELECT, WITH, VALUES, TABLE, SHOW, DESCRIBE and EXPLAIN are allowed. To run it, "
        "add --write."
    )


def writing_command(spark: SparkSession, query: str) -> str:
    """Return the name of the Spark command that a query runs, or "" if it only reads.

    Spark's own parser decides; a command not listed as reading counts as writing.

    Raises:
        ParseException: Spark cannot parse it.
    """
    jvm, session = spark._jvm, spark._jsparkSession
    assert jvm is not None
    try:  # Spark's own parser: the one of Iceberg's extensions accepts any statement as a query
        jvm.org.apache.spark.sql.execution.SparkSqlParser().parseQuery(query.rstrip("; \n\t"))
    except ParseException:
        plan = session.sessionState().sqlParser().parsePlan(query)
        name = str(plan.getClass().getSimpleName())
        return "" if name.startswith(READING_COMMANDS) else name
    return ""


@contextmanager
def _stderr_into(log: Path) -> Iterator[None]:
    """Spark and its JVM say much on stderr that is no answer to a query."""
    kept = os.dup(2)
    with log.open("wb") as out:
        os.dup2(out.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)
