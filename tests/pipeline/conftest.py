"""Run the whole pipeline once for the suite: Airflow, Spark, Metaflow and the lineage server.

Airflow is killed during the first training and the lineage server during the ingest. Both are
restarted, so every test also checks that nothing was lost.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from rich.console import Console

from commands.airflow_api import Airflow
from commands.demo import run_dags
from commands.processes import Service
from commands.progress import Progress
from commands.services import (
    DAGS,
    TAXI_DAG,
    TRAIN_DAG,
    WEATHER_DAG,
    lineage_caught_up,
    lineage_ready,
    prepare,
    start_airflow,
    start_headwater,
    wait_for_airflow,
)
from lakehouse.catalog import open_catalog
from lakehouse.names import DATABASE
from lakehouse.settings import Settings
from tests.spool import events_of

Json = dict[str, Any]

FLOW = "TrainForecastModelFlow"
WEATHER_MONTHS = {"2019-03": ["2023-01"]}
_services: list[Service] = []
"""The running services of `pipeline`."""


@dataclass
class Pipeline:
    """The state after one run of the whole pipeline."""

    settings: Settings
    months: list[str]
    airflow: Airflow
    cut_off: str = ""
    """The training run during which Airflow was killed."""
    killed_after: int = 0
    """Bytes in the spool when the lineage server was killed."""
    mistyped: str = ""
    """A taxi run with a misspelled parameter."""
    unattended: str = ""
    """A taxi run without months, like a scheduled run."""
    by_hand: dict[str, Any] = field(default_factory=dict)
    """Parameters of a training started with Airflow's form."""
    notes_of_repetition: list[str] = field(default_factory=list)
    """Notes of the demo when it runs again after all months were loaded."""
    versions: tuple[dict[str, int], dict[str, int]] = ({}, {})
    """The tables' snapshots before and after the demo ran again."""

    def get(self, path: str, **params: Any) -> Any:
        """Return a response of the lineage server."""
        answer = httpx.get(self.settings.headwater_url + path, params=params, timeout=30)
        return answer.raise_for_status().json()

    def events(self) -> list[Json]:
        """Return all events in the spool."""
        return events_of(self.settings.spool_dir.rglob("*.jsonl"))


def spool_bytes(settings: Settings) -> int:
    return sum(path.stat().st_size for path in settings.spool_dir.rglob("*.jsonl"))


def snapshots(settings: Settings) -> dict[str, int]:
    catalog = open_catalog(settings)
    tables = (catalog.load_table(name) for name in catalog.list_tables(DATABASE))
    return {table.name()[-1]: table.metadata.current_snapshot_id or 0 for table in tables}


def free_ports(count: int) -> int:
    """Return the first of `count` consecutive free ports; parallel suites search from others."""
    for port in range(20_000 + os.getpid() % 300 * 40, 60_000, count):
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
    """Run the first month, killing Airflow during the training, then all months and single runs."""
    values, months = real_or_generated
    port = free_ports(4)
    settings = make_settings(
        "pipeline",
        airflow_port=port,
        headwater_port=port + 3,
        months_back=1,
        keep_snapshots_days=0,
        **values,
    )
    services = _services
    try:
        prepare(settings)
        services += [start_headwater(settings), start_airflow(settings)]
        services[0].wait_until(lambda: lineage_ready(settings), 60)
        state = Pipeline(settings, months, wait_for_airflow(settings, services[1]))
        cut_off_training(state, services[1])
        services[1].stop()
        services[1] = start_airflow(settings)
        airflow = state.airflow = wait_for_airflow(settings, services[1])
        with Progress(Console(quiet=True)) as progress:
            # Real weather and real trips are available for different months only.
            both = {TAXI_DAG: months, WEATHER_DAG: WEATHER_MONTHS.get(months[0], months)}
            run_dags(
                settings,
                airflow,
                progress,
                both | {TAXI_DAG: months[:1]},
                started=lambda: kill_lineage(state, services[0]),
            )
            services[0].stop()
            services[0] = start_headwater(settings)
            services[0].wait_until(lambda: lineage_ready(settings), 60)
            services[0].wait_until(lambda: lineage_caught_up(settings), 60)
            run_dags(settings, airflow, progress, both)
            before = snapshots(settings)
            state.notes_of_repetition = run_dags(settings, airflow, progress, both)
            state.versions = (before, snapshots(settings))
            state.mistyped = airflow.trigger(TAXI_DAG, {"month": months[0]})
            state.unattended = airflow.trigger(TAXI_DAG, {})
            of_a_day = {"as_of_datetime": f"{months[-1]}-15T00:00", "predict_horizon_hours": 3}
            state.by_hand = of_a_day | {"locations": "132,237"}
            airflow.trigger(TRAIN_DAG, state.by_hand)
            services[1].wait_until(lambda: not airflow.unfinished(TAXI_DAG), 300)
            services[1].wait_until(lambda: not airflow.unfinished(TRAIN_DAG), 300)
            services[0].wait_until(lambda: lineage_caught_up(settings), 60)
        yield state
    finally:
        _stop_services()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    """Stop the services after the last test of this folder; the fixture ends with the session.

    Otherwise Airflow and the lineage server would slow down the tests of the next folders.
    """
    if nextitem is None or not nextitem.path.is_relative_to(Path(__file__).parent):
        _stop_services()


def _stop_services() -> None:
    while _services:
        _services.pop().stop()


def cut_off_training(state: Pipeline, service: Service) -> None:
    """Load a month, and kill Airflow while the triggered training runs."""
    for dag in DAGS:
        state.airflow.unpause(dag)
    state.airflow.trigger(TAXI_DAG, {"months": state.months[:1]})
    computing = f"{FLOW}.compute_actuals"
    service.wait_until(lambda: computing in {e["job"]["name"] for e in state.events()}, 300)
    state.cut_off = state.airflow.unfinished(TRAIN_DAG)[0]["dag_run_id"]
    processes = service.processes()
    for act in (psutil.Process.suspend, psutil.Process.kill):
        for process in processes:  # suspended first, so that none reacts to the end of another one
            with suppress(psutil.NoSuchProcess):
                act(process)


def kill_lineage(state: Pipeline, service: Service) -> None:
    """Kill the lineage server after the ingest has written lineage."""
    service.wait_until(lambda: spool_bytes(state.settings) > 0, 120)
    state.killed_after = spool_bytes(state.settings)
    psutil.Process(service.pid).kill()


__all__ = ["FLOW", "TAXI_DAG", "TRAIN_DAG", "WEATHER_DAG", "Pipeline"]
