"""Drivers in separate processes: killed at any time, in parallel, on a cluster."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pyarrow.parquet as pq
import pyspark
import pytest
from pyiceberg.table import Table as IcebergTable
from pyspark.sql import SparkSession

from lakehouse.catalog import load_table, rows_by_partition
from lakehouse.generator import taxi_table
from lakehouse.ingest import Partition
from lakehouse.settings import REPOSITORY, Settings
from spark_jobs import ingest, taxi
from tests.conftest import SERIAL_GC
from tests.pipeline.conftest import free_ports

pytestmark = pytest.mark.spark

SPEC = taxi.SPECS["green"]
_QUICK_JAVA = f"-XX:TieredStopAtLevel=1 {SERIAL_GC}"
_SUBMIT = (
    f"--conf 'spark.executor.extraJavaOptions={_QUICK_JAVA}' --conf spark.cores.max=1 pyspark-shell"
)


def driver(settings: Settings, job: str, partitions: list[Partition]) -> subprocess.Popen[bytes]:
    """Start a job with spark-submit in its own process group."""
    log = settings.state_dir / "logs" / f"{job}-{partitions[0].name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as out:
        return subprocess.Popen(
            [
                sys.executable,
                "spark_jobs/run.py",
                "green",
                job,
                json.dumps(list(map(asdict, partitions))),
            ],
            cwd=REPOSITORY,
            env=os.environ
            | settings.environ()
            | {
                "PYTHONPATH": str(REPOSITORY),
                "PYSPARK_SUBMIT_ARGS": _SUBMIT,
            },
            stdout=out,
            stderr=out,
            start_new_session=True,
        )


def month_file(folder: Path, number: int, rows: int) -> Partition:
    month = f"2010-{number:02d}"
    path = folder / f"green_tripdata_{month}.parquet"
    pq.write_table(taxi_table(month, rows, "green"), path)
    return Partition(path.name, (str(path),), f"{rows} rows")


def held(settings: Settings, partition: Partition) -> int:
    """Return the number of rows in the partition, counted and compared with the metadata."""
    table = load_table(settings, SPEC.raw.table)
    if table is None:
        return 0
    rows = table.scan(row_filter=f"filename = '{partition.name}'").to_arrow().num_rows
    assert rows_by_partition(table).get(partition.name, 0) == rows
    return rows


def test_killed_driver_leaves_old_or_new_rows(
    spark: SparkSession, lake: Settings, tmp_path: Path
) -> None:
    def passed(rows: int) -> Partition:
        partition = month_file(tmp_path, 1, rows)
        for job in (ingest.stage, ingest.check_staging):
            job(spark, lake, SPEC, [partition])
        return partition

    sizes = [1_000, 1_400]
    ingest.merge(spark, lake, SPEC, [passed(sizes[0])])
    is_committed = {}
    for moment, progress in _progress(lake).items():
        before = held(lake, month_file(tmp_path, 1, sizes[0]))
        after = next(size for size in sizes if size != before)
        partition = passed(after)
        start = progress()
        process = driver(lake, "merge", [partition])
        while progress() == start:
            assert process.poll() is None or progress() != start, moment
            time.sleep(0.01)  # between two checks
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        rows = held(lake, partition)
        assert rows in (before, after), moment
        is_committed[moment] = rows == after
        ingest.merge(spark, lake, SPEC, [partition])
        assert held(lake, partition) == after
    assert not is_committed["Spark is started"]
    assert is_committed["the catalog is changed"]


def _progress(lake: Settings) -> dict[str, Callable[[], object]]:
    """Return, by moment of a merge, a function whose result changes at this moment."""

    def raw() -> IcebergTable:
        table = load_table(lake, SPEC.raw.table)
        assert table is not None
        return table

    folder = Path(urlsplit(raw().location()).path)
    return {
        "Spark is started": lambda: len([*lake.spool_dir.glob("*.jsonl")]),
        "data is written": lambda: len([*folder.glob("data/*/*.parquet")]),
        "metadata is written": lambda: len([*folder.glob("metadata/*.metadata.json")]),
        "the catalog is changed": lambda: raw().metadata.current_snapshot_id,
    }


@pytest.fixture
def cluster() -> Iterator[str]:
    """Start a standalone cluster, a master and a worker on this machine; return its URL."""
    home = Path(pyspark.__file__).parent
    port = free_ports(2)
    master = f"spark://127.0.0.1:{port}"
    environ = os.environ | {
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_JAVA_OPTS": _QUICK_JAVA,
    }

    def start(*arguments: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [home / "bin" / "spark-class", *arguments],
            env=environ,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def alive() -> int:
        try:
            return int(httpx.get(f"http://127.0.0.1:{port + 1}/json/").json()["aliveworkers"])
        except (httpx.HTTPError, ValueError):
            return 0

    at = "org.apache.spark.deploy"
    address = ("--host", "127.0.0.1", "--port", str(port), "--webui-port", str(port + 1))
    processes = [start(f"{at}.master.Master", *address)]
    resources = ("--host", "127.0.0.1", "--cores", "2", "--memory", "4g")
    processes.append(start(f"{at}.worker.Worker", *resources, master))
    try:
        deadline = time.monotonic() + 120
        while not alive():
            assert time.monotonic() < deadline, "the cluster did not come up"
            time.sleep(0.2)
        yield master
    finally:
        for process in processes:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def test_concurrent_writers_on_a_cluster_lose_nothing(
    cluster: str, spark: SparkSession, lake: Settings, tmp_path: Path
) -> None:
    settings = lake.model_copy(update={"spark_master": cluster})
    partitions = [month_file(tmp_path, number, 1_000 + number) for number in (2, 3)]
    for job in (ingest.stage, ingest.check_staging):
        job(spark, lake, SPEC, partitions)
    writers = [driver(settings, "merge", [partition]) for partition in partitions]
    assert [writer.wait(300) for writer in writers] == [0, 0]
    assert [held(settings, partition) for partition in partitions] == [1_002, 1_003]
