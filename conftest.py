"""How tests are shared out among several processes (pytest-xdist, which `./run test` asks for)."""

from __future__ import annotations

import pytest

# The folders that take longest, which begin first: so no process is alone with one at the end.
_LONGEST = (
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
    """Give each folder to one process: its tests share fixtures that take long to set up."""
    if not config.pluginmanager.hasplugin("xdist"):
        return
    places: dict[pytest.Item, int] = {}
    for item in items:
        path = item.path.relative_to(config.rootpath)
        folder = "/".join(path.parts[:2])
        places[item] = _LONGEST.index(folder) if folder in _LONGEST else len(_LONGEST)
        # Throughline's are many, and only share what is quick.
        group = path.as_posix() if folder == "packages/throughline" else folder
        item.add_marker(pytest.mark.xdist_group(group))
    items.sort(key=places.__getitem__)
