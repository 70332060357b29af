"""The demo: run both orchestrators and show the lineage of a forecast."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from urllib.parse import unquote, urlsplit

from commands.airflow_api import Airflow
from commands.demo_output import (
    DemoFailed,
    data_line,
    locations,
    restart_commands,
    show_result,
)
from commands.marts import build_marts
from commands.processes import Service, stopping, wait_for_interrupt
from commands.progress import Progress
from commands.services import (
    WEATHER_DAG,
    lineage_caught_up,
    lineage_delivered,
    start_services,
    taxi_dag,
    train_dag,
)
from headwater.console.render import SafeConsole
from lakehouse.backends import deliveries, is_embedded
from lakehouse.errors import PipelineError, SettingsError
from lakehouse.forecasts import newest_forecasts
from lakehouse.settings import Settings
from metaflow_flows.train_forecast_model.tables import NoData, newest_month_end, read_weather

GENERATOR_MONTHS = ["2025-04", "2025-05"]
POLL_SECONDS = 1.0
TRIGGER_SECONDS = 300
CAUGHT_UP_SECONDS = 300
_ENDED = ("success", "failed")
"""States of a DAG run that has ended."""


def run_demo(
    settings: Settings,
    months: list[str],
    *,
    service: str = "yellow",
    has_marts: bool = False,
    exit_when_done: bool,
) -> None:
    """Run the demo for a taxi service until Ctrl-C, or with `exit_when_done` until it is done.

    With `has_marts`, dbt also builds marts from the tables.

    Raises:
        PipelineError: a step failed; the message says which one and where to look.
    """
    console = SafeConsole(keep="\n", highlight=False)
    months = months or default_months(settings, service)
    console.print(data_line(settings, service, months), soft_wrap=True)
    services: list[Service] = []
    with stopping(services):
        with Progress(console) as progress:
            airflow = start_services(settings, services, progress)
            months_by_dag = {taxi_dag(service): months, WEATHER_DAG: months}
            notes = run_dags(settings, airflow, progress, months_by_dag, service=service)
            if is_embedded(settings):
                with progress.stage("Lineage ingested"):
                    services[0].wait_until(lambda: lineage_caught_up(settings), CAUGHT_UP_SECONDS)
            if has_marts:
                with progress.stage("Marts built by dbt"):
                    build_marts(settings, service)
            if deliveries(settings):
                with progress.stage(f"Lineage delivered to {settings.lineage_backend}"):
                    services[0].wait_until(lambda: lineage_delivered(settings), 300)
        for note in notes:
            console.print(f"[yellow]{note}[/yellow]", soft_wrap=True)
        show_result(console, settings, service, has_marts=has_marts)
        places = locations(settings, has_services=not exit_when_done)
        console.print("", progress.timings(), places, sep="\n")
        if exit_when_done:
            console.print(
                f"\nStopped because of --exit. {restart_commands(settings)}", soft_wrap=True
            )
            return
        console.print(
            "\nAirflow and the lineage server keep running. Press [bold]Ctrl-C[/bold] to stop."
        )
        wait_for_interrupt(services)


def default_months(settings: Settings, service: str = "yellow") -> list[str]:
    """Return the months to load by default; empty lets the DAG choose.

    Raises:
        SettingsError: the source is a folder without taxi files.
    """
    if settings.data_source == "generator":
        return GENERATOR_MONTHS
    base = urlsplit(settings.taxi_url)
    if base.scheme != "file":
        return []
    folder = Path(unquote(base.path), "trip-data")
    hint = "Pass --data with a folder that contains taxi/trip-data/ and weather/averages/."
    if not folder.is_dir():
        raise SettingsError(f"There is no folder {folder}. {hint}")
    months = sorted(path.stem[-7:] for path in folder.glob(f"{service}_tripdata_????-??.parquet"))
    if not months:
        raise SettingsError(f"{folder} has no {service}_tripdata_YYYY-MM.parquet. {hint}")
    return months[-2:]


def run_dags(
    settings: Settings,
    airflow: Airflow,
    progress: Progress,
    months: dict[str, list[str]],
    started: Callable[[], None] = lambda: None,
    service: str = "yellow",
) -> list[str]:
    """Run the ingest DAGs and the training that new taxi data triggers; return notes to show.

    `months` are the months per ingest DAG; `started` is called after both are triggered.

    Raises:
        DemoFailed: a DAG run failed, or the training was not triggered.
    """
    notes = []
    taxi, train = taxi_dag(service), train_dag(service)
    for dag in (taxi, WEATHER_DAG, train):
        airflow.unpause(dag)
    with progress.stage("Ingest"):
        runs = {dag: airflow.trigger(dag, {"months": months[dag]}) for dag in months}
        started()
        _follow(settings, airflow, progress, runs)
    old_weather = _not_loaded(airflow, WEATHER_DAG, runs[WEATHER_DAG])
    old_taxi = _not_loaded(airflow, taxi, runs[taxi])
    if old_weather:
        notes.append(f"No new weather was loaded. {old_weather}")
    conf = {}
    if settings.forecast_model == "weather" and (reason := _no_weather(settings, service)):
        conf = {"model": "seasonal_naive"}
        notes.append(f"Trained seasonal-naive instead of the weather model. {reason}")
    if old_taxi and _is_trained(settings, service):
        notes.append(f"No new taxi data, so no model was trained. {old_taxi}")
        return notes
    by_data = not old_taxi and not (old_weather and settings.forecast_model == "weather")
    if by_data:
        with progress.stage("Training, triggered by the new data"):
            run = _triggered_training(airflow, train, runs[taxi])
            _follow(settings, airflow, progress, {train: run})
        return notes
    if old_taxi:
        notes.append("The data was already loaded, but had no forecast, so a model was trained.")
    with progress.stage("Training, triggered by the demo"):
        waiting = [run["dag_run_id"] for run in airflow.unfinished(train)]
        run = waiting[0] if waiting else airflow.trigger(train, conf)
        _follow(settings, airflow, progress, {train: run})
    return notes


def _triggered_training(airflow: Airflow, train: str, source_run: str) -> str:
    """Wait for the training run that a taxi run triggers; return its id.

    Raises:
        DemoFailed: it was not triggered in time.
    """
    deadline = time.monotonic() + TRIGGER_SECONDS
    with airflow.within(TRIGGER_SECONDS):
        while not (run := airflow.triggered_by(train, source_run)):
            if time.monotonic() > deadline:
                raise DemoFailed(
                    f"{source_run} did not trigger {train} within {TRIGGER_SECONDS} s. Check "
                    "logs/airflow.log in the state folder."
                )
            time.sleep(POLL_SECONDS)
    return run


def _no_weather(settings: Settings, service: str) -> str:
    """Return the reason why there is no weather to train on; empty if there is."""
    from metaflow_flows.train_forecast_model.weather_model import counties

    try:
        end = newest_month_end(settings, service)
        read_weather(settings, counties().unique(), end - timedelta(days=28), end)
    except NoData as error:
        return str(error)
    return ""


def _not_loaded(airflow: Airflow, dag: str, run: str) -> str:
    """Return the reason why the run loaded nothing; empty if it loaded something."""
    tasks = {task["task_id"]: task["state"] for task in airflow.tasks(dag, run)}
    if tasks["download"] != "skipped":
        return ""
    return " ".join(airflow.xcom(dag, run, "download", "skipped") or ["See the task's log."])


def _is_trained(settings: Settings, service: str) -> bool:
    """Return True if the newest month has forecasts, or there is no data to train on."""
    try:
        end = newest_month_end(settings, service)
    except NoData:
        return True
    forecasts = newest_forecasts(settings, service)
    return bool(forecasts) and forecasts[0]["as_of"] >= end


def _follow(settings: Settings, airflow: Airflow, progress: Progress, runs: dict[str, str]) -> None:
    """Show the runs until all have ended; an interrupted run would have no end event.

    Raises:
        DemoFailed: a run failed; the message has the reason.
    """
    states = dict.fromkeys(runs, "")
    while not all(state in _ENDED for state in states.values()):
        for dag, run in runs.items():
            if states[dag] in _ENDED:
                continue
            tasks = airflow.tasks(dag, run)
            # Half of the requests, which slow down the tasks, are saved while a task is running.
            if all(task["state"] != "running" for task in tasks):
                states[dag] = airflow.run_state(dag, run)
                tasks = airflow.tasks(dag, run) if states[dag] in _ENDED else tasks
            progress.show(dag, tasks)
        time.sleep(POLL_SECONDS)
    for dag, run in runs.items():
        if states[dag] == "failed":
            raise DemoFailed(explain(settings, airflow, dag, run))


def explain(settings: Settings, airflow: Airflow, dag: str, run: str) -> str:
    """Return the failed task of a run and the reason: a pipeline error or the end of its log."""
    failed = [task for task in airflow.tasks(dag, run) if task["state"] == "failed"]
    if not failed:
        return f"{dag} failed."
    task, attempt = failed[0]["task_id"], failed[0]["try_number"]
    log = airflow.log(dag, run, task, attempt).splitlines()
    lines = [line for line in log if not line.startswith(("::group::", "::endgroup::"))]
    folder = settings.state_dir / "airflow" / "logs" / f"dag_id={dag}" / f"run_id={run}"
    path = folder / f"task_id={task}" / f"attempt={attempt}.log"
    ours = tuple(f"{error.__name__}: " for error in PipelineError.__subclasses__())
    if reasons := [line for line in lines if line.startswith(ours)]:
        return f"{dag}.{task} failed. {reasons[-1]}\nIts log is {path}"
    return f"{dag}.{task} failed. The end of {path}:\n" + "\n".join(lines[-20:])
