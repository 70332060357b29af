"""Ask the lakehouse with Spark; like that of every query, its lineage is kept."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.errors import PySparkException

from commands.services import prepare
from lakehouse.errors import PipelineError
from lakehouse.names import CATALOG, DATABASE
from lakehouse.settings import Settings
from spark_jobs.session import open_session

ROWS = 1_000


class BadQuery(PipelineError):
    """The engine cannot run the query."""


def run_sql(settings: Settings, query: str) -> None:
    """Print a query's first 1,000 rows.

    Raises:
        BadQuery: Spark refuses it.
    """
    prepare(settings)
    log = settings.state_dir / "logs" / "sql.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    try:
        with _stderr_into(log), open_session(settings, "sql") as spark:
            spark.sql(f"USE {CATALOG}.{DATABASE}")
            spark.sql(query).show(ROWS, truncate=False)
    except PySparkException as error:
        told = str(error).strip().splitlines()[0]
        if "TABLE_OR_VIEW_NOT_FOUND" in told:
            told += " `./run status` lists the tables that there are, `./run demo` makes them."
        raise BadQuery(told) from None


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
