"""Ask the lakehouse with Spark; like that of every query, its lineage is kept."""

from __future__ import annotations

from pyspark.errors import PySparkException

from commands.services import prepare
from lakehouse.errors import PipelineError
from lakehouse.names import CATALOG, DATABASE
from lakehouse.settings import Settings
from spark_jobs.session import open_session

ROWS = 1_000


class BadQuery(PipelineError):
    """Spark cannot run the query."""


def run_sql(settings: Settings, query: str) -> None:
    """Print a query's first 1,000 rows.

    Raises:
        BadQuery: Spark refuses it.
    """
    prepare(settings)
    spark = open_session(settings, "sql")
    try:
        spark.sql(f"USE {CATALOG}.{DATABASE}")
        spark.sql(query).show(ROWS, truncate=False)
    except PySparkException as error:
        raise BadQuery(str(error).strip().splitlines()[0]) from None
    finally:
        spark.stop()
