"""Real flows, run as subprocesses; their events are read from files."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

FLOWS = Path(__file__).parent / "flows"
Event = dict[str, Any]


@dataclass
class Launch:
    """A finished launch of a flow."""

    process: subprocess.CompletedProcess[str]
    folder: Path

    def __post_init__(self) -> None:
        self.read()

    def read(self) -> None:
        """Read the events that have been written completely so far."""
        lines = [line for file in self.folder.iterdir() for line in _complete_lines(file)]
        self.events: list[Event] = sorted(map(json.loads, lines), key=itemgetter("eventTime"))

    def await_end(self, job: str) -> None:
        """Wait for a task that outlives its launcher."""
        for _ in range(6_000):
            self.read()
            if self.ends(job):
                return
            time.sleep(0.1)  # between two polls of the events
        raise TimeoutError(f"{job} did not end: {self.events}")

    def of(self, job: str, *states: str) -> list[Event]:
        """Return the events of one job, optionally only in some states."""
        found = [event for event in self.events if event["job"]["name"] == job]
        return [event for event in found if not states or event["eventType"] in states]

    def one(self, job: str, state: str) -> Event:
        """Return the only event of a job in some states."""
        (event,) = self.of(job, state)
        return event

    def ends(self, job: str) -> list[str]:
        """Return the end states of a job's runs."""
        return sorted(event["eventType"] for event in self.of(job) if event["eventType"] != "START")


def _complete_lines(file: Path) -> list[bytes]:
    """Return the lines that end with a newline; a task may still be writing the rest."""
    return file.read_bytes().split(b"\n")[:-1]


class Metaflow:
    """A separate Metaflow installation in which flows run."""

    def __init__(self, home: Path, python: str = sys.executable) -> None:
        self.home = home
        self.python = python
        self.launches: list[Launch] = []

    def run(self, flow: Path, *args: str, **environ: str) -> Launch:
        """Run a flow until it ends, successfully or not."""
        folder = self.home / f"events-{len(self.launches)}"
        folder.mkdir()
        transport = {"type": "folder_transport.FolderTransport", "folder": str(folder)}
        inherited = {k: v for k, v in os.environ.items() if "OPENLINEAGE" not in k}
        if "OPENLINEAGE_URL" not in environ:
            inherited["OPENLINEAGE__TRANSPORT"] = json.dumps(transport)
            # On a busy machine, writing an event may take longer than a flow waits by default.
            inherited["METAFLOW_OPENLINEAGE_TIMEOUT"] = "60"
        process = subprocess.run(
            [self.python, str(flow), *(args or ("run",))],
            env={
                **inherited,
                "METAFLOW_HOME": str(self.home / "home"),
                "METAFLOW_DATASTORE_SYSROOT_LOCAL": str(self.home / "store"),
                "METAFLOW_CARD_LOCALROOT": str(self.home / "cards"),
                "METAFLOW_USER": "tester",
                "PYTHONPATH": str(FLOWS),
                "OPENLINEAGE_NAMESPACE": "tests",
                **environ,
            },
            cwd=self.home,
            capture_output=True,
            text=True,
            check=False,
            timeout=600,  # ends only flows that hang
            start_new_session=True,
            preexec_fn=_ctrl_c_works,
        )
        self.launches.append(Launch(process, folder))
        return self.launches[-1]

    def small(self, trouble: str = "", *args: str, **environ: str) -> Launch:
        """Run SmallFlow, which fails as requested."""
        return self.run(FLOWS / "small.py", *args, SMALL_TROUBLE=trouble, **environ)


def _ctrl_c_works() -> None:
    """Restore SIGINT, which processes ignore if a shell starts pytest in the background."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def metaflow(tmp_path_factory: pytest.TempPathFactory) -> Metaflow:
    return Metaflow(tmp_path_factory.mktemp("metaflow"))


def repository(flow: Path, folder: Path) -> Path:
    """Return the path of a flow in a new git repository."""
    file = folder / "flows" / flow.name
    file.parent.mkdir(parents=True)
    file.write_text(flow.read_text())
    remote = "https://user:pa55@example.org/team/flows.git"
    for command in (
        "init -q -b main",
        f"remote add origin {remote}",
        "add .",
        "-c user.name=t -c user.email=t@example.org commit -q -m flow",
    ):
        subprocess.run(["git", *command.split()], cwd=folder, check=True)
    return file


@pytest.fixture(scope="session")
def shapes(metaflow: Metaflow, tmp_path_factory: pytest.TempPathFactory) -> Launch:
    """Return a launch of ShapesFlow in a git repository, started by an Airflow task."""
    run = "01a1fd4a-49ef-7259-9396-ffb99203fb3f"
    return metaflow.run(
        repository(FLOWS / "shapes.py", tmp_path_factory.mktemp("repository")),
        "run",
        *("--tag", "team:forecast", "--tag", "api_token=do-not-show", "--tag", "nightly"),
        *("--tag", "store:postgresql://me:pw1@host/db"),
        OPENLINEAGE_PARENT_ID=f"https://airflow.example/a/dag.launch/{run}",
        OPENLINEAGE_ROOT_PARENT_ID=f"https://airflow.example/a/dag/{run.replace('01a1', '01a0')}",
        METAFLOW_OPENLINEAGE_NOMINAL_TIME="2026-11-01T00:00:00+00:00",
    )


def resume(metaflow: Metaflow, launch: Launch, trouble: str, **environ: str) -> Launch:
    """Resume a failed launch of SmallFlow."""
    origin = re.search(r"run-id (\d+)", launch.process.stdout)
    assert origin, launch.process.stderr
    return metaflow.small(trouble, "resume", "--origin-run-id", origin[1], **environ)


@pytest.fixture(scope="session")
def resumed(metaflow: Metaflow) -> list[Launch]:
    """Return launches of SmallFlow: failed in train, resumed until end, resumed and completed."""
    launches = [metaflow.small("train:raise")]
    for trouble in ("end:raise", ""):
        launches.append(resume(metaflow, launches[-1], trouble))
    return launches


@pytest.fixture(scope="session")
def served(metaflow: Metaflow) -> Iterator[list[Launch]]:
    """Return launches of SmallFlow with a metadata service: killed in train, then resumed."""
    command = [sys.executable, str(Path(__file__).parent / "metadata_service.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as service:
        assert service.stdout
        url = service.stdout.readline().strip()
        environ = {"METAFLOW_DEFAULT_METADATA": "service", "METAFLOW_SERVICE_URL": url}
        killed = metaflow.small("train:kill", **environ)
        yield [killed, resume(metaflow, killed, "", **environ)]
        service.terminate()


@pytest.fixture(scope="session")
def troubled(metaflow: Metaflow) -> dict[str, Launch]:
    """Return a launch of SmallFlow for each kind of failure."""
    kinds = ("unpicklable", "kill", "exit", "terminate-launcher", "ctrl-c", "kill-launcher")
    launches = {kind: metaflow.small(f"train:{kind}") for kind in kinds}
    launches["kill-launcher"].await_end("SmallFlow.train")
    timeout = ("run", "--with", "timeout:seconds=2")
    return launches | {"timeout": metaflow.small("train:hang", *timeout)}


@pytest.fixture(scope="session")
def nested(metaflow: Metaflow) -> Launch:
    """Return a launch of NestedFlow, a foreach within a foreach."""
    return metaflow.run(FLOWS / "nested.py")
