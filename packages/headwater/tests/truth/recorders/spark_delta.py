"""Record three days of Spark with Delta Lake, a Hive metastore, JDBC and a stream.

Each job is an application of its own. All days run at once, and the times of their events are moved
to the days.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from .airflow_sql import ADDRESS, postgresql
from .recording import copied, keep, run
from .spark import NOISE

_CASE = "spark-delta"
_JARS = [
    "io.openlineage:openlineage-spark_2.13:1.53.0",
    "io.delta:delta-spark_4.1_2.13:4.4.0",
    "org.postgresql:postgresql:42.7.4",
]
_LIMIT, _ERROR = "100", "raise_error('no limit')"
_DAILY = "ingest_orders ingest_customers stream_refunds clean_orders daily_revenue"
_DAYS = {
    1: f"{_DAILY} views report segments first_orders maintenance".replace(
        "stream", "register stream"
    ),
    2: f"{_DAILY} report !segments segments first_orders",
    3: f"{_DAILY} report segments first_orders renames",
}
"""The jobs of each day; those with a `!` fail."""
_TABLES = """
create schema sales;
create schema reporting;
create table sales.orders
  (id int, customer_id int, amount float8, status text, note text, day date);
create table sales.customers (id int, name text, country text, phone text, active bool);
insert into sales.orders select n, n % 4, n * 10 - 20, 'paid', 'n', date '2026-11-01' + n / 5
  from generate_series(0, 14) n;
insert into sales.customers values (0, 'Ann', 'DE', '1', true), (1, 'Bob', 'FR', '2', true);
"""


def main() -> None:
    """Record the case."""
    with copied("spark_delta") as folder, postgresql():
        host, port = ADDRESS.split(":")
        psql = ["psql", "-q", "-h", host, "-p", port, "-U", "postgres", "-c", _TABLES]
        subprocess.run(psql, check=True)
        events = folder / "events.jsonl"
        with events.open("w") as file:
            file.writelines(_events(folder))
        keep(
            _CASE,
            events,
            folder,
            {ADDRESS: f"{_CASE}.example.org:5432", "/srv/shop": f"/srv/{_CASE}"},
        )


def _events(folder: Path) -> Iterator[str]:
    """Run all jobs; yield their events, at the times of their days."""
    environment = {
        "SHOP": str(folder),
        "DATABASE": ADDRESS,
        "JAVA_HOME": os.environ.get("JAVA_HOME", ""),
    }
    landing = folder / "landing" / "refunds"
    landing.mkdir(parents=True)
    for day, jobs in _DAYS.items():
        refund = {"order_id": 5 * day - 1, "reason": "late"}
        (landing / f"day{day}.json").write_text(json.dumps(refund))
        for number, name in enumerate(jobs.split()):
            fails, job = name.startswith("!"), name.removeprefix("!")
            own = folder / f"events-{day}-{number}.jsonl"
            own.touch()
            command = ["spark-submit", *_options(job, folder, own), "jobs.py", job, str(day)]
            run(
                ["pyspark==4.1.4"],
                [*command, _ERROR if fails else _LIMIT],
                folder,
                environment,
                may_fail=fails,
            )
            yield from (_on_day(line, day) for line in own.read_text().splitlines())


def _on_day(line: str, day: int) -> str:
    """Return an event at its time of a day in November 2026."""
    event = json.loads(line)
    time = datetime.fromisoformat(event["eventTime"]).replace(year=2026, month=11, day=day)
    event["eventTime"] = time.isoformat().replace("+00:00", "Z")
    return f"{json.dumps(event)}\n"


def _options(job: str, folder: Path, events: Path) -> list[str]:
    settings = {
        "spark.app.name": job,
        "spark.master": "local[1]",
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": (
            f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Dderby.system.home={folder}/derby"
        ),
        "spark.jars.packages": ",".join(_JARS),
        "spark.jars.ivy": os.environ.get("IVY", str(folder / "ivy")),
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.catalogImplementation": "hive",
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.extraListeners": "io.openlineage.spark.agent.OpenLineageSparkListener",
        "spark.openlineage.transport.type": "file",
        "spark.openlineage.transport.location": str(events),
        "spark.openlineage.namespace": _CASE,
        "spark.openlineage.columnLineage.datasetLineageEnabled": "true",
        **{f"spark.openlineage.facets.{name}.disabled": "true" for name in NOISE},
    }
    return [item for key, value in settings.items() for item in ("--conf", f"{key}={value}")]
