"""The project in Docker, and DataHub by its own quickstart.

Outside a container: `./run airflow-docker`, `datahub-docker` and their kin. Inside:
`python -m commands.docker` is the command of the Airflow container, so that Airflow's
environment has one source there and here.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn
from urllib.parse import urlsplit

import typer

from commands.environment import child_environ, script, write_airflow_password
from commands.processes import become
from commands.services import prepare
from lakehouse.errors import PipelineError, SettingsError, SetupError
from lakehouse.settings import REPOSITORY, Settings, load_settings

COMPOSE_FILE = REPOSITORY / "docker" / "compose.yaml"
PROJECT = "two-orchestrators-one-lineage"
SECRETS = ("POSTGRES_PASSWORD", "THROUGHLINE_API_KEY")

DATABASE_VARIABLE = "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"

DATAHUB_VERSION = "v1.7.0"
DATAHUB_PORT = 9002
"""Port of DataHub's page: throughline's default too, which moves to the next one beside it."""

HOST = "host.docker.internal"
"""This machine, as a container sees it."""
SERVERS = ("aws_endpoint_url", "datahub_url", "marquez_url", "openmetadata_url")
INSTALL = "https://docs.docker.com/engine/install/"


def airflow_docker(settings: Settings) -> NoReturn:
    """Build and start Airflow, the lineage server and PostgreSQL; Ctrl-C stops them.

    Raises:
        SetupError: there is no Docker engine or no Compose.
        SettingsError: a setting cannot hold in a container.
    """
    inside = in_container(settings)
    compose = find_compose()
    secrets_file = write_secrets(settings)
    typer.echo(f"Airflow  http://localhost:{inside.airflow_port}  (airflow / airflow)")
    typer.echo(f"Lineage  {inside.throughline_url}  (bearer token: {secrets_file})")
    if inside.throughline_port != settings.throughline_port:
        typer.echo(f"DataHub  http://localhost:{DATAHUB_PORT}  (if it runs: ./run datahub-docker)")
    arguments = ["--project-name", PROJECT, "--env-file", str(secrets_file)]
    arguments += ["--file", str(COMPOSE_FILE), "up", "--build"]
    # The first compose needs to be told to build as the second does.
    build = {"DOCKER_BUILDKIT": "1", "COMPOSE_DOCKER_CLI_BUILD": "1"}
    become([*compose, *arguments], {**os.environ, **inside.environ(), **build})


def in_container(settings: Settings) -> Settings:
    """The settings as they have to be for a container of this machine.

    Raises:
        SettingsError: the data is in a folder of this machine, which the container does not see.
    """
    source = settings.data_source
    if source not in ("generator", "real") and not source.startswith(("http://", "https://")):
        raise SettingsError(
            f"DATA_SOURCE is {source}, a folder that a container does not see; in Docker it can "
            "be `generator`, `real`, or a URL."
        )
    changed: dict[str, object] = {name: _seen_inside(getattr(settings, name)) for name in SERVERS}
    names = [name.strip() for name in settings.lineage_backend.split(",")]
    changed["lineage_backend"] = ",".join(_seen_inside(name) for name in names)
    changed["lineage_delivery"] = "direct"  # the lineage server's container has no deliver file
    if "datahub" in names and settings.throughline_port == DATAHUB_PORT:
        changed["throughline_port"] = DATAHUB_PORT + 1
    return settings.model_copy(update=changed)


def _seen_inside(url: str) -> str:
    """The URL with this machine's name inside a container in place of `localhost`."""
    host = urlsplit(url).hostname if "://" in url else None
    return url.replace(host, HOST, 1) if host in ("localhost", "127.0.0.1") else url


def write_secrets(settings: Settings) -> Path:
    """The file of the containers' secrets, each made once; only its owner can read it."""
    path = settings.state_dir / "docker.env"
    lines = path.read_text().splitlines() if path.exists() else []
    known = {line.partition("=")[0] for line in lines}
    lines += [f"{name}={secrets.token_hex(24)}" for name in SECRETS if name not in known]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    path.chmod(0o600)
    path.write_text("\n".join(lines) + "\n")
    return path


def find_compose() -> list[str]:
    """The command of Docker Compose, after asking whether an engine answers.

    Raises:
        SetupError: one of the two is missing; the message says what was looked for.
    """
    docker, old = shutil.which("docker"), shutil.which("docker-compose")
    if docker and not _failure([docker, "compose", "version"]):
        compose = [docker, "compose"]
    elif old:
        compose = [old]
    else:
        plugin = f"{docker} has no plugin `compose`" if docker else "no `docker` on the PATH"
        raise SetupError(
            f"Docker Compose is missing: {plugin}, and no `docker-compose` either. Install "
            f"Docker Desktop, or Docker Engine with its compose plugin: {INSTALL}"
        )
    if docker and (failure := _failure([docker, "version"])):
        raise SetupError(
            f"No Docker engine answers: {failure} Start Docker Desktop or the service "
            "(`systemctl start docker`), or point DOCKER_HOST at an engine."
        )
    return compose


def _failure(command: list[str]) -> str:
    """What the command complains about; empty if it succeeds."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 0:
        return ""
    lines = done.stderr.strip().splitlines() or [f"{' '.join(command)} failed."]
    return lines[-1]


def datahub_docker() -> NoReturn:
    """Start DataHub by its own quickstart.

    Raises:
        SetupError: there is no Docker engine, no Compose, or no DataHub command line.
    """
    find_compose()
    typer.echo(f"DataHub {DATAHUB_VERSION}: http://localhost:{DATAHUB_PORT}  (datahub / datahub)")
    typer.echo(
        f"The lineage server has to leave that port: THROUGHLINE_PORT={DATAHUB_PORT + 1} ./run ..."
    )
    _datahub("docker", "quickstart", "--version", DATAHUB_VERSION)


def datahub_docker_stop() -> NoReturn:
    """Stop DataHub and keep its data."""
    _datahub("docker", "quickstart", "--version", DATAHUB_VERSION, "--stop")


def datahub_docker_nuke(yes: bool) -> None:
    """Stop DataHub and delete its containers and all its data."""
    if not yes:
        if not sys.stdin.isatty():
            raise SetupError("There is no terminal to ask at: give --yes to delete DataHub's data.")
        if not typer.confirm("Delete DataHub's containers and all its data?"):
            typer.echo("Nothing was deleted.")
            return
    _datahub("docker", "nuke")


def _datahub(*arguments: str) -> NoReturn:
    if find_spec("datahub") is None:
        raise SetupError(
            "DataHub's command line is missing: `uv sync --group datahub --inexact` installs it; "
            "./run datahub-docker does so by itself."
        )
    find_compose()
    telemetry = {"DATAHUB_TELEMETRY_ENABLED": "false"}
    become([script("datahub"), *arguments], {**os.environ, **telemetry})


def airflow_environ(settings: Settings) -> dict[str, str]:
    """Airflow's environment in its container: that of every other, but reachable from outside."""
    return child_environ(settings) | {"AIRFLOW__API__HOST": "0.0.0.0"}


def serve_airflow() -> NoReturn:
    """The Airflow container: set up the volume, then become Airflow.

    Raises:
        SetupError: this is no such container; Airflow would be reachable from other machines.
    """
    if DATABASE_VARIABLE not in os.environ:
        raise SetupError(
            f"This is the command of the Airflow container, which {COMPOSE_FILE.name} gives "
            f"{DATABASE_VARIABLE}; it is not set here. On this machine it is `./run airflow`."
        )
    settings = load_settings()
    prepare(settings)
    write_airflow_password(settings)
    become([script("airflow"), "standalone"], airflow_environ(settings))


if __name__ == "__main__":
    try:
        serve_airflow()
    except PipelineError as error:
        sys.exit(f"{type(error).__name__}: {error}")
