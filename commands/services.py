"""Start Airflow and the lineage server, and check their state."""

from __future__ import annotations

import fcntl
import os
import subprocess
from collections.abc import Callable
from datetime import datetime
from typing import IO, Any

import httpx
import yaml

from commands.airflow_api import Airflow
from commands.environment import addresses, child_environ, script, write_airflow_password
from commands.page import page_beside
from commands.processes import Service, require_free_ports
from commands.progress import Progress
from lakehouse.aws_profile import use_profile
from lakehouse.backends import deliveries, is_embedded, is_on, unanswered
from lakehouse.catalog import open_catalog
from lakehouse.errors import SetupError
from lakehouse.lineage_server import lineage_server
from lakehouse.names import DATABASE
from lakehouse.settings import REPOSITORY, Settings
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
"""Time limit for the start of a service on an overloaded machine."""


def lost_lineage_warning(settings: Settings) -> str:
    """Return a warning if a selected backend does not respond; empty if all do."""
    silent = unanswered(settings)
    if not silent:
        return ""
    return (
        f"The lineage backend at {' and '.join(silent)} does not respond "
        f"(LINEAGE_BACKEND={settings.lineage_backend}), so lineage would be lost. Start it, use "
        "another URL (docs/how-to/backends.md), or set LINEAGE_DELIVERY=collector and run a "
        "lineage server (`./run demo`, `./run airflow` or `./run lineage serve`), which delivers "
        "later."
    )


def prepare(settings: Settings) -> None:
    """Set up Java, jars, class archive and catalog, so that parallel tasks do not do it."""
    java_home(settings)
    jars(settings)
    ensure_archive(settings)
    settings.spool_dir.mkdir(parents=True, exist_ok=True)
    catalog = open_catalog(settings)
    if not catalog.namespace_exists(DATABASE):  # on AWS, create-infra creates it
        catalog.create_namespace(DATABASE)


def claim_data_source(settings: Settings) -> None:
    """Bind the state folder to one data source, so that real and generated rides do not mix.

    Raises:
        SetupError: the folder contains data from another source.
    """
    path = settings.state_dir / "data_source"
    source = f"{settings.taxi_url} {settings.weather_url}"
    previous = path.read_text() if path.exists() else source
    if previous != source:
        raise SetupError(
            f"{settings.state_dir} contains data {_describe_source(previous)}, but this command "
            f"uses data {_describe_source(source)}; they must not be mixed. Choose another folder "
            "with STATE_DIR=<folder>, or delete this one."
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source)


def _describe_source(source: str) -> str:
    generated = all("/generated/" in url for url in source.split())
    return "from the generator" if generated else f"from {source.replace(' ', ' and ')}"


def start_headwater(settings: Settings) -> Service:
    """Start the lineage server, which reads this machine's spool; wait with `lineage_ready`."""
    environ = child_environ(settings) | headwater_environ(settings) | deliver_environ(settings)
    log = settings.state_dir / "logs" / "headwater.log"
    return Service("The lineage server", [[script("headwater"), "serve"]], environ, log)


def headwater_environ(settings: Settings) -> dict[str, str]:
    """Return the environment of `headwater serve` for this project."""
    key = settings.headwater_api_key.get_secret_value()
    return {
        **frame_environ(settings),
        "HEADWATER_HOST": "127.0.0.1",
        "HEADWATER_PORT": str(settings.headwater_port),
        "HEADWATER_DATABASE": f"sqlite:///{settings.lineage_database}",
        "HEADWATER_SPOOL": str(settings.spool_dir),
        "HEADWATER_ALERTS": os.environ.get("HEADWATER_ALERTS", str(REPOSITORY / "alerts.yaml")),
        "HEADWATER_HARVESTS": str(settings.state_dir / "harvests"),
        "HEADWATER_PROGRAM": "./run lineage",
        **({"HEADWATER_API_KEY": key} if key else {}),
    }


def frame_environ(settings: Settings) -> dict[str, str]:
    """Return the origins that may show the page in a frame; by default those of Airflow."""
    origins = (f"http://{name}:{settings.airflow_port}" for name in ("localhost", "127.0.0.1"))
    variable = "HEADWATER_FRAME_ORIGINS"
    return {variable: os.environ.get(variable, " ".join(origins))}


def deliver_environ(settings: Settings) -> dict[str, str]:
    """Write the deliver file for remote backends; return the environment that refers to it.

    Raises:
        SettingsError: a backend lacks a setting.
    """
    backends = deliveries(settings)
    if not backends:
        return {}
    file = settings.state_dir / "deliver.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    head = "# Generated from LINEAGE_BACKEND by each ./run that delivers lineage.\n"
    file.write_text(head + yaml.safe_dump({"backends": backends}, sort_keys=False))
    names = [str(backend["api_key_env"]) for backend in backends if "api_key_env" in backend]
    keys = {name: getattr(settings, name.lower()).get_secret_value() for name in names}
    return {"HEADWATER_DELIVER": str(file), **keys}


def command_line_environ(settings: Settings) -> dict[str, str]:
    """Return the environment of headwater's command line as `./run lineage` starts it.

    Variables of headwater that are not settings of this project override its defaults.

    Raises:
        SettingsError: a backend lacks a setting.
    """
    own = {
        **headwater_environ(settings),
        **deliver_environ(settings),
        "HEADWATER_URL": settings.headwater_url,
        "HEADWATER_START_HINT": "./run lineage serve",
    }
    setting_names = {"AWS_REGION": "aws_region", "OPENLINEAGE_NAMESPACE": "job_namespace"}
    resolved = {
        variable: str(getattr(settings, name))
        for variable, name in setting_names.items()
        if name in settings.model_fields_set
    }
    resolved |= {name: own[name] for name in own if name.lower() in Settings.model_fields}
    resolved |= {} if is_on(settings) else {"OPENLINEAGE_DISABLED": "true"}
    environ = {**own, **os.environ, **resolved}
    use_profile(settings, environ)
    return environ


def _query(settings: Settings, path: str) -> Any:
    """Return the lineage server's response; None without a usable one."""
    try:
        with lineage_server(settings, timeout=5) as server:
            return server.get(path).raise_for_status().json()
    except (httpx.HTTPError, ValueError):
        return None


def lineage_ready(settings: Settings) -> bool:
    """Return True if the lineage server responds."""
    return _query(settings, "/healthz") is not None


def lineage_caught_up(settings: Settings) -> bool:
    """Return True if the lineage server has ingested the whole spool."""
    health = _query(settings, "/healthz") or {}
    return bool(health.get("spool", {}).get("lagBytes") == 0)


def delivers(settings: Settings) -> bool:
    """Return True if a lineage server runs that delivers to all remote backends."""
    return _delivery_names(settings) <= _delivery_statuses(settings).keys()


def lineage_delivered(settings: Settings) -> bool:
    """Return True if each remote backend has received all events or is failing."""
    statuses = _delivery_statuses(settings)
    return all(
        name in statuses and (statuses[name]["lag"] == 0 or statuses[name]["isFailing"])
        for name in _delivery_names(settings)
    )


def _delivery_names(settings: Settings) -> set[str]:
    return {str(backend["name"]) for backend in deliveries(settings)}


def _delivery_statuses(settings: Settings) -> dict[str, dict[str, Any]]:
    """Return the delivery status of each backend by name; empty if no server responds."""
    answer = _query(settings, "/api/v2/deliver") or ()
    return {status["backend"]: status for status in answer}


def start_airflow(settings: Settings) -> Service:
    """Start Airflow with scheduler, API and UI; wait with `wait_for_airflow`.

    It does not use `airflow standalone`, because that also starts an unnecessary triggerer and two
    log servers that listen on all addresses.
    """
    write_airflow_password(settings)
    environ = child_environ(settings)
    log = settings.state_dir / "logs" / "airflow.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as out:
        migrate = [script("airflow"), "db", "migrate"]
        done = subprocess.run(migrate, env=environ, stdout=out, stderr=out, check=False)
    if done.returncode:
        raise SetupError(
            f"`airflow db migrate` failed with exit code {done.returncode}. The reason is in {log}."
        )
    parts = (["api-server"], ["scheduler", "--skip-serve-logs"], ["dag-processor"])
    return Service("Airflow", [[script("airflow"), *part] for part in parts], environ, log)


def lock_state(settings: Settings) -> IO[str]:
    """Lock the state folder until this process ends, and return the open lock.

    Raises:
        SetupError: another process uses it; two Airflows would share one database.
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
            f"`./run demo`, `./run airflow` or `./run airflow-docker` already uses "
            f"{settings.state_dir}: "
            f"{owner}. Stop it with Ctrl-C, or use another folder with STATE_DIR=<folder>."
        ) from None
    handle.truncate(0)
    handle.write(
        f"Airflow at http://localhost:{settings.airflow_port}, lineage at "
        f"{settings.headwater_url}, process {os.getpid()}"
    )
    handle.flush()
    _locks.append(handle)  # closing the file would release the lock
    return handle


_locks: list[IO[str]] = []


def claim(settings: Settings) -> None:
    """Check at the start that the state folder, the ports and the backends can be used.

    Raises:
        SetupError: the state folder or a port is in use, or a backend does not respond.
    """
    deliveries(settings)  # raises if a backend lacks a setting
    lock_state(settings)
    claim_data_source(settings)
    ports = [(settings.airflow_port, "Airflow", "AIRFLOW_PORT")]
    if is_embedded(settings):
        ports.append((settings.headwater_port, "the lineage server", "HEADWATER_PORT"))
    require_free_ports(ports)
    if warning := lost_lineage_warning(settings):
        raise SetupError(warning)


def start_services(settings: Settings, services: list[Service], progress: Progress) -> Airflow:
    """Start the lineage server, if it is used, and Airflow; add them to `services`.

    Print the address of each as soon as it responds.

    Raises:
        SetupError: a requirement is missing or in use, or a service does not start.
    """
    claim(settings)
    if is_embedded(settings):
        page_beside(settings.state_dir / "logs" / "page.log")
        with progress.stage("Lineage server"):
            services.append(start_headwater(settings))
            services[0].wait_until(lambda: lineage_ready(settings), START_SECONDS)
    where = addresses(settings)
    progress.say(f"Lineage  {where['Lineage']}")
    with progress.stage("Java, jars and class archive (set up the first time), catalog"):
        prepare(settings)
    with progress.stage("Airflow"):
        services.append(start_airflow(settings))
        airflow = wait_for_airflow(settings, services[-1], progress.warn)
    progress.say(f"Airflow  {where['Airflow']}")
    return airflow


def wait_for_airflow(
    settings: Settings, service: Service, report: Callable[[str], None] = lambda line: None
) -> Airflow:
    """Wait until Airflow runs with all DAGs, fail interrupted runs, and return a client.

    `report` receives one line for each retried call.

    Raises:
        SetupError: Airflow did not start, or a DAG file cannot be loaded.
    """
    url = f"http://localhost:{settings.airflow_port}"
    airflow = Airflow(url, service.check, report)
    service.wait_until(lambda: airflow.healthy(EVERY_DAG), START_SECONDS)
    if errors := airflow.import_errors():
        listed = "\n".join(errors)
        raise SetupError(f"Airflow cannot load every DAG. Correct these files:\n{listed}")
    _end_interrupted(airflow, service)
    return airflow


def _end_interrupted(airflow: Airflow, service: Service) -> None:
    """Fail the runs that were interrupted when an earlier Airflow stopped.

    Each DAG has at most one active run. Airflow would otherwise continue the old run with the
    current settings, and new runs would wait for it.
    """
    for dag in EVERY_DAG:
        for run in airflow.unfinished(dag):
            began = run["start_date"]
            if began and datetime.fromisoformat(began) < service.started:
                airflow.fail(dag, run["dag_run_id"], "Interrupted when Airflow was stopped.")
