"""The whole pipeline, run once for the suite: Airflow, Spark, Metaflow and the lineage server.

The lineage server is killed while the ingest runs and started again afterwards, so that every
test below also says that nothing was lost by that.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import psutil
import pytest
from rich.console import Console

from commands.airflow_api import Airflow
from commands.demo import TAXI_DAG, TRAIN_DAG, WEATHER_DAG, run_dags
from commands.processes import Service
from commands.progress import Progress
from commands.services import (
    lineage_caught_up,
    lineage_ready,
    prepare,
    start_airflow,
    start_throughline,
    wait_for_airflow,
)
from lakehouse.catalog import open_catalog
from lakehouse.names import DATABASE
from lakehouse.settings import Settings

Json = dict[str, Any]

WEATHER_MONTHS = {"2019-03": ["2023-01"]}


@dataclass
class Pipeline:
    """What one run of everything left behind."""

    settings: Settings
    months: list[str]
    airflow: Airflow
    killed_after: int = 0
    """Bytes in the spool when the lineage server was killed."""
    loaded: dict[str, int] = field(default_factory=dict)
    """Each table's snapshot after every month was loaded."""
    again: dict[str, int] = field(default_factory=dict)
    """Each table's snapshot after the same was asked for again."""
    unattended: str = ""
    """A taxi run without months, as the schedule starts it."""

    def get(self, path: str, **params: Any) -> Any:
        """An answer of the lineage server."""
        answer = httpx.get(self.settings.throughline_url + path, params=params, timeout=30)
        return answer.raise_for_status().json()

    def events(self) -> list[Json]:
        """Every event in the spool."""
        files = sorted(self.settings.spool_dir.rglob("*.jsonl"))
        return [json.loads(line) for path in files for line in path.read_text().splitlines()]


def spool_bytes(settings: Settings) -> int:
    return sum(path.stat().st_size for path in settings.spool_dir.rglob("*.jsonl"))


def snapshots(settings: Settings) -> dict[str, int]:
    catalog = open_catalog(settings)
    tables = (catalog.load_table(name) for name in catalog.list_tables(DATABASE))
    return {table.name()[-1]: table.metadata.current_snapshot_id or 0 for table in tables}


def free_ports(count: int) -> int:
    """The first of `count` free ports in a row; two suites at once begin at different ones."""
    for port in range(20_000 + os.getpid() % 1_000 * 8, 60_000, count):
        try:
            for offset in range(count):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", port + offset))
        except OSError:
            continue
        return port
    raise AssertionError("no free ports")


@pytest.fixture(scope="session")
def pipeline(
    make_settings: Callable[..., Settings], real_or_generated: tuple[dict[str, Any], list[str]]
) -> Iterator[Pipeline]:
    """Ingest and training of the first month, then of every month, then the same once more."""
    values, months = real_or_generated
    port = free_ports(4)
    settings = make_settings(
        "pipeline", airflow_port=port, throughline_port=port + 3, months_back=1, **values
    )
    services: list[Service] = []
    try:
        prepare(settings)
        services += [start_throughline(settings), start_airflow(settings)]
        services[0].wait_until(lambda: lineage_ready(settings), 60)
        airflow = wait_for_airflow(settings, services[1])
        found = Pipeline(settings, months, airflow)
        with Progress(Console(quiet=True)) as progress:
            # Real weather and real trips of the same months are not at hand: each has its own.
            both = {TAXI_DAG: months, WEATHER_DAG: WEATHER_MONTHS.get(months[0], months)}
            run_dags(
                settings,
                airflow,
                progress,
                both | {TAXI_DAG: months[:1]},
                started=lambda: kill_lineage(found, services[0]),
            )
            services[0].stop()
            services[0] = start_throughline(settings)
            services[0].wait_until(lambda: lineage_ready(settings), 60)
            services[0].wait_until(lambda: lineage_caught_up(settings), 60)
            run_dags(settings, airflow, progress, both)
            found.loaded = snapshots(settings)
            run_dags(settings, airflow, progress, both)
            found.again = snapshots(settings)
            found.unattended = airflow.trigger(TAXI_DAG, {})
            services[1].wait_until(
                lambda: airflow.run_state(TAXI_DAG, found.unattended) in ("success", "failed"), 300
            )
            services[0].wait_until(lambda: lineage_caught_up(settings), 60)
        yield found
    finally:
        for service in services:
            service.stop()


def kill_lineage(found: Pipeline, service: Service) -> None:
    """kill -9 once the ingest has written lineage."""
    service.wait_until(lambda: spool_bytes(found.settings) > 0, 120)
    found.killed_after = spool_bytes(found.settings)
    psutil.Process(service.pid).kill()


__all__ = ["TAXI_DAG", "TRAIN_DAG", "WEATHER_DAG", "Pipeline"]
