"""Fixtures of the whole suite; slow ones start once."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from commands.cli import FLOW
from commands.environment import child_environ
from lakehouse.settings import REPOSITORY, Settings, load_settings

if TYPE_CHECKING:  # slow to import
    from playwright.sync_api import Browser
    from pyiceberg.table import Table as IcebergTable

SHARED = REPOSITORY.parent / "shared"
REAL_MONTHS = ["2019-03", "2019-04"]
GENERATED_MONTHS = ["2025-04", "2025-05"]
SERIAL_GC = "-XX:+UseSerialGC"
"""The option of Java for the garbage collector with the least CPU time for small heaps."""
DBT = ("dbt-core==1.11.16", "dbt-duckdb==1.11.1", "openlineage-dbt==1.54.0")


@pytest.fixture(autouse=True, scope="session")
def clean_environment() -> Iterator[None]:
    """Remove the developer's settings from the environment."""
    names = {name.upper() for name in Settings.model_fields} | {"SETTINGS_FILE"}
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ:
            if name in names or name.startswith(("OPENLINEAGE", "AIRFLOW__", "METAFLOW_")):
                patch.delenv(name)
        patch.setenv("SETTINGS_FILE", os.devnull)
        patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)  # as ./run does
        yield


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of real data next to the repository; skip the test without it."""
    if not SHARED.is_dir():
        pytest.skip(f"{SHARED} is missing: this test needs its real data")
    return SHARED


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Return settings with a state folder for the test."""
    return load_settings(state_dir=tmp_path / "state")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Start the machine's Chromium for a module; while it is open, an event loop runs."""
    from tests.looking import chromium

    with chromium() as browser:
        yield browser


@contextmanager
def folder_of_many_files(prefix: str) -> Iterator[Path]:
    """Create a folder, and delete it in the background, which takes minutes on some disks."""
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    try:
        yield folder
    finally:
        subprocess.run(["sh", "-c", 'rm -rf "$0" >/dev/null 2>&1 &', str(folder)], check=True)


def copy_bytecode(environment: Path) -> None:
    """Copy the bytecode of installed packages to another environment of the same Python version.

    uv installs both environments from its cache, so their modules have the same modification times,
    which Python compares.
    """
    packages = Path(sysconfig.get_path("purelib"))
    target = environment / packages.relative_to(sys.prefix)
    assert target.is_dir(), f"{environment} has another Python version than {sys.version}"
    for file in packages.rglob("__pycache__/*.pyc"):
        copy = target / file.relative_to(packages)
        if copy.parent.parent.is_dir() and not copy.exists():
            copy.parent.mkdir(exist_ok=True)
            shutil.copy(file, copy)


@pytest.fixture(scope="session")
def make_settings(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Settings]:
    """Return a function for settings with a new state folder that shares jars and archive."""

    def make(name: str, **values: Any) -> Settings:
        from spark_jobs.archive import archive, ensure_archive
        from spark_jobs.runtime import jars

        own = load_settings()
        # The threads of the default collector take a tenth of a short driver's CPU time.
        java = f"{own.spark_java_options} {SERIAL_GC}"
        jars(own)
        ensure_archive(own)
        state = tmp_path_factory.mktemp(name)
        for shared_path in (own.state_dir / "jars", archive(own).parent):
            (state / shared_path.name).symlink_to(shared_path)
        return load_settings(state_dir=state, **{"spark_java_options": java} | values)

    return make


@pytest.fixture(scope="session")
def real_or_generated() -> tuple[dict[str, Any], list[str]]:
    """Return settings and months of real data if available, otherwise of generated data."""
    if SHARED.is_dir():
        return {"data_source": str(SHARED / "data")}, REAL_MONTHS
    return {"data_source": "generator", "generator_rows": 5_000}, GENERATED_MONTHS


def make_older(table: IcebergTable, snapshot_id: int, days: int) -> None:
    """Change the metadata so that a snapshot and all earlier ones have an earlier time."""
    path = Path(table.metadata_location)
    metadata = json.loads(path.read_text())
    entries = metadata["snapshots"] + metadata["snapshot-log"]
    (last,) = {e["timestamp-ms"] for e in entries if e["snapshot-id"] == snapshot_id}
    for entry in entries:
        if entry["timestamp-ms"] <= last:
            entry["timestamp-ms"] -= days * 24 * 3600 * 1000
    path.write_text(json.dumps(metadata))
    table.refresh()


def train(
    settings: Settings, *parameters: str, flow: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the training flow, or a copy of it, like `./run training-flow run`."""
    # The copy's folder also contains the modules that it imports.
    own = {"PYTHONPATH": str(flow.parents[2])} if flow else {}
    return subprocess.run(
        [sys.executable, flow or FLOW, "run", *parameters],
        cwd=REPOSITORY,
        env=child_environ(settings) | own,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def card_of(settings: Settings, run: str) -> list[dict[str, Any]]:
    """Return the contents of a training run's card as Metaflow stores them."""
    runs = settings.state_dir / "metaflow" / ".metaflow" / "TrainForecastModelFlow" / "runs"
    (path,) = runs.glob(f"{run}/steps/train/tasks/*/cards/*.html")
    match = re.search(r'__MF_DATA__\["[^"]+"\] = "([^"]+)"', path.read_text())
    assert match, path
    (page,) = json.loads(base64.b64decode(match[1]))["components"]
    (section,) = page["contents"]
    contents: list[dict[str, Any]] = section["contents"]
    return contents


@pytest.fixture(scope="session")
def dbt() -> Path:
    """Return the programs of dbt in a separate environment with other package versions."""
    uv = os.environ.get("UV") or shutil.which("uv")
    if uv is None:
        pytest.skip("dbt is installed with uv, which is not on the PATH; ./run test brings it")
    home = REPOSITORY / ".state" / f"dbt-{DBT[0].partition('==')[2]}"
    if not (home / "bin" / "dbt-ol").exists():
        make = [uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(home)]
        subprocess.run(make, check=True)
        install = [uv, "pip", "install", "--quiet", "--python", str(home / "bin" / "python"), *DBT]
        done = subprocess.run(install, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"dbt cannot be had: {done.stderr[-300:]}")
    return home / "bin"
