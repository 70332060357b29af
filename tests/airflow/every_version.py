"""Run a DAG with the lineage API in versions of Airflow, and check its lineage in headwater.

    .venv/bin/python -m tests.airflow.every_version 3.1.8 3.2.2@2026-06-15 3.3.2

Each version is installed from PyPI into a temporary environment, which takes about a minute and
600 MB. A date after `@` installs the other packages as of that day, because newer ones broke
Airflow 3.2.2. The test suite runs the DAG only in the installed version; the workflow Platforms
also runs it in others.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from commands.package import find_uv
from lakehouse.settings import REPOSITORY

PACKAGES = ["apache-airflow-providers-openlineage", "apache-airflow-providers-standard"]
NEWEST = [
    *PACKAGES,
    *(f"apache-airflow-providers-common-{name}" for name in ("compat", "sql")),
    *(f"openlineage-{name}" for name in ("python", "integration-common", "sql")),
]
"""Packages whose newest version is installed, regardless of the date after `@`."""
NAMESPACE = "shop_airflow"
NOW = "2100-01-01T00:00:00Z"
EDGES = {
    "load": (["/srv/shop/orders.csv"], ["shop.public.orders"]),
    "query.manual_query.1": (["shop.public.orders"], ["shop.public.totals"]),
    "write": ([], ["/srv/shop/report.csv"]),
}
"""Inputs and outputs by job of the DAG."""


def run_dag(programs: Path, folder: Path) -> Path:
    """Run the DAG with the Airflow of an environment; return the file with its events."""
    events = folder / "events.jsonl"
    settings = {
        "AIRFLOW_HOME": str(folder / "home"),
        "AIRFLOW__CORE__DAGS_FOLDER": str(Path(__file__).parent / "shop_dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__UNIT_TEST_MODE": "False",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{folder}/airflow.db",
        "AIRFLOW__OPENLINEAGE__EXECUTE_IN_THREAD": "True",
        # The first import of a new environment takes long, and later events are dropped.
        "AIRFLOW__OPENLINEAGE__EXECUTION_TIMEOUT": "120",
        "AIRFLOW__OPENLINEAGE__NAMESPACE": NAMESPACE,
        "AIRFLOW__OPENLINEAGE__TRANSPORT": json.dumps(
            {"type": "file", "log_file_path": str(events), "append": True}
        ),
    }
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("AIRFLOW", "OPENLIN"))}
    for command in (["db", "migrate"], ["dags", "test", "shop"]):
        done = subprocess.run(
            [programs / "airflow", *command],
            env=inherited | settings,
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode and command[0] == "db":
            raise RuntimeError(done.stderr[-2000:])
    if not events.exists():
        raise RuntimeError(f"No event was sent: {(done.stdout + done.stderr)[-3000:]}")
    return events


def problems(events: Path) -> list[str]:
    """Return the differences between the events and what the DAG did; none if they are right."""
    found = []
    ended = [json.loads(line) for line in events.read_text().splitlines()]
    edges: dict[str, tuple[set[str], set[str]]] = {}
    for event in ended:
        job = event["job"]["name"].removeprefix("shop.")
        for side, key in enumerate(("inputs", "outputs")):
            names = {item["name"] for item in event.get(key, ())}
            edges.setdefault(job, (set(), set()))[side].update(names)
    reported = {job: tuple(sorted(side) for side in sides) for job, sides in edges.items()}
    with_data = {job: sides for job, sides in reported.items() if any(sides)}
    if with_data != EDGES:
        found.append(f"edges: {with_data}")
    if "private" in reported:
        found.append("the task `private` is reported despite its emission policy")
    database = events.with_name("lineage.db")
    _headwater("ingest", str(events), "--database", str(database))
    gate = _headwater("gate", "/srv/shop/report.csv", "--as-of", NOW, "--json", database=database)
    if not gate:
        return [*found, "report.csv is unknown"]
    (checked,) = json.loads(gate)["datasets"]
    messages = [violation["message"] for violation in checked["violations"]]
    if messages != ["failed for map index 2: no data for apac"]:
        found.append(f"gate of report.csv: {messages}")
    return found


def _headwater(*arguments: str, database: Path | None = None) -> str:
    program = Path(sys.executable).with_name("headwater")
    selected = () if database is None else ("--database", str(database))
    done = subprocess.run([program, *arguments, *selected], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stderr)
    return done.stdout


def installed_in(folder: Path, version: str, date: str = "") -> Path:
    """Install a version of Airflow with its newest OpenLineage provider; return its programs."""
    uv, python = find_uv(), str(folder / "venv" / "bin" / "python")
    subprocess.run([uv, "venv", "-q", "--python", sys.executable, folder / "venv"], check=True)
    options = ["--exclude-newer", date] if date else []
    for package in NEWEST if date else ():
        options += ["--exclude-newer-package", f"{package}=2100-01-01"]
    packages = [f"apache-airflow=={version}", *PACKAGES]
    subprocess.run(
        [uv, "pip", "install", "-q", "--python", python, *options, *packages], check=True
    )
    return folder / "venv" / "bin"


def provider_of(programs: Path) -> str:
    """Return the version of the OpenLineage provider in an environment."""
    code = f"from importlib.metadata import version; print(version({PACKAGES[0]!r}))"
    shown: Any = subprocess.run([programs / "python", "-c", code], capture_output=True, text=True)
    return str(shown.stdout.strip())


def main(versions: list[str]) -> int:
    """Print the result of each version; return 1 if one differs."""
    is_wrong = False
    for wanted in versions:
        version, _, date = wanted.partition("@")
        with tempfile.TemporaryDirectory() as name:
            began, folder = time.monotonic(), Path(name)
            programs = installed_in(folder, version, date)
            found = problems(run_dag(programs, folder))
            seconds = time.monotonic() - began
            provider = provider_of(programs)
        is_wrong |= bool(found)
        result = "; ".join(found) or "as expected"
        print(f"Airflow {version}, provider {provider}: {result} ({seconds:.0f} s)")  # noqa: T201
    return int(is_wrong)


if __name__ == "__main__":
    os.chdir(REPOSITORY)
    raise SystemExit(main(sys.argv[1:]))
