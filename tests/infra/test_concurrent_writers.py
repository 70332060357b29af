"""Ten processes write one Glue table at the same time without losing a commit."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from lakehouse.catalog import open_catalog
from lakehouse.settings import REPOSITORY, Settings
from metaflow_flows.train_forecast_model.tables import forecast
from spark_jobs.runtime import jars

pytestmark = [pytest.mark.spark, pytest.mark.server]

WRITERS, ROWS = 9, 50

FORECASTS = """
import os
import sys
import time
from datetime import datetime
import pandas as pd
from lakehouse.settings import load_settings
from metaflow_flows.train_forecast_model.tables import forecast_rows, write_forecasts

start, rows, *numbers = sys.argv[1], *map(int, sys.argv[2:])

def write(number, version):
    as_of = datetime(2025, 4, number + 1)
    hours = pd.date_range(as_of, periods=rows, freq="h")
    forecasts = pd.DataFrame({"unique_id": number, "ds": hours, "forecast": 1.0})
    write_forecasts(
        load_settings(), "yellow", forecast_rows(forecasts, as_of, "naive", version), as_of
    )

if not start:
    for number in numbers:  # the first one creates the table, which Spark's writer reads
        write(number, "first")
    sys.exit()
while not os.path.exists(start):
    time.sleep(0.05)  # between two looks for the file
for number in numbers:  # one process per number; forked, because imports take longer than writes
    if not os.fork():
        write(number, "second")  # replaces the first version
        os._exit(0)
ended = [os.wait()[1] for _ in numbers]
sys.exit(any(ended))
"""

SPARK = """
import sys
from pathlib import Path
from lakehouse.settings import load_settings
from spark_jobs.session import open_session

start, rows = Path(sys.argv[1]), int(sys.argv[2])
with open_session(load_settings(), "writer") as spark:
    table = spark.table("lakehouse.nyc_taxi.yellow_rides_hourly_forecast")
    start.touch()
    for number in (100, 101):
        new = spark.range(rows).selectExpr(
            "2025 AS year", "4 AS month", "1 AS day", "1 AS hour",
            f"{number} AS pulocationid", "1L AS forecasted_total_rides",
            "TIMESTAMP_NTZ '2025-05-01' AS as_of", "'naive' AS model", "'second' AS model_version",
        )
        new.select(table.columns).writeTo("lakehouse.nyc_taxi.yellow_rides_hourly_forecast").append()
"""


def _writer(
    settings: Settings, program: str, start: Path | str, *numbers: int
) -> subprocess.Popen[str]:
    """Start a writer program; forecast writers wait for the file `start` unless it is empty."""
    environ = os.environ | settings.environ() | {"LINEAGE_BACKEND": "file"}
    return subprocess.Popen(
        [sys.executable, "-c", program, str(start), str(ROWS), *map(str, numbers)],
        cwd=REPOSITORY,
        env=environ,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def _ended(writers: list[subprocess.Popen[str]]) -> list[str]:
    """Wait for all processes and return the output of those that failed."""
    said = [writer.communicate()[1] for writer in writers]
    return [text[-3000:] for text, writer in zip(said, writers, strict=True) if writer.returncode]


def test_ten_concurrent_writers_lose_nothing(
    endpoint: str, bucket: str, make_settings: Callable[..., Settings], tmp_path: Path
) -> None:
    settings = make_settings(
        "writers",
        lakehouse="glue",
        bucket=bucket,
        aws_account="123456789012",
        aws_endpoint_url=endpoint,
    )
    jars(settings)
    numbers = range(WRITERS)
    assert _ended([_writer(settings, FORECASTS, "", *numbers)]) == []
    start = tmp_path / "start"
    python = _writer(settings, FORECASTS, start, *numbers)
    failed = _ended([_writer(settings, SPARK, start)])
    start.touch()  # in case Spark failed before
    assert failed + _ended([python]) == []
    table = open_catalog(settings).load_table(forecast("yellow").identifier)
    rows = table.scan().to_arrow()
    assert set(rows["model_version"].to_pylist()) == {"second"}
    rows_by_zone = Counter(rows["pulocationid"].to_pylist())
    assert rows_by_zone == dict.fromkeys((*numbers, 100, 101), ROWS)
