"""What runs in the containers: `python -m commands.containers airflow` or `lineage`.

So Airflow's environment, and what is delivered where, have one source there and on this machine.
"""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from commands.environment import child_environ, script, write_airflow_password
from commands.processes import become
from commands.services import deliver_environ, prepare
from lakehouse.errors import PipelineError, SetupError
from lakehouse.settings import Settings, load_settings

DATABASES = {
    "airflow": "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN",
    "lineage": "THROUGHLINE_DATABASE",
}
"""The variable that compose.yaml gives the container of each."""
ELSEWHERE = {"airflow": "./run airflow", "lineage": "./run lineage serve"}


def serve(container: str) -> NoReturn:
    """Become what a container runs: set up its volume, then start its server.

    Raises:
        SetupError: this is no such container; it would be reachable from other machines.
    """
    if container not in DATABASES:
        raise SetupError(f"There is no container {container!r}: {' or '.join(DATABASES)}.")
    if DATABASES[container] not in os.environ:
        raise SetupError(
            f"This is the command of the {container} container, which compose.yaml gives "
            f"{DATABASES[container]}; it is not set here. On this machine it is "
            f"`{ELSEWHERE[container]}`."
        )
    settings = load_settings()
    if container == "lineage":
        become([script("throughline"), "serve"], lineage_environ(settings))
    prepare(settings)
    write_airflow_password(settings)
    become([script("airflow"), "standalone"], airflow_environ(settings))


def airflow_environ(settings: Settings) -> dict[str, str]:
    """Airflow's environment in its container: that of every other, but reachable from outside."""
    return child_environ(settings) | {"AIRFLOW__API__HOST": "0.0.0.0"}


def lineage_environ(settings: Settings) -> dict[str, str]:
    """The lineage server's environment: what compose.yaml says, and what it delivers where."""
    return dict(os.environ) | deliver_environ(settings)


if __name__ == "__main__":
    try:
        serve(" ".join(sys.argv[1:]))
    except PipelineError as error:
        sys.exit(f"{type(error).__name__}: {error}")
