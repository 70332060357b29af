"""Import the artifacts of a dbt project, and query the result."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headwater.log import EventLog
from headwater.projection.live import Live
from headwater.query.registry import ask, load_queries
from packages.headwater.tests.conftest import Call
from packages.headwater.tests.support.dbt_project import (
    SQL_ERROR,
    Artifacts,
    Harvest,
    Query,
    write_artifacts,
)

_SUCCESS = ("success", "pass")  # of a table, of a test


@pytest.fixture
def harvest(tmp_path: Path, call: Call) -> Harvest:
    """Return a function that imports an invocation into a log; it returns the output."""

    def run(
        nodes: Artifacts,
        *more: str,
        command: str = "build",
        day: int = 1,
        target: str | None = None,
        code: int = 0,
        **statuses: str,
    ) -> str:
        ran = [node for node in nodes if node.startswith(("seed.", "model.", "snapshot.", "test."))]
        results = {
            node: (statuses.get(node.split(".")[2], _SUCCESS[node.startswith("test.")]), SQL_ERROR)
            for node in ran
            if nodes[node]["config"].get("materialized") != "ephemeral"
            or node.split(".")[2] in statuses
        }
        write_artifacts(tmp_path / "shop", nodes, command, results, day=day, target=target)
        folder = str(tmp_path / "shop")
        options = ("--profiles-dir", folder, "--yes", "--database", str(tmp_path / "log.db"))
        done = call("harvest", "dbt", folder, *options, *more)
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr

    return run


@pytest.fixture
def query(tmp_path: Path) -> Iterator[Query]:
    """Return a function that queries the log."""
    logs: list[EventLog] = []

    def run(name: str, **parameters: Any) -> Any:
        logs.append(EventLog(f"sqlite:///{tmp_path / 'log.db'}"))
        return ask(Live(logs[-1]), load_queries()[name], parameters)

    yield run
    for log in logs:
        log.close()
