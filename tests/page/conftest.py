"""A real server with two weeks of events, and Chromium with its page."""

from __future__ import annotations

import json
import lzma
import os
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Playwright

from benchmarks.dbt_project import events
from commands.environment import script
from commands.page import ensure_page
from headwater.server.sample import sample_events
from lakehouse.settings import REPOSITORY
from tests.looking import Look, chromium, looking, start_playwright
from tests.pipeline.conftest import free_ports

_RECORDED = REPOSITORY / "packages" / "headwater" / "tests" / "support" / "pipeline.jsonl.xz"


class Lineage:
    """A lineage server that can be restarted at the same address."""

    def __init__(self, folder: Path) -> None:
        # Below the ports of outgoing connections, which could take it before the server starts.
        self.port = free_ports(1)
        self.url = f"http://127.0.0.1:{self.port}"
        self._database = f"sqlite:///{folder / 'log.db'}"
        self._process: subprocess.Popen[str] | None = None
        self.start()

    def start(self) -> None:
        """Start the server unless it runs."""
        if self._process is not None and self._process.poll() is None:
            return
        options = ["--port", str(self.port), "--database", self._database]
        self._process = subprocess.Popen(
            [script("headwater"), "serve", *options],
            env={
                **os.environ,
                "HEADWATER_LOST_AFTER": "7200",
                "HEADWATER_PROGRAM": "./run lineage",
            },
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        assert "listens" in self._process.stdout.readline()

    def stop(self) -> None:
        assert self._process is not None
        self._process.terminate()
        self._process.communicate(timeout=60)

    def take(self, *events: dict[str, Any]) -> None:
        httpx.post(f"{self.url}/api/v1/lineage/batch", json=events).raise_for_status()


@pytest.fixture(scope="package")
def playwright() -> Iterator[Playwright]:
    """Start one Playwright for all tests of this folder."""
    with start_playwright() as playwright:
        yield playwright


@pytest.fixture(scope="package")
def browser(playwright: Playwright) -> Iterator[Browser]:
    """Start one Chromium for all tests of this folder."""
    with chromium(playwright) as browser:
        yield browser


@pytest.fixture(scope="package")
def lineage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lineage]:
    """Start a server with the built page and two weeks of events."""
    ensure_page()
    server = Lineage(tmp_path_factory.mktemp("page"))
    server.take(*sample_events(datetime.now(UTC) - timedelta(minutes=7)))
    yield server
    server.stop()


@pytest.fixture
def look(browser: Browser, lineage: Lineage) -> Iterator[Look]:
    """Return a function that opens a path; it fails on page errors or requests to other hosts."""
    try:
        with looking(browser, lineage.url) as open_:
            yield open_
    finally:
        lineage.start()  # if the test failed while it was stopped


@pytest.fixture(scope="package")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lineage]:
    """Yield a server with the recorded events of the demo."""
    ensure_page()
    server = Lineage(tmp_path_factory.mktemp("demo"))
    with lzma.open(_RECORDED, "rt") as events:
        server.take(*map(json.loads, events))
    yield server
    server.stop()


@pytest.fixture
def look_at_demo(browser: Browser, demo: Lineage) -> Iterator[Look]:
    """Return a function that opens an address of the page with the demo's events."""
    with looking(browser, demo.url) as open_:
        yield open_


@pytest.fixture(scope="package")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lineage]:
    """Yield a server with a dbt-like project of 300 tables, with a failure and a late table."""
    ensure_page()
    server = Lineage(tmp_path_factory.mktemp("project"))
    every = events(datetime.now(UTC) - timedelta(minutes=7))
    while some := list(islice(every, 500)):
        server.take(*some)
    # The first answer waits until all events are processed.
    httpx.get(f"{server.url}/api/v2/health", timeout=120).raise_for_status()
    yield server
    server.stop()


@pytest.fixture
def look_at_project(browser: Browser, project: Lineage) -> Iterator[Look]:
    """Return a function that opens an address of the page with the dbt-like project."""
    with looking(browser, project.url) as open_:
        yield open_


@pytest.fixture
def empty(tmp_path: Path, browser: Browser) -> Iterator[Look]:
    """Return a function that opens a path of a server without events."""
    ensure_page()
    server = Lineage(tmp_path)
    try:
        with looking(browser, server.url) as open_:
            yield open_
    finally:
        server.stop()
