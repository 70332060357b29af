"""The log of a driver whose lineage cannot be sent."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable

import pytest

from lakehouse.settings import REPOSITORY, Settings
from packages.headwater.tests.support.sinks import Said, Sink, serving

pytestmark = pytest.mark.spark

APPLICATION = """
from lakehouse.settings import load_settings
from spark_jobs.session import open_session

with open_session(load_settings(), "refused") as spark:
    spark.range(10).createOrReplaceTempView("t")
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lakehouse.nyc_taxi")
    spark.sql("CREATE TABLE lakehouse.nyc_taxi.x USING iceberg AS SELECT id FROM t")
    problem = spark._jvm.java.lang.IllegalStateException("of another logger")
    spark._jvm.org.slf4j.LoggerFactory.getLogger("org.example.Other").warn("failed", problem)
"""


def test_refused_lineage_event_is_one_line_of_the_log(
    make_settings: Callable[..., Settings],
) -> None:
    with serving(Sink(lambda _body, _nth: Said(500, b"first\nsecond"))) as refusing:
        settings = make_settings("refused", lineage_backend=refusing.url, lineage_delivery="direct")
        done = subprocess.run(
            [sys.executable, "-c", APPLICATION],
            cwd=REPOSITORY,
            env=os.environ | settings.environ() | {"PYTHONPATH": str(REPOSITORY)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stdout
    lines = done.stdout.splitlines()
    refused = [line for line in lines if "code: 500" in line]
    assert len(refused) == len(refusing.requests) > 4, done.stdout
    assert all(re.search(r" ERROR \w+: .*first second", line) for line in refused), refused
    start = next(number for number, line in enumerate(lines) if "WARN Other: failed" in line)
    assert lines[start + 1] == "java.lang.IllegalStateException: of another logger"
    traces = [number for number, line in enumerate(lines) if line.startswith("\tat ")]
    assert traces == list(range(start + 2, start + 2 + len(traces)))
    assert traces
