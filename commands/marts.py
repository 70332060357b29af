"""Build the marts of `./run demo --dbt` with dbt, and import their lineage.

dbt has its own environment, because its packages conflict with those of this project.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from commands.environment import child_environ, script
from commands.package import find_uv
from lakehouse.backends import is_embedded
from lakehouse.catalog import properties
from lakehouse.errors import PipelineError, SettingsError, SetupError
from lakehouse.names import Table
from lakehouse.settings import REPOSITORY, Settings

PROJECT = REPOSITORY / "dbt_marts"
PACKAGES = (
    "dbt-core==1.11.16",
    "dbt-duckdb==1.11.1",
    "duckdb==2.0.1",
    "pyiceberg[pyarrow,sql-sqlite]==0.12.0",
)
EXPOSURE = "exposure.nyc_taxi_marts.daily_report"


class MartsFailed(PipelineError):
    """dbt failed, or its results could not be imported."""


def require_marts(settings: Settings) -> None:
    """Check that the demo can build marts with these settings.

    Raises:
        SettingsError: the tables are on AWS, or the demo's lineage server receives no lineage.
    """
    if settings.lakehouse == "glue":
        raise SettingsError("--dbt received LAKEHOUSE=glue, expected LAKEHOUSE=local.")
    if not is_embedded(settings):
        raise SettingsError(
            "--dbt needs the lineage server of the demo, which receives nothing with "
            f"LINEAGE_BACKEND={settings.lineage_backend} and LINEAGE_DELIVERY="
            f"{settings.lineage_delivery}. Use LINEAGE_BACKEND=embedded, or for other backends "
            "LINEAGE_DELIVERY=collector."
        )


def build_marts(settings: Settings, service: str, target: tuple[str, ...] = ()) -> None:
    """Build and test the marts, and import their lineage.

    `target` are options of `headwater`, such as `--database`, that select another destination than
    the server of the settings.

    Raises:
        SetupError: dbt cannot be installed.
        MartsFailed: a model or a test failed, after which lineage was still imported if possible;
            or the import failed.
    """
    folder = settings.state_dir / "marts"
    folder.mkdir(parents=True, exist_ok=True)
    environ = child_environ(settings) | _environ(settings, folder)
    dbt = [str(ensure_dbt() / "dbt"), "--no-use-colors", "build"]
    dbt += ["--project-dir", str(PROJECT), "--profiles-dir", str(PROJECT)]
    dbt += ["--vars", f"{{service: {service}}}"]
    built = _run(dbt, environ, folder / "dbt.log")
    headwater = script("headwater")
    harvest = [headwater, "harvest", "dbt", str(PROJECT), "--profiles-dir", str(PROJECT), "--yes"]
    harvest += ["--target-path", str(folder / "target"), "--namespace", settings.job_namespace]
    if not built:
        _run([*harvest, *target], environ, folder / "harvest.log")
        raise MartsFailed(f"dbt failed. The end of {folder / 'dbt.log'}:\n{_end_of(folder)}")
    join = [headwater, "alias", *source_names(settings, service)]
    for command in (harvest, join):
        if not _run([*command, *target], environ, folder / "harvest.log"):
            raise MartsFailed(f"The lineage of dbt was not imported. See {folder / 'harvest.log'}.")


def source_names(settings: Settings, service: str) -> tuple[str, str]:
    """Return the ids of the table that the marts read: in dbt, and in the lakehouse."""
    table = Table(f"{service}_rides_hourly_actuals")
    dataset = table.dataset(settings)
    database = _database(settings.state_dir / "marts")
    return (
        f"dataset:duckdb://{database}:{database.stem}.nyc_taxi.{table.name}",
        f"dataset:{dataset.namespace}:{dataset.name}",
    )


def ensure_dbt() -> Path:
    """Return the folder of dbt's programs; install dbt into `.state/dbt` the first time.

    Raises:
        SetupError: dbt cannot be installed.
    """
    home = REPOSITORY / ".state" / "dbt"
    marker = home / "packages"
    if not marker.is_file() or marker.read_text() != "\n".join(PACKAGES):
        uv = find_uv()
        create = [uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(home)]
        install = [uv, "pip", "install", "--quiet", "--python", str(home / "bin" / "python")]
        for command in (create, [*install, *PACKAGES]):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise SetupError(f"dbt cannot be installed into {home}: {done.stderr[-500:]}")
        marker.write_text("\n".join(PACKAGES))
    return home / "bin"


def _database(folder: Path) -> Path:
    return folder / "marts.duckdb"


def _environ(settings: Settings, folder: Path) -> dict[str, str]:
    catalog = properties(settings)
    return {
        "MARTS_DATABASE": str(_database(folder)),
        "MARTS_CATALOG": catalog["uri"],
        "MARTS_WAREHOUSE": catalog["warehouse"],
        "DBT_TARGET_PATH": str(folder / "target"),
        "DBT_LOG_PATH": str(folder),
        "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
    }


def _run(command: list[str], environ: Mapping[str, str], log: Path) -> bool:
    """Run a command with its output in a file; return True if it succeeded."""
    with log.open("ab") as out:
        done = subprocess.run(command, env=environ, stdout=out, stderr=out, check=False)
    return done.returncode == 0


def _end_of(folder: Path) -> str:
    lines = (folder / "dbt.log").read_text(errors="replace").splitlines()
    return os.linesep.join(lines[-15:])
