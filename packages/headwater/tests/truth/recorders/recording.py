"""Run a real producer in a throwaway folder and keep its OpenLineage events as a case.

    .venv/bin/python -m packages.headwater.tests.truth.recorders dbt

A recorder copies a project of `projects/`, runs the producer with the file transport and calls
`keep`. It needs uv (`UV`, or the one in `.state`) and a package index, but no other service.
"""

from __future__ import annotations

import json
import lzma
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent
CASES = HERE.parent / "cases"
REPOSITORY = HERE.parents[4]

WORKPLACE = "/srv/shop"
"""Folder that recordings name in place of the throwaway folder."""

_LARGEST_PLAIN = 60_000
"""Bytes above which a recording is compressed."""

_LIBRARIES = re.compile(r"/[\w./-]*/lib/python3")
_FORBIDDEN = ("/tmp/recording", "/root/", "/home/", "/work/", str(REPOSITORY))


@contextmanager
def copied(project: str) -> Iterator[Path]:
    """Yield a throwaway folder with a copy of a project."""
    with tempfile.TemporaryDirectory(prefix="recording") as folder:
        work = Path(folder).resolve() / "shop"
        shutil.copytree(HERE / "projects" / project, work)
        yield work


def run(
    packages: Sequence[str],
    command: Sequence[str | Path],
    folder: Path,
    environment: Mapping[str, str] | None = None,
    may_fail: bool = False,
) -> None:
    """Run a command in a folder with packages from PyPI; without packages, in this environment."""
    subprocess.run(
        [*_with_packages(packages), *map(str, command)],
        cwd=folder,
        env=_clean_environment() | dict(environment or {}),
        check=not may_fail,
    )


@contextmanager
def serving(
    packages: Sequence[str],
    command: Sequence[str | Path],
    folder: Path,
    environment: Mapping[str, str],
) -> Iterator[None]:
    """Run a command in the background for as long as the context lasts."""
    process = subprocess.Popen(
        [*_with_packages(packages), *map(str, command)],
        cwd=folder,
        env=_clean_environment() | dict(environment),
        start_new_session=True,
    )
    try:
        yield
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()


def file_transport(events: Path) -> str:
    """Return the configuration of OpenLineage's file transport as JSON."""
    return json.dumps({"type": "file", "log_file_path": str(events), "append": True})


def keep(case: str, events: Path, folder: Path, renames: Mapping[str, str] | None = None) -> None:
    """Write events as the recording of a case, without paths of this machine."""
    text = _LIBRARIES.sub("/srv/venv/lib/python3", events.read_text())
    for old, new in {str(folder): WORKPLACE, **(renames or {})}.items():
        text = text.replace(old, new)
    if found := [path for path in _FORBIDDEN if path in text]:
        raise ValueError(f"The events of {case} name paths of this machine: {found}")
    lines = [line for line in text.splitlines() if line.strip()]
    body = "".join(f"{json.dumps(json.loads(line), separators=(',', ':'))}\n" for line in lines)
    place = CASES / case
    place.mkdir(parents=True, exist_ok=True)
    for stale in place.glob("events.jsonl*"):
        stale.unlink()
    if len(body) > _LARGEST_PLAIN:
        packed = lzma.compress(body.encode(), preset=9 | lzma.PRESET_EXTREME)
        (place / "events.jsonl.xz").write_bytes(packed)
    else:
        (place / "events.jsonl").write_text(body)


def _with_packages(packages: Sequence[str]) -> list[str]:
    wanted = [item for package in packages for item in ("--with", package)]
    return [_uv(), "run", "--no-project", "--python", "3.11", *wanted] if packages else []


def _uv() -> str:
    local = REPOSITORY / ".state/uv/bin/uv"
    return os.environ.get("UV") or (str(local) if local.exists() else "uv")


def _clean_environment() -> dict[str, str]:
    """Return the environment without settings of producers that run on this machine."""
    settings = ("OPENLINEAGE", "AIRFLOW", "METAFLOW", "DBT_", "HEADWATER_", "PYTHONPATH")
    return {name: value for name, value in os.environ.items() if not name.startswith(settings)}
