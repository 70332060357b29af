"""Fixtures: an environment without an AWS account, and a stand-in for DataZone."""

from __future__ import annotations

import itertools
import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any, TypeVar
from urllib.request import Request, urlopen

import pytest

from headwater_aws.datazone import DataZone, DataZoneSettings
from infra.proxy_local.datazone import DataZoneServer

Event = Callable[..., dict[str, Any]]
Make = Callable[..., tuple[DataZone, DataZoneServer]]

Listening = TypeVar("Listening", bound=ThreadingHTTPServer)

DOMAIN = "dzd_stand-in"
ACCOUNT = "111122223333"


@pytest.fixture(autouse=True)
def aws_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set fake credentials and remove the AWS settings of this machine."""
    for name in os.environ:
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    for name, value in {
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": "http://127.0.0.1:9",  # refuses every request
    }.items():
        monkeypatch.setenv(name, value)


def _event(run: str, number: int = 0, *, parent: str = "", **more: Any) -> dict[str, Any]:
    job = {"namespace": "demo", "name": "load"}
    facets = {"parent": {"run": {"runId": parent}, "job": job}} if parent else {}
    return {
        "eventType": "RUNNING",
        "eventTime": f"2026-11-21T08:{number // 60 % 60:02}:{number % 60:02}.{number:06}Z",
        "producer": "https://example.org/tests",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": run, "facets": facets},
        "job": job,
        "inputs": [],
        "outputs": [],
        **more,
    }


@pytest.fixture(scope="session")
def event() -> Event:
    """Return a function that creates run events with the given number."""
    return _event


@contextmanager
def _serving(server: Listening) -> Iterator[Listening]:
    """Run a stand-in."""
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def serve() -> Callable[..., Any]:
    """Return a function that runs a stand-in during a `with` block."""
    return _serving


@pytest.fixture
def written(capsys: pytest.CaptureFixture[str]) -> Callable[[], tuple[Any, Any]]:
    """Return a function that returns the handlers' new stdout, as CloudWatch reads it.

    Handler, name and value of each metric in the embedded format, and the other lines.
    """

    def read() -> tuple[list[tuple[str, str, float]], list[dict[str, Any]]]:
        metrics, lines = [], []
        for line in map(json.loads, capsys.readouterr().out.splitlines()):
            if "_aws" not in line:
                lines.append(line)
                continue
            assert isinstance(line["_aws"]["Timestamp"], int)
            (directive,) = line["_aws"]["CloudWatchMetrics"]
            assert directive["Namespace"] == "OpenLineageProxy"
            assert directive["Dimensions"] == [["Handler"]]
            for metric in directive["Metrics"]:
                assert metric["Unit"] == "Count"
                metrics.append((line["Handler"], metric["Name"], line[metric["Name"]]))
        return metrics, lines

    return read


_SETTINGS = DataZoneSettings(name="datazone", domain_id=DOMAIN, account=ACCOUNT)


@pytest.fixture
def make_datazone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """Return a function that creates a backend and its server with the given responses."""
    with ExitStack() as opened:

        def make(
            answer: Callable[[Any], int] = lambda _: 200, **more: Any
        ) -> tuple[DataZone, DataZoneServer]:
            server = opened.enter_context(_serving(DataZoneServer(0, answer, **more)))
            monkeypatch.setenv("AWS_ENDPOINT_URL_DATAZONE", server.url)
            backend = opened.enter_context(closing(DataZone(_SETTINGS)))
            return backend, server

        yield make


@pytest.fixture(scope="session")
def _moto() -> Iterator[str]:
    """Yield the URL of moto's server."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def aws(_moto: str, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """Return a function that creates clients of an empty AWS account in moto."""
    import boto3

    with urlopen(Request(f"{_moto}/moto-api/reset", method="POST"), timeout=20):
        pass
    monkeypatch.setenv("AWS_ENDPOINT_URL", _moto)
    return lambda service: boto3.client(service)  # type: ignore[call-overload]


@pytest.fixture
def harvest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Any]:
    """Return a function that runs `headwater harvest` on the test's log."""
    from headwater.cli import main

    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data-home"))

    def run(*arguments: str, database: str = "log.db", code: int = 0) -> Any:
        where = ["--database", str(tmp_path / database)]
        monkeypatch.setattr("sys.argv", ["headwater", "harvest", *arguments, *where])
        found = 0
        try:
            main()
        except SystemExit as end:
            found = int(end.code or 0)
        output = capsys.readouterr()
        assert found == code, output
        return output

    return run


class KilledError(BaseException):
    """Raised to simulate the end of a process."""


@pytest.fixture
def kill_at(monkeypatch: pytest.MonkeyPatch) -> Callable[..., type[BaseException]]:
    """Return a function that makes the nth call of an operation raise, and returns the exception.

    All calls of the operation get the arguments `more`.
    """
    from botocore.client import BaseClient

    call: Any = BaseClient._make_api_call  # type: ignore[attr-defined]

    def kill(operation: str, nth: int, **more: Any) -> type[BaseException]:
        numbers = itertools.count(1)

        def counted(client: Any, name: str, arguments: dict[str, Any]) -> Any:
            if name != operation:
                return call(client, name, arguments)
            if next(numbers) == nth:
                raise KilledError
            return call(client, name, arguments | more)

        monkeypatch.setattr(BaseClient, "_make_api_call", counted)
        return KilledError

    return kill


@pytest.fixture
def harvested(tmp_path: Path) -> Callable[..., list[dict[str, Any]]]:
    """Return the events of the test's log, validated against OpenLineage's schemas."""
    import orjson

    from headwater.log import EventLog

    def read(database: str = "log.db") -> list[dict[str, Any]]:
        with closing(EventLog(str(tmp_path / database), must_exist=True)) as log:
            bodies = [orjson.loads(body) for _, body in log.read()]
        for body in bodies:
            _check(body)
        return bodies

    return read


def _check(body: dict[str, Any]) -> None:
    """Validate an event and its facets, if the schemas are available."""
    import orjson
    from jsonschema import Draft202012Validator, FormatChecker
    from referencing import Registry, Resource

    spec = Path(__file__).resolve().parents[4] / "shared" / "spec"
    if not spec.is_dir():
        return
    schemas = [orjson.loads(path.read_bytes()) for path in spec.rglob("*.json")]
    registry: Any = Registry().with_resources(
        (schema["$id"], Resource.from_contents(schema)) for schema in schemas if "$id" in schema
    )

    def valid(url: str, value: Any) -> None:
        validator = Draft202012Validator(
            {"$ref": url}, registry=registry, format_checker=FormatChecker()
        )
        assert not (found := list(validator.iter_errors(value))), found

    valid(body["schemaURL"], body)
    stack: list[Any] = [body]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            if "/facets/" in (url := str(item.get("_schemaURL", ""))) and url.count("$defs"):
                valid(url, item)
            stack += item.values()
        elif isinstance(item, list):
            stack += item
