"""Plugins of headwater and of other packages, and errors that name a plugin."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest

from headwater.errors import ConfigError
from headwater.plugins import GROUP, Plugin, load_all, parts


def _installed(monkeypatch: pytest.MonkeyPatch, **plugins: object) -> list[EntryPoint]:
    """Return headwater's own plugins and others, each in a module of its own."""
    for name, plugin in plugins.items():
        monkeypatch.setitem(sys.modules, f"{name}_package", SimpleNamespace(plugin=plugin))
    others = [EntryPoint(name, f"{name}_package:plugin", GROUP) for name in plugins]
    return [*others, *entry_points(group=GROUP)]


def test_parts_of_all_plugins_are_found_and_can_be_imported() -> None:
    for kind in ("backends", "harvesters"):
        found = parts(kind)
        assert all(callable(point.load()) for point in found.values())
    for kind in ("queries", "routers", "workers"):
        assert load_all(kind)
    assert {"file", "datazone"} <= parts("backends").keys()
    assert next(iter(parts("harvesters"))) == "spark-logs"


def test_plugin_adds_parts_after_those_of_headwater(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = _installed(monkeypatch, acme=Plugin(backends={"acme": "acme_backend:Acme"}))
    found = parts("backends", installed)
    assert next(reversed(found)) in ("acme", "datazone")
    assert found["acme"].value == "acme_backend:Acme"
    assert "acme" not in parts("harvesters", installed)


@pytest.mark.parametrize(
    ("plugin", "message"),
    [
        (
            Plugin(backends={"file": "acme:File"}),
            "backends: 'file' is already defined by headwater.delivery",
        ),
        (Plugin, "acme_package:plugin is a type, expected a headwater.plugins.Plugin"),
    ],
)
def test_unusable_plugin_is_named(
    plugin: object, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigError, match=f"plugin acme: {message}"):
        parts("backends", _installed(monkeypatch, acme=plugin))


def test_plugin_that_cannot_be_imported_is_named() -> None:
    broken = EntryPoint("acme", "no_such_package:plugin", GROUP)
    with pytest.raises(ConfigError, match="plugin acme .* cannot be imported: ModuleNotFoundError"):
        parts("backends", [broken])


_ACME = '''
import os
from fastapi import APIRouter
from headwater.plugins import Plugin
from headwater.projection import State
from headwater.query.registry import query

plugin = Plugin(
    queries=["acme_plugin"], routers=["acme_plugin:router"], workers=["acme_plugin:workers"]
)
router = APIRouter()

@router.get("/acme")
def acme() -> str:
    return "a route of ACME"

@query("acme")
def count_runs(state: State) -> int:
    """Return the number of runs."""
    return len(state.runs)

class Writer:
    def __init__(self, path, number):
        self._path, self._number = path, number
    def start(self):
        self._path.write_text(f"started after {self._number} events")
    def stop(self):
        self._path.write_text("stopped")

def workers(settings):
    from pathlib import Path
    return lambda live: [Writer(Path(os.environ["ACME_FILE"]), live.newest)]
'''


@pytest.mark.server
def test_plugin_of_another_package_adds_route_query_and_worker(tmp_path: Path) -> None:
    info = tmp_path / "acme-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[headwater.plugins]\nacme = acme_plugin:plugin\n")
    (tmp_path / "acme_plugin.py").write_text(_ACME)
    file = tmp_path / "file"
    program = Path(sys.executable).with_name("headwater")
    with subprocess.Popen(
        [program, "serve", "--port", "0", "--database", str(tmp_path / "log.db")],
        env=os.environ | {"PYTHONPATH": str(tmp_path), "ACME_FILE": str(file)},
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdout
        url = server.stdout.readline().split()[3].rstrip(",")
        assert httpx.get(f"{url}/acme").json() == "a route of ACME"
        assert httpx.get(f"{url}/api/v2/acme").json() == 0
        assert file.read_text() == "started after 0 events"
        server.terminate()
        assert server.wait(20) == 0
    assert file.read_text() == "stopped"
