"""`headwater harvest spark-logs` with the log of a real Spark job, compared with its events."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from commands.environment import script
from headwater.log import EventLog
from lakehouse.settings import Settings
from spark_jobs.runtime import java_home
from spark_jobs.session import submit_conf

pytestmark = [pytest.mark.spark, pytest.mark.server]

_JOB = """
import sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
numbers = sys.argv[1] + "/Zahlen ü"
spark.range(3).write.parquet(numbers)
spark.read.parquet(numbers).groupBy().sum("id").write.parquet(sys.argv[1] + "/sum")
spark.stop()
"""


def test_spark_log_contains_the_same_events_as_the_file_transport(
    make_settings: Callable[..., Settings], tmp_path: Path
) -> None:
    settings = make_settings("console")
    written = tmp_path / "written.jsonl"
    transport = "spark.openlineage.transport"
    conf = submit_conf(settings) | {
        "spark.master": "local[1]",
        "spark.log.level": "INFO",
        "spark.extraListeners": "io.openlineage.spark.agent.OpenLineageSparkListener",
        f"{transport}.type": "composite",
        f"{transport}.continueOnFailure": "false",
        f"{transport}.transports.a.type": "console",
        f"{transport}.transports.b.type": "file",
        f"{transport}.transports.b.location": str(written),
    }
    program = tmp_path / "job.py"
    program.write_text(_JOB)
    submit = [script("spark-submit")]
    for key, value in conf.items():
        submit += ["--conf", f"{key}={value}"]
    environ = os.environ | {
        "JAVA_HOME": str(java_home(settings)),
        "PYSPARK_PYTHON": sys.executable,
    }
    logs = tmp_path / "logs"
    logs.mkdir()
    done = subprocess.run([*submit, str(program), str(tmp_path)], env=environ, cwd=tmp_path,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip
    assert done.returncode == 0, done.stdout.decode()
    # Like on EMR and in Docker: two files, with lines split at 16 kB.
    lines = [line[at : at + 16_384] for line in done.stdout.split(b"\n")
             for at in range(0, max(len(line), 1), 16_384)]  # fmt: skip
    (logs / "stderr.gz").write_bytes(gzip.compress(b"\n".join(lines)))

    database = tmp_path / "log.db"
    command = [script("headwater"), "harvest", "spark-logs", str(logs), "--yes"]
    environ = os.environ | {"HEADWATER_HARVESTS": str(tmp_path / "harvests")}
    imported = subprocess.run([*command, "--database", str(database)], env=environ,
                          capture_output=True, text=True)  # fmt: skip
    assert "rejected 0\n" in imported.stdout, imported.stdout + imported.stderr
    log = EventLog(str(database), must_exist=True)
    harvested = [json.loads(body) for _, body in log.read()]
    log.close()
    expected = [json.loads(line) for line in written.read_text().splitlines()]
    assert len(expected) > 5
    assert sorted(map(str, harvested)) == sorted(map(str, expected))
