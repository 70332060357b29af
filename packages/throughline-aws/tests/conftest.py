"""Fixtures: an environment without any account of AWS, and a stand-in of DataZone."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

import pytest

from throughline_aws.datazone import DataZone, DataZoneConfig
from throughline_aws.local.datazone import DataZoneServer

Event = Callable[..., dict[str, Any]]
Make = Callable[..., tuple[DataZone, DataZoneServer]]

DOMAIN = "dzd_stand-in"
ACCOUNT = "111122223333"


@pytest.fixture(autouse=True)
def aws_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Credentials of nobody, and nothing of this machine's AWS."""
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
        "AWS_ENDPOINT_URL": "http://127.0.0.1:9",  # what a test names no server for is refused
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
    """The maker of run events, told apart by a number."""
    return _event


@contextmanager
def _serving(server: DataZoneServer) -> Iterator[DataZoneServer]:
    """Have a stand-in listen."""
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def make_datazone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """Make a backend and the stand-in that it speaks to, which answers as it is told."""
    with ExitStack() as opened:

        def make(
            answer: Callable[[Any], int] = lambda _: 200, **more: Any
        ) -> tuple[DataZone, DataZoneServer]:
            server = opened.enter_context(_serving(DataZoneServer(0, answer, **more)))
            monkeypatch.setenv("AWS_ENDPOINT_URL_DATAZONE", server.url)
            backend = opened.enter_context(closing(DataZone(DataZoneConfig(DOMAIN, ACCOUNT))))
            return backend, server

        yield make
