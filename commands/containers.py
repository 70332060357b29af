"""Entry point of the containers: `python -m commands.containers airflow` or `lineage`.

It uses the same code for Airflow's environment and for deliveries as `./run` on this machine.
"""

from __future__ import annotations

import os
import sys
from typing import NoReturn
from urllib.parse import urlsplit

import psycopg
from psycopg.sql import SQL, Identifier

from commands.environment import child_environ, script, write_airflow_password
from commands.processes import become
from commands.services import deliver_environ, prepare
from lakehouse.errors import PipelineError, SetupError
from lakehouse.settings import Settings, load_settings

DATABASES = {
    "airflow": "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN",
    "lineage": "HEADWATER_DATABASE",
}
"""The variable that compose.yaml sets in each container."""
HOST_COMMANDS = {"airflow": "./run airflow", "lineage": "./run lineage serve"}


def serve(container: str) -> NoReturn:
    """Set up the container's volume, then replace this process by its server.

    Raises:
        SetupError: this is not such a container; the server would be reachable from other machines.
    """
    if container not in DATABASES:
        raise SetupError(f"There is no container {container!r}. Use {' or '.join(DATABASES)}.")
    if DATABASES[container] not in os.environ:
        raise SetupError(
            f"This command only works in the {container} container, where compose.yaml sets "
            f"{DATABASES[container]}. It is not set here. On this machine, use "
            f"`{HOST_COMMANDS[container]}`."
        )
    settings = load_settings()
    if container == "lineage":
        create_database(os.environ[DATABASES[container]])
        become([script("headwater"), "serve"], lineage_environ(settings))
    prepare(settings)
    write_airflow_password(settings)
    become([script("airflow"), "standalone"], airflow_environ(settings))


def create_database(url: str, server_database: str = "airflow") -> None:
    """Create the lineage server's PostgreSQL database if it is missing.

    A database with the server's old name is renamed instead. `server_database` is the database that
    the image of PostgreSQL creates.
    """
    parts = urlsplit(url.replace("postgresql+psycopg", "postgresql", 1))
    name, server = parts.path.removeprefix("/"), parts._replace(path=f"/{server_database}")
    with psycopg.connect(server.geturl(), autocommit=True) as connection:
        existing = {row[0] for row in connection.execute("SELECT datname FROM pg_database")}
        if name in existing:
            return
        if (former := name.replace("headwater", "throughline")) in existing:
            command = SQL("ALTER DATABASE {} RENAME TO {}").format(
                Identifier(former), Identifier(name)
            )
        else:
            command = SQL("CREATE DATABASE {}").format(Identifier(name))
        connection.execute(command)


def airflow_environ(settings: Settings) -> dict[str, str]:
    """Return Airflow's environment in its container, where it listens on all addresses."""
    return child_environ(settings) | {"AIRFLOW__API__HOST": "0.0.0.0"}


def lineage_environ(settings: Settings) -> dict[str, str]:
    """Return the lineage server's environment: compose.yaml's variables and the deliveries."""
    return dict(os.environ) | deliver_environ(settings)


if __name__ == "__main__":
    try:
        serve(" ".join(sys.argv[1:]))
    except PipelineError as error:
        sys.exit(f"Error: {error}")
