"""How tests are shared out among several processes (pytest-xdist, which `./run test` asks for)."""

from __future__ import annotations

from typing import Any

import pytest

# The folders that take longest, which begin first: so no process is alone with one at the end.
_LONGEST = (
    "tests/containers",
    "tests/new_user",
    "tests/pipeline",
    "tests/infra",
    "tests/spark",
    "tests/page",
    "tests/proxy",
    "tests/docker",
    "packages/metaflow-openlineage",
)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with the longest folders."""
    if config.pluginmanager.hasplugin("xdist"):
        items.sort(key=lambda item: _place(_folder(item.nodeid)))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Warn if the Docker tests were skipped, because a skip alone is easy to overlook."""
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = {report.longrepr[2] for report in skipped if "tests/containers" in report.nodeid}
    if reasons:
        terminalreporter.section("WARNING: the Docker tests did not run", sep="!", red=True)
        for reason in sorted(reasons):
            terminalreporter.line(reason)


def _folder(nodeid: str) -> str:
    return "/".join(nodeid.split("::")[0].split("/")[:2])


def _place(folder: str) -> int:
    return _LONGEST.index(folder) if folder in _LONGEST else len(_LONGEST)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each folder to one process: its tests share fixtures that take long to set up.

    Not by xdist's groups: 3.8.0 writes them where pytest 9.2 does not look for them.
    """
    from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]  # has none

    def group(nodeid: str) -> str:
        folder = _folder(nodeid)
        # Throughline's are many, and only share what is quick.
        return nodeid.split("::")[0] if folder == "packages/throughline" else folder

    scheduler = LoadScopeScheduling(config, log)
    scheduler._split_scope = group
    return scheduler
