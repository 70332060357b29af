"""The two services of the project: Airflow, and the lineage server."""

from __future__ import annotations

import fcntl
import os
import subprocess
from collections.abc import Callable
from datetime import datetime
from typing import IO, TypedDict

import httpx
import yaml

from commands.airflow_api import Airflow
from commands.environment import child_environ, script, write_airflow_password
from commands.page import page_beside
from commands.processes import Service, require_free_port
from commands.progress import Progress
from lakehouse.aws_profile import use_profile
from lakehouse.backends import deliveries, is_embedded, is_on, unanswered
from lakehouse.catalog import open_catalog
from lakehouse.errors import SetupError
from lakehouse.lineage_server import lineage_server
from lakehouse.names import DATABASE
from lakehouse.settings import Settings
from spark_jobs.archive import ensure_archive
from spark_jobs.runtime import jars, java_home


def taxi_dag(service: str) -> str:
    """Return the DAG that ingests a taxi service."""
    return f"ingest_{service}_taxi_data"


def train_dag(service: str) -> str:
    """Return the DAG that trains on a taxi service."""
    return "train_forecast_model" if service == "yellow" else f"train_{service}_forecast_model"


TAXI_DAG = taxi_dag("yellow")
WEATHER_DAG = "ingest_weather_data"
TRAIN_DAG = train_dag("yellow")
DAGS = (TAXI_DAG, WEATHER_DAG, TRAIN_DAG)
EVERY_DAG = (*DAGS, taxi_dag("green"), train_dag("green"))
START_SECONDS = 600
"""Seconds that a service may take to start; an overloaded machine needs most of them."""


def lineage_lost(settings: Settings) -> str:
    """What is to be said when a chosen backend does not answer; empty if all do."""
    silent = unanswered(settings)
    if not silent:
        return ""
    return (
        f"Nothing answers at {' and '.join(silent)}, where lineage is to go "
        f"(LINEAGE_BACKEND={settings.lineage_backend}): it would be lost. Start it, name another "
        "URL (docs/backends.md), or have a lineage server wait for it: LINEAGE_DELIVERY=collector, "
        "with that of `./run demo` or `./run airflow`, or `./run lineage serve` beside."
    )


def prepare(settings: Settings) -> None:
    """Java, jars, class archive and catalog, so that nothing is set up by two tasks at once."""
    java_home(settings)
    jars(settings)
    ensure_archive(settings)
    settings.spool_dir.mkdir(parents=True, exist_ok=True)
    catalog = open_catalog(settings)
    if not catalog.namespace_exists(DATABASE):  # asked first: on AWS create-infra makes it
        catalog.create_namespace(DATABASE)


def claim_data_source(settings: Settings) -> None:
    """Keep real and generated rides apart: a state folder holds the data of one source.

    Raises:
        SetupError: the folder's data is from elsewhere.
    """
    path = settings.state_dir / "data_source"
    wanted = f"{settings.taxi_url} {settings.weather_url}"
    held = path.read_text() if path.exists() else wanted
    if held != wanted:
        raise SetupError(
            f"{settings.state_dir} holds data {_told(held)}, this is for data {_told(wanted)}; "
            "they must not mix. Choose another folder with STATE_DIR=<folder>, or delete this one."
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(wanted)


def _told(source: str) -> str:
    generated = all("/generated/" in url for url in source.split())
    return "made by the generator" if generated else f"from {source.replace(' ', ' and ')}"


def start_throughline(settings: Settings) -> Service:
    """The lineage server, reading this machine's spool. Not ready yet: see `lineage_ready`."""
    environ = child_environ(settings) | throughline_environ(settings) | deliver_environ(settings)
    log = settings.state_dir / "logs" / "throughline.log"
    return Service("The lineage server", [[script("throughline"), "serve"]], environ, log)


def throughline_environ(settings: Settings) -> dict[str, str]:
    """What has `throughline serve` serve the lineage of this project."""
    key = settings.throughline_api_key.get_secret_value()
    return {
        "THROUGHLINE_HOST": "127.0.0.1",
        "THROUGHLINE_PORT": str(settings.throughline_port),
        "THROUGHLINE_DATABASE": f"sqlite:///{settings.state_dir / 'throughline.db'}",
        "THROUGHLINE_SPOOL": str(settings.spool_dir),
        "THROUGHLINE_HARVESTS": str(settings.state_dir / "harvests"),
        "THROUGHLINE_PROGRAM": "./run lineage",
        "THROUGHLINE_FRAME_ORIGINS": f"http://localhost:{settings.airflow_port}",
        **({"THROUGHLINE_API_KEY": key} if key else {}),
    }


def deliver_environ(settings: Settings) -> dict[str, str]:
    """What has `throughline` deliver to the backends elsewhere; their file is written for it.

    Raises:
        SettingsError: a backend lacks a setting.
    """
    backends = deliveries(settings)
    if not backends:
        return {}
    file = settings.state_dir / "deliver.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    head = "# Where lineage goes, by LINEAGE_BACKEND; written anew by each ./run that delivers.\n"
    file.write_text(head + yaml.safe_dump({"backends": backends}, sort_keys=False))
    names = [str(backend["api_key_env"]) for backend in backends if "api_key_env" in backend]
    keys = {name: getattr(settings, name.lower()).get_secret_value() for name in names}
    return {"THROUGHLINE_DELIVER": str(file), **keys}


def command_line_environ(settings: Settings) -> dict[str, str]:
    """Return the environment of throughline's command line as `./run lineage` starts it.

    Variables of throughline that are not settings of this project override its defaults.

    Raises:
        SettingsError: a backend lacks a setting.
    """
    own = {
        **throughline_environ(settings),
        **deliver_environ(settings),
        "THROUGHLINE_URL": settings.throughline_url,
        "THROUGHLINE_START_HINT": "./run lineage serve",
    }
    given = {"AWS_REGION": "aws_region", "OPENLINEAGE_NAMESPACE": "job_namespace"}
    resolved = {
        variable: str(getattr(settings, name))
        for variable, name in given.items()
        if name in settings.model_fields_set
    }
    resolved |= {name: own[name] for name in own if name.lower() in Settings.model_fields}
    resolved |= {} if is_on(settings) else {"OPENLINEAGE_DISABLED": "true"}
    environ = {**own, **os.environ, **resolved}
    use_profile(settings, environ)
    return environ


def lineage_ready(settings: Settings) -> bool:
    """Whether the lineage server answers."""
    try:
        with lineage_server(settings, timeout=5) as server:
            return server.get("/healthz").is_success
    except httpx.HTTPError:
        return False


def lineage_caught_up(settings: Settings) -> bool:
    """Whether the lineage server has taken in everything that is in the spool."""
    try:
        with lineage_server(settings, timeout=5) as server:
            health = server.get("/healthz").json()
    except (httpx.HTTPError, ValueError):
        return False
    return bool(health.get("spool", {}).get("lagBytes") == 0)


def delivers(settings: Settings) -> bool:
    """Whether a lineage server answers that delivers to every backend elsewhere."""
    return _delivery_names(settings) <= _standings(settings).keys()


def lineage_delivered(settings: Settings) -> bool:
    """Whether every backend elsewhere was told all that the lineage server has, or is down."""
    standings = _standings(settings)
    return all(
        name in standings and (standings[name]["lag"] == 0 or standings[name]["isFailing"])
        for name in _delivery_names(settings)
    )


def _delivery_names(settings: Settings) -> set[str]:
    return {str(backend["name"]) for backend in deliveries(settings)}


class _Standing(TypedDict):
    """What the lineage server reports of the delivery to one backend."""

    backend: str
    lag: int
    isFailing: bool


def _standings(settings: Settings) -> dict[str, _Standing]:
    """How each backend stands at the lineage server, by name; none where no server answers."""
    try:
        with lineage_server(settings, timeout=5) as server:
            answer = server.get("/api/v2/deliver").raise_for_status()
        return {standing["backend"]: standing for standing in answer.json()}
    except (httpx.HTTPError, ValueError):
        return {}


def start_airflow(settings: Settings) -> Service:
    """Airflow with scheduler, API and UI. Not ready yet: see `wait_for_airflow`.

    Not `airflow standalone`: it would also start a triggerer, which nothing here defers to, and
    two servers for logs that listen on every address of the machine.
    """
    write_airflow_password(settings)
    environ = child_environ(settings)
    log = settings.state_dir / "logs" / "airflow.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as out:
        migrate = [script("airflow"), "db", "migrate"]
        done = subprocess.run(migrate, env=environ, stdout=out, stderr=out, check=False)
    if done.returncode:
        raise SetupError(f"Airflow's database cannot be set up; {log} says why.")
    parts = (["api-server"], ["scheduler", "--skip-serve-logs"], ["dag-processor"])
    return Service("Airflow", [[script("airflow"), *part] for part in parts], environ, log)


def lock_state(settings: Settings) -> IO[str]:
    """Lock the state folder until this process ends, and return the open lock.

    Raises:
        SetupError: another process holds it; two Airflows would share one database.
    """
    settings.state_dir.mkdir(parents=True, exist_ok=True)
    handle = (settings.state_dir / "lock").open("a+")
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        handle.seek(0)
        with handle:
            owner = handle.read()
        raise SetupError(
            f"`./run demo`, `./run airflow` or `./run airflow-docker` is up already with "
            f"{settings.state_dir}: "
            f"{owner}. End it with Ctrl-C first, or use another folder: STATE_DIR=<folder>."
        ) from None
    handle.truncate(0)
    handle.write(
        f"Airflow at http://localhost:{settings.airflow_port}, lineage at "
        f"{settings.throughline_url}, process {os.getpid()}"
    )
    handle.flush()
    _locks.append(handle)  # a closed file would give the lock back
    return handle


_locks: list[IO[str]] = []


def claim(settings: Settings) -> None:
    """Make sure, before anything takes time, that everything is free to be used by this process.

    Raises:
        SetupError: the state folder, a port or a backend is not as it must be.
    """
    deliveries(settings)  # that a backend lacks a setting is told before anything is touched
    lock_state(settings)
    claim_data_source(settings)
    require_free_port(settings.airflow_port, "Airflow", "AIRFLOW_PORT")
    if is_embedded(settings):
        require_free_port(settings.throughline_port, "the lineage server", "THROUGHLINE_PORT")
    if lost := lineage_lost(settings):
        raise SetupError(lost)


def start_services(settings: Settings, services: list[Service], progress: Progress) -> Airflow:
    """Start Airflow, and before it the lineage server if lineage goes to it; add them to the list.

    Raises:
        SetupError: something is taken or missing, or one did not come up.
    """
    claim(settings)
    if is_embedded(settings):
        page_beside(settings.state_dir / "logs" / "page.log")
    with progress.stage("Java, jars (the first time from Maven Central), catalog"):
        prepare(settings)
    embedded = is_embedded(settings)
    with progress.stage("Lineage server and Airflow up" if embedded else "Airflow up"):
        if embedded:
            services.append(start_throughline(settings))
            services[0].wait_until(lambda: lineage_ready(settings), START_SECONDS)
        services.append(start_airflow(settings))
        return wait_for_airflow(settings, services[-1], progress.warn)


def wait_for_airflow(
    settings: Settings, service: Service, report: Callable[[str], None] = lambda line: None
) -> Airflow:
    """Wait until Airflow schedules and has loaded every DAG, end leftover runs, return its API.

    `report` receives one line for each retried call.

    Raises:
        SetupError: Airflow did not start, or a DAG file cannot be loaded.
    """
    url = f"http://localhost:{settings.airflow_port}"
    airflow = Airflow(url, service.check, report)
    service.wait_until(lambda: airflow.healthy(EVERY_DAG), START_SECONDS)
    if errors := airflow.import_errors():
        raise SetupError("Airflow cannot load every DAG: " + "\n".join(errors))
    _end_interrupted(airflow, service)
    return airflow


def _end_interrupted(airflow: Airflow, service: Service) -> None:
    """Fail the runs that were cut off when an earlier Airflow ended.

    Each DAG runs once at a time. Airflow would go on with the old run, with today's settings, and
    every new one would wait for it.
    """
    for dag in EVERY_DAG:
        for run in airflow.unfinished(dag):
            began = run["start_date"]
            if began and datetime.fromisoformat(began) < service.started:
                airflow.fail(dag, run["dag_run_id"], "Cut off when Airflow was stopped.")
