"""Record Metaflow with metaflow-openlineage: artifacts, files, foreach, resume and branches."""

from __future__ import annotations

import sys
from pathlib import Path

from .recording import copied, file_transport, keep, run


def main() -> None:
    """Record a case for each flow."""
    with copied("metaflow") as folder:
        _record("metaflow-artifacts", folder, ["tiny.py", "run"])
        _record("metaflow-declared-files", folder, ["data.py", "run"])
        foreach = "metaflow-foreach-resume"
        _flow(foreach, folder, ["foreach.py", "run"])
        (folder / "ready").touch()
        _flow(foreach, folder, ["foreach.py", "resume"])
        _keep(foreach, folder)
        branches()


def branches() -> None:
    """Record runs of two branches of one project."""
    with copied("metaflow") as folder:
        case = "metaflow-branches"
        _flow(case, folder, ["project.py", "--production", "run"])
        _flow(case, folder, ["project.py", "run"])
        _keep(case, folder)


def _record(case: str, folder: Path, command: list[str]) -> None:
    _flow(case, folder, command)
    _keep(case, folder)


def _flow(case: str, folder: Path, command: list[str]) -> None:
    settings = {
        "METAFLOW_HOME": str(folder / "home"),
        "METAFLOW_DATASTORE_SYSROOT_LOCAL": str(folder / case),
        "METAFLOW_DEFAULT_METADATA": "local",
        "OPENLINEAGE__TRANSPORT": file_transport(folder / f"{case}.jsonl"),
        "OPENLINEAGE_NAMESPACE": case,
        "SHOP": str(folder),
        "USER": "analyst",
    }
    run([], [sys.executable, *command], folder, settings, may_fail=True)


def _keep(case: str, folder: Path) -> None:
    keep(case, folder / f"{case}.jsonl", folder, {"/srv/shop/": f"/srv/{case}/"})
