"""A Spark session for all tests of jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from pyspark.sql import SparkSession

from lakehouse.settings import Settings
from spark_jobs.runtime import jars
from spark_jobs.session import open_session


@pytest.fixture(scope="session")
def lake(make_settings: Callable[..., Settings]) -> Settings:
    """Return the settings of the session's lakehouse."""
    settings = make_settings("lake", generator_rows=2_000, lineage_backend="file")
    jars(settings)
    return settings


@pytest.fixture(scope="session")
def spark(lake: Settings) -> Iterator[SparkSession]:
    """Return a session like a driver's, with lineage in the spool."""
    conf = {
        "spark.openlineage.parentRunId": "01890a5d-ac96-774b-bcce-b302099a8057",
        "spark.openlineage.parentJobNamespace": "nyc_taxi",
        "spark.openlineage.parentJobName": "tests.run",
        "spark.openlineage.rootParentRunId": "01890a5d-ac96-774b-bcce-b302099a8056",
        "spark.openlineage.rootParentJobNamespace": "nyc_taxi",
        "spark.openlineage.rootParentJobName": "tests",
    }
    with open_session(lake, "tests", conf) as session:
        yield session
