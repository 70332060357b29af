"""Plugins of headwater and of other packages, and errors that name a plugin."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.metadata import EntryPoint, entry_points
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

import headwater
from headwater.cli import command_line
from headwater.errors import ConfigError
from headwater.plugin import GROUP, Plugin, load_all, parts

_NAMED = ("alerts", "backends", "harvesters")


def _installed(monkeypatch: pytest.MonkeyPatch, **plugins: object) -> list[EntryPoint]:
    """Return headwater's own plugins and others, each in a module of its own."""
    for name, plugin in plugins.items():
        monkeypatch.setitem(sys.modules, f"{name}_package", SimpleNamespace(plugin=plugin))
    others = [EntryPoint(name, f"{name}_package:plugin", GROUP) for name in plugins]
    return [*others, *entry_points(group=GROUP)]


def test_parts_of_all_plugins_are_found_and_can_be_imported() -> None:
    for kind in _NAMED:
        found = parts(kind)
        assert all(callable(point.load()) for point in found.values())
    for kind in (
        "commands",
        "holds",
        "metrics",
        "mutes",
        "queries",
        "routers",
        "sql",
        "tables",
        "unknown_paths",
        "workers",
    ):
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
            "backends: 'file' is already defined by headwater.plugins.delivery",
        ),
        (Plugin, "acme_package:plugin is a type, expected a headwater.plugin.Plugin"),
    ],
)
def test_unusable_plugin_is_named(
    plugin: object, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigError, match=f"plugin acme: {message}"):
        parts("backends", _installed(monkeypatch, acme=plugin))


def test_command_of_two_plugins_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwater.plugin._installed", lambda _: [*_own(), *_own()[:1]])
    name = _own()[0].name
    with pytest.raises(ConfigError, match=f"plugin {name}: commands: '.*' is already defined"):
        command_line()


def test_plugin_that_cannot_be_imported_is_named() -> None:
    broken = EntryPoint("acme", "no_such_package:plugin", GROUP)
    with pytest.raises(ConfigError, match="plugin acme .* cannot be imported: ModuleNotFoundError"):
        parts("backends", [broken])


def _own() -> list[EntryPoint]:
    """Return the entry points of headwater's own plugins."""
    return [item for item in entry_points(group=GROUP) if item.value.startswith("headwater.")]


def _install(folder: Path, name: str, plugins: str) -> None:
    """Write the metadata of a distribution with plugins, which hides one of the same name."""
    info = folder / f"{name}-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[{GROUP}]\n{plugins}\n")


_ACME = '''
import os
import typer
from fastapi import APIRouter
from headwater.plugin import Plugin
from headwater.projection import State
from headwater.query.registry import query

plugin = Plugin(
    commands=["acme_plugin:commands"],
    metrics=["acme_plugin:metrics"],
    queries=["acme_plugin"],
    routers=["acme_plugin:router"],
    workers=["acme_plugin:workers"],
)
router = APIRouter()
commands = typer.Typer()

@commands.command(rich_help_panel="Acme")
def greet(name: str) -> None:
    """Greet somebody."""
    print(f"hello {name}")

def metrics(live):
    from prometheus_client.core import GaugeMetricFamily
    yield GaugeMetricFamily("acme_events", "Events.", value=live.newest)

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
def test_plugin_of_another_package_adds_each_kind_of_part(tmp_path: Path) -> None:
    _install(tmp_path, "acme", "acme = acme_plugin:plugin")
    (tmp_path / "acme_plugin.py").write_text(_ACME)
    file = tmp_path / "file"
    program = Path(sys.executable).with_name("headwater")
    environ = os.environ | {"PYTHONPATH": str(tmp_path), "ACME_FILE": str(file)}
    greeting = subprocess.check_output([program, "greet", "Ada"], env=environ, text=True)
    assert greeting == "hello Ada\n"
    with subprocess.Popen(
        [program, "serve", "--port", "0", "--database", str(tmp_path / "log.db")],
        env=environ,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdout
        url = server.stdout.readline().split()[3].rstrip(",")
        assert httpx.get(f"{url}/acme").json() == "a route of ACME"
        assert httpx.get(f"{url}/api/v2/acme").json() == 0
        assert file.read_text() == "started after 0 events"
        assert "acme_events 0.0" in httpx.get(f"{url}/metrics").text
        server.terminate()
        assert server.wait(20) == 0
    assert file.read_text() == "stopped"


_FEATURES = [point.name for point in _own()]


def _without(folder: Path, *features: str) -> None:
    """Copy headwater without some of its plugins."""
    ignored = shutil.ignore_patterns("built", "__pycache__")
    shutil.copytree(Path(headwater.__file__).parent, folder / "headwater", ignore=ignored)
    for feature in features:
        shutil.rmtree(folder / "headwater" / "plugins" / feature)
    left = [f"{item.name} = {item.value}" for item in _own() if item.name not in features]
    _install(folder, "headwater", "\n".join(left))
    _install(folder, "headwater_aws", "")


_LOAD_SETS = """
import os, sys
from dataclasses import fields
from importlib import metadata
import fastapi, httpx, prometheus_client, pydantic, rich, sqlalchemy, typer, uvicorn

GROUP = "headwater.plugins"
own = [p for p in metadata.entry_points(group=GROUP) if p.value.startswith("headwater.")]

def load_all_of(installed):
    points = [point for point in own if point.name in installed]
    original = metadata.entry_points
    metadata.entry_points = lambda **by: points if by == {"group": GROUP} else original(**by)
    for point in own:
        if point not in points:
            sys.modules[f"headwater.plugins.{point.name}"] = None  # its import fails
    from headwater.cli import command_line
    from headwater.plugin import Plugin, load_all, parts
    from headwater.query.registry import load_queries
    import headwater.server.app
    for field in fields(Plugin):
        if field.name in ("alerts", "backends", "harvesters"):
            [point.load() for point in parts(field.name).values()]
        else:
            load_all(field.name)
    assert {"tree", "columns", "node"} <= load_queries().keys()
    assert "serve" in command_line().commands

for installed in sys.argv[1:]:
    if os.fork() == 0:
        load_all_of(installed.split())
        os._exit(0)
    assert os.wait()[1] == 0, installed
"""


@pytest.mark.server
def test_no_plugin_needs_another() -> None:
    # For each pair of plugins, in both orders, one set has the first without the second.
    codes = dict(zip(_FEATURES, combinations(range(7), 3), strict=False))
    assert len(codes) == len(_FEATURES) >= 19, "more plugins need more sets"
    sets = [[name for name, code in codes.items() if number in code] for number in range(7)]
    subprocess.run([sys.executable, "-c", _LOAD_SETS, *map(" ".join, sets)], check=True)


_WITHOUT_TRUST = """
import json, sys
from pathlib import Path
from headwater.plugins.agents._reply import Context
from headwater.plugins.agents.tools import call
from headwater.plugins.alerts.endpoints import alerts_answer
from headwater.plugins.alerts.rules import read_rules
from headwater.plugins.alerts.watch import Watch
from headwater.errors import ConfigError, MissingQueryError
from headwater.log import EventLog, entry_of
from headwater.projection.live import Batch, Live
from headwater.query.registry import ask, find_query
from headwater.settings import Settings

loaded, failed, rules = map(Path, sys.argv[1:])
live = Live(EventLog.of(Settings()))
live.ingest(Batch([entry_of(loaded.read_bytes())]))
context = Context(lambda name, params: ask(live, find_query(name), params))
for tool, node in [("upstream", "b"), ("provenance", "b"), ("upstream", "load")]:
    answer = json.loads(call(tool, {"node": node}, context))
    assert answer["status"] == ("found" if node == "b" else "not_reported"), answer
    assert "gate" not in answer and answer["at"] is None, answer
    assert answer["completeness"]["isComplete"] in (None, answer["status"] == "found"), answer
    assert "no plugin" in answer["completeness"]["gaps"][-1], answer
try:
    call("problems", {}, context)
    raise AssertionError
except MissingQueryError as error:
    assert str(error) == "there is no query 'problems': no installed plugin adds it", error
watch = Watch(read_rules(rules), live)
live.ingest(Batch([entry_of(failed.read_bytes())]))
watch.check()
watch.act()
assert [item["isPending"] for item in alerts_answer(live.log, 9)["items"]] == [False]
rules.write_text(rules.read_text().replace("failed", "completeness"))
try:
    read_rules(rules)
    raise AssertionError
except ConfigError as error:
    assert "kind: received 'completeness', expected 'failed'" in str(error), error
"""


@pytest.mark.server
def test_agents_and_alerts_work_without_trust(tmp_path: Path, build: Any) -> None:
    _without(tmp_path, "trust")
    events = [
        build.run("COMPLETE", "1", "load", "08:00:00", writes=("db|b",)),
        build.run("FAIL", "2", "load", "09:00:00"),
    ]
    files = [tmp_path / name for name in ("loaded.json", "failed.json", "rules.yaml")]
    rule = {"name": "r", "kind": "failed", "actions": [{"type": "log"}]}
    for file, content in zip(files, [*events, {"rules": [rule]}], strict=True):
        file.write_text(json.dumps(content))
    environ = os.environ | {"PYTHONPATH": str(tmp_path), "HEADWATER_DATABASE": str(tmp_path / "db")}
    subprocess.run([sys.executable, "-c", _WITHOUT_TRUST, *files], env=environ, check=True)
