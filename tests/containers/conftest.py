"""Run the stack of `./run airflow-docker` on a real engine and record the results."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil
import pytest
import yaml

from commands.airflow_api import Airflow
from commands.docker import COMPOSE_FILE, FOLDER, PROJECT, with_key
from commands.page import ensure_page
from commands.processes import Service
from commands.services import DAGS, TAXI_DAG, TRAIN_DAG, lineage_caught_up
from lakehouse.forecasts import FORECAST
from lakehouse.lineage_server import lineage_server
from lakehouse.settings import REPOSITORY, Settings, load_settings
from packages.headwater.tests.support.datahub_server import Store
from packages.headwater.tests.support.sinks import Sink, serving
from tests.conftest import SERIAL_GC, folder_of_many_files
from tests.containers.engine import Engine, bring_images, private_engine, why_not
from tests.infra.conftest import isolate, stand_in
from tests.pipeline.conftest import free_ports

__all__ = ["stand_in"]

USER_ID = 10001
"""The owner of the state folder; not root, which runs the tests."""
MONTH = "2025-05"
EVENT = {
    "eventType": "COMPLETE",
    "eventTime": "2026-01-01T00:00:00Z",
    "producer": "https://example.org/tests",
    "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
    "run": {"runId": "0197a0a0-0000-7000-8000-000000000001"},
    "job": {"namespace": "tests", "name": "a"},
}
PATIENT_SECONDS = 900


@dataclass
class Stack:
    """`./run airflow-docker` with a separate state folder."""

    engine: Engine
    settings: Settings
    log: Path
    environ: dict[str, str] = field(default_factory=dict)
    _service: Service | None = None
    _airflow: Airflow | None = None

    @property
    def service(self) -> Service:
        """The Compose process, which runs in the foreground."""
        assert self._service is not None
        return self._service

    @property
    def airflow(self) -> Airflow:
        """A client of the stack's Airflow."""
        assert self._airflow is not None
        return self._airflow

    @property
    def is_started(self) -> bool:
        """True if Compose runs."""
        return self._service is not None and psutil.pid_exists(self._service.pid)

    def run(self, *arguments: str) -> str:
        """Run a `./run` command that must succeed; return its output."""
        done = subprocess.run(
            [sys.executable, "-m", "commands", *arguments],
            cwd=REPOSITORY,
            env=os.environ | self.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    def start(self, *command: str) -> None:
        """Start the stack, and wait until Airflow schedules and has loaded every DAG."""
        program = [sys.executable, "-m", "commands", *command]
        environ = os.environ | self.environ | {"RUN_FROM": str(REPOSITORY)}
        self._service = Service(" ".join(command), [program], environ, self.log)
        url = f"http://localhost:{self.settings.airflow_port}"
        self._airflow = Airflow(url, self._service.check)
        self.wait_until(lambda: self.airflow.healthy(DAGS))

    def wait_until(self, condition: Callable[[], bool]) -> None:
        """Wait for a condition while Compose runs."""
        self.service.wait_until(condition, PATIENT_SECONDS)

    def stop(self) -> None:
        """Press Ctrl-C, and wait until Compose has stopped everything."""
        compose = psutil.Process(self.service.pid)
        os.killpg(compose.pid, signal.SIGINT)
        compose.wait(PATIENT_SECONDS)
        self.service.stop()

    def containers(self, template: str) -> dict[str, str]:
        """Return the value of a Go template for every container of the project, by service."""
        ids = self.engine.docker("ps", "--all", "--quiet").split()
        service = '{{index .Config.Labels "com.docker.compose.service"}}'
        lines = self.engine.docker("inspect", "--format", f"{service} {template}", *ids)
        return dict(line.split(" ", 1) for line in lines.splitlines())

    def tree(self) -> str:
        """Return the upstream tree of the forecasts, queried on this machine without a key."""
        self.wait_until(lambda: lineage_caught_up(with_key(self.settings)))
        return self.run("lineage", "tree", FORECAST.name)


@dataclass
class Story:
    """The recorded results of the stack, in order."""

    stack: Stack
    datahub: Store
    containers: dict[str, str] = field(default_factory=dict)
    health: dict[str, str] = field(default_factory=dict)
    import_errors: list[str] | None = None
    users: str = ""
    unauthorized: int = 0
    accepted: int = 0
    tree: str = ""
    tree_after_restart: str = ""
    exit_codes: dict[str, str] = field(default_factory=dict)
    infra: str = ""
    flow: str = ""
    tree_of_flow: str = ""
    left: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    """Start a private engine with the official images, or stand-ins for them."""
    if reason := why_not():
        pytest.skip(f"Docker was not tested: {reason}")
    ensure_page()  # the image contains the built page
    with (
        folder_of_many_files("docker-engine-") as work,
        private_engine(work / "engine") as engine,
    ):
        bring_images(engine, *official_images(), work)
        yield engine


def official_images() -> tuple[str, str]:
    """Return the images of Python and of PostgreSQL that the project names."""
    first, base = (FOLDER / "Dockerfile").read_text().split("ARG PYTHON=")[1].split("\nFROM ")[:2]
    python = base.split()[0].replace("${PYTHON}", first.strip())
    return python, yaml.safe_load(COMPOSE_FILE.read_text())["services"]["postgres"]["image"]


@pytest.fixture(scope="module")
def story(engine: Engine, stand_in: str, tmp_path_factory: pytest.TempPathFactory) -> Story:
    """Run and stop the stack, then start it again with DataHub for the walkthrough."""
    return record(engine, stand_in, tmp_path_factory.mktemp("docker"))


def record(engine: Engine, aws: str, folder: Path) -> Story:
    """Run all steps once; `aws` is the URL of the AWS stand-in."""
    state = folder / "state"
    state.mkdir()
    os.chown(state, USER_ID, USER_ID)
    port = free_ports(4)
    settings = load_settings(
        state_dir=state,
        airflow_port=port,
        headwater_port=port + 3,
        generator_rows=5_000,
        # No class archives: creating them takes longer than the few jobs here save.
        spark_java_options=f"-XX:TieredStopAtLevel=1 {SERIAL_GC} -Xshare:off",
    )
    stack = Stack(engine, settings, folder / "compose.log", engine.environ | settings.environ())
    record = Story(stack, Store())
    try:
        _use(record)
        _stop(record)
        with serving(Sink(record.datahub.answer), host=engine.gateway) as datahub:
            _walk_through(record, aws, datahub)
    finally:
        if stack.is_started:
            stack.stop()
        record.left = _clean_up(stack)
    return record


def _use(record: Story) -> None:
    """Ingest taxi trips through Airflow's API, which triggers the training."""
    stack = record.stack
    stack.start("airflow-docker")
    record.containers = stack.containers("{{.Config.Image}}")
    airflow = stack.containers("{{.Id}}")["airflow"]
    command = ("sh", "-c", "id -u; echo $SSL_CERT_FILE")
    record.users = stack.engine.docker("exec", airflow, *command)
    for dag in (TAXI_DAG, TRAIN_DAG):
        stack.airflow.unpause(dag)
    ingest = _ingest(stack)
    stack.wait_until(lambda: bool(stack.airflow.triggered_by(TRAIN_DAG, ingest)))
    stack.wait_until(lambda: not stack.airflow.unfinished(TRAIN_DAG))
    record.health = stack.containers("{{.State.Health.Status}}")
    record.import_errors = stack.airflow.import_errors()
    url = f"http://localhost:{stack.settings.headwater_port}"
    record.unauthorized = httpx.get(f"{url}/api/v2/runs", timeout=60).status_code
    with lineage_server(with_key(stack.settings), timeout=60) as server:
        record.accepted = server.post("/api/v1/lineage", json=EVENT).status_code
    record.tree = stack.tree()


def _ingest(stack: Stack) -> str:
    """Ingest a month of taxi trips, and return the run."""
    run = stack.airflow.trigger(TAXI_DAG, {"months": [MONTH]})
    stack.wait_until(lambda: stack.airflow.run_state(TAXI_DAG, run) in ("success", "failed"))
    assert stack.airflow.run_state(TAXI_DAG, run) == "success"
    return run


def _stop(record: Story) -> None:
    record.stack.stop()
    record.exit_codes = record.stack.containers("{{.State.ExitCode}}")


def _walk_through(record: Story, aws: str, datahub: Sink) -> None:
    """Follow docs/learn/walkthrough.md; DataHub and AWS are stand-ins."""
    stack = record.stack
    with pytest.MonkeyPatch.context() as patch:
        isolate(patch, stack.settings.state_dir)
        patch.setenv("AWS_ENDPOINT_URL", aws)
        record.infra = stack.run("create-infra", "--yes")
    stack.environ |= {"DATAHUB_URL": datahub.url}
    stack.start("airflow-docker-datahub")
    record.tree_after_restart = stack.tree()
    _ingest(stack)  # the month is loaded already
    record.flow = stack.run("training-flow-datahub", "run")

    def is_delivered() -> bool:
        with datahub.changed:
            return "TrainForecastModelFlow.write_forecasts_to_table" in record.datahub.edges()

    stack.wait_until(is_delivered)
    record.tree_of_flow = stack.tree()


def _clean_up(stack: Stack) -> list[str]:
    """Delete everything as described in docker/README.md; return what remains."""
    files = [word for file in sorted(FOLDER.glob("*.yaml")) for word in ("--file", str(file))]
    secrets = str(stack.settings.state_dir / "docker.env")
    subprocess.run(
        ["docker-compose", "--project-name", PROJECT, "--env-file", secrets, *files, "down"]
        + ["--volumes", "--remove-orphans"],
        env=os.environ | stack.environ,
        check=False,
    )
    docker = stack.engine.docker
    label = f"label=com.docker.compose.project={PROJECT}"
    subprocess.run(["docker", "image", "rm", PROJECT], env=os.environ | stack.environ, check=False)
    return [
        *docker("ps", "--all", "--quiet").split(),
        *docker("volume", "ls", "--quiet").split(),
        *docker("network", "ls", "--quiet", "--filter", label).split(),
        *docker("image", "ls", "--quiet", PROJECT).split(),
    ]
