"""A wheel of headwater without its plugins, installed in a virtual environment."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from commands.package import find_uv
from lakehouse.settings import REPOSITORY

PACKAGES = REPOSITORY / "packages"
_PLUGINS = re.compile(r'\[project\.entry-points\."headwater\.plugins"]\n(?:.+\n)+')
_EVENT = {
    "eventType": "COMPLETE",
    "eventTime": "2026-11-21T08:30:00Z",
    "producer": "https://example.org/shop",
    "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
    "run": {"runId": "00000000-0000-4000-8000-000000000001"},
    "job": {"namespace": "shop", "name": "load"},
    "inputs": [{"namespace": "db", "name": "a"}],
    "outputs": [{"namespace": "db", "name": "b", "facets": {"columnLineage": {
        "_producer": "https://example.org/shop",
        "_schemaURL": "https://openlineage.io/spec/facets/1-2-0/ColumnLineageDatasetFacet.json",
        "fields": {"x": {"inputFields": [{"namespace": "db", "name": "a", "field": "y"}]}},
    }}}],
}  # fmt: skip


def _quiet(*command: str | Path) -> None:
    subprocess.run(command, check=True, capture_output=True)


def _kernel(folder: Path) -> Path:
    """Copy the source of headwater without its plugins and their entry points."""
    ignored = shutil.ignore_patterns("plugins", "built", "__pycache__")
    source = PACKAGES / "headwater"
    shutil.copytree(source / "src", folder / "src", ignore=ignored)
    for name in ("README.md", "LICENSE"):
        shutil.copy(source / name, folder / name)
    text, count = _PLUGINS.subn("", (source / "pyproject.toml").read_text())
    assert count == 1
    (folder / "pyproject.toml").write_text(text)
    return folder


@pytest.mark.server
def test_wheel_without_plugins_receives_events_and_answers(tmp_path: Path) -> None:
    uv, python = find_uv(), tmp_path / "venv/bin/python"
    _quiet(uv, "build", "--wheel", "--out-dir", tmp_path, _kernel(tmp_path / "kernel"))
    (wheel,) = tmp_path.glob("*.whl")
    locked = ("export", "--frozen", "--package", "headwater", "--no-emit-workspace", "--no-hashes")
    _quiet(uv, *locked, "--project", REPOSITORY, "--output-file", tmp_path / "locked.txt")
    _quiet(uv, "venv", "--python", sys.executable, tmp_path / "venv")
    client = PACKAGES / "headwater-client"
    install = ("pip", "install", "--python", python, "--constraint", tmp_path / "locked.txt")
    _quiet(uv, *install, wheel, client)
    program = python.with_name("headwater")
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environ["HEADWATER_DATABASE"] = str(tmp_path / "db")

    def run(*arguments: str, code: int = 0) -> str:
        done = subprocess.run([program, *arguments], env=environ, capture_output=True, text=True)
        assert done.returncode == code, done.stderr
        return done.stdout or done.stderr

    shown = run("--help")
    assert "  tree " in shown
    assert "  gate " not in shown
    with subprocess.Popen(
        [program, "serve", "--port", "0"], env=environ, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout
        url = server.stdout.readline().split()[3].rstrip(",")

        def get(path: str, status: int = 200) -> Any:
            response = httpx.get(url + path)
            assert response.status_code == status, response.text
            return response

        assert httpx.post(f"{url}/api/v1/lineage", json=_EVENT).status_code == 201
        assert "load" in run("tree", "b", "--url", url)
        assert "a.y" in run("columns", "b", "x", "--url", url)
        assert "load" in run("b", "--url", url)
        assert "headwater_nodes" in get("/metrics").text
        assert "/api/v2/tree" in get("/openapi.json").json()["paths"]
        get("/api/v2/health", 404)
        server.terminate()
        assert server.wait(20) == 0
    with sqlite3.connect(tmp_path / "db") as database:
        created = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
    database.close()
    assert "events" in created
    assert not created & {"deliveries", "alerts", "finding_states", "sql_results"}
