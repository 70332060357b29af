"""Every example in the help of a command, on a sample log with a server."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson
import pytest

import headwater_client
from headwater.cli import command_line
from headwater.log import EventLog
from packages.headwater.tests.conftest import Answer, Call
from packages.headwater.tests.plugins.provenance.test_bundle import write_keys
from packages.headwater.tests.support.catalog_exports import (
    datahub_export,
    openmetadata_edge,
    openmetadata_export,
)

Run = Callable[[str], Answer]

pytestmark = pytest.mark.server

_BIN = Path(sys.executable).parent
_LINEAGE = Path(headwater_client.__file__).with_name("lineage.yaml")


def _examples(command: Any) -> Iterator[str]:
    for item in getattr(command, "commands", {}).values():
        yield from _examples(item)
    lines = (command.help or "").splitlines()
    yield from (line.partition("Example: ")[2] for line in lines if "Example: " in line)


_ALL = sorted(
    dict.fromkeys(_examples(command_line())),
    # A log with keys requires one; `doctor` fails after the event of `run`, `gate` after `taint`.
    key=lambda line: ("keys" in line, "taint" in line, "remove" in line, "headwater run" in line),
)


def _sample(build: Any) -> list[Any]:
    """Return the taxi pipeline of the examples."""

    def column(field: str, of: str, origin: str) -> dict[str, Any]:
        reported = {"namespace": "db", "name": of, "field": origin, "transformations": []}
        return {"fields": {field: {"inputFields": [reported]}}}

    def schema(*names: str) -> dict[str, Any]:
        return {"fields": [{"name": name, "type": "string"} for name in names]}

    stage = [
        build.run("COMPLETE", f"s{n}", "stage", f"0{n}:00:00", reads=(
            "file|/landing/yellow_tripdata_2025-05.parquet",))
        for n in (1, 2)
    ]  # fmt: skip
    for event, names in zip(stage, (("a",), ("a", "b")), strict=True):
        event["outputs"] = [build.dataset("db|yellow_taxi_staging", schema=schema(*names))]
    merge = build.run("COMPLETE", "m", "merge", "03:00:00", reads=("db|yellow_taxi_staging",))
    pii = {"tags": [{"key": "pii", "value": "true", "field": "tpep_pickup_datetime"}]}
    fields = schema("tpep_pickup_datetime")
    version = {"version": {"datasetVersion": "8123456789012345678"}}
    merge["outputs"] = [build.dataset("db|yellow_taxi_raw", schema=fields, tags=pii, **version)]
    count = build.run("COMPLETE", "c", "count", "04:00:00", reads=("db|yellow_taxi_raw",))
    lineage = column("total_rides", "yellow_taxi_raw", "tpep_pickup_datetime")
    count["outputs"] = [build.dataset("db|yellow_rides_hourly_actuals", columnLineage=lineage)]
    flow, model = "TrainForecastModelFlow", "metaflow|TrainForecastModelFlow/model"
    return [
        *stage, merge, count,
        build.run("COMPLETE", "t", f"{flow}.train", "05:00:00",
                  reads=("db|yellow_rides_hourly_actuals",), writes=(model,)),
        build.run("COMPLETE", "w", f"{flow}.write", "06:00:00",
                  reads=(model,), writes=("db|yellow_rides_hourly_forecast",)),
        build.run("COMPLETE", "o", "weather", "06:00:00", reads=("https://noaa|w.csv",),
                  writes=("db|weather_raw",)),
        build.run("FAIL", "f", "ingest_weather_data", "06:30:00"),
        build.run("COMPLETE", "p", "copy", "07:00:00", reads=("postgres://db:5432|shop.orders",)),
        build.run("COMPLETE", "q", "use", "07:00:00", reads=("hive://h|hive.orders",)),
    ]  # fmt: skip


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory, build: Any) -> Iterator[tuple[Path, str]]:
    """Yield a folder with the files of the examples, and the URL of the server."""
    folder = tmp_path_factory.mktemp("examples")
    (folder / "events").mkdir()
    (folder / "events" / "all.json").write_bytes(orjson.dumps(_sample(build)))
    (folder / "logs").mkdir()
    (folder / "lineage.yaml").write_text(_LINEAGE.read_text())
    (folder / "policy.yaml").write_text("no_pii: false\nsources: ['file:*', 'https:*']\n")
    (folder / "deliver.yaml").write_text("backends: [{name: f, type: file, path: out.jsonl}]\n")
    datahub_export(folder / "export.json")
    openmetadata_export(folder / "lineage.csv", openmetadata_edge("warehouse.a", "warehouse.b"))
    log = EventLog(str(folder / "lineage.db"))
    log.append([build.entry(body) for body in _sample(build)])
    log.close()
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("HEADWATER", "OPENLIN"))}
    there: dict[str, Any] = {"cwd": folder, "env": {**clean, "HEADWATER_PORT": "0"}}
    serve = next(item for item in _ALL if item.startswith("headwater serve"))
    serve = serve.replace("/var/spool/lineage", str(folder / "spool"))
    line = ["sh", "-c", f"exec {_BIN}/{serve}"]
    server = subprocess.Popen(line, stdout=subprocess.PIPE, text=True, **there)
    assert server.stdout is not None
    url = server.stdout.readline().split()[3].rstrip(",")
    (folder / "model.pkl").write_text("a model")
    write_keys(folder, "key.pem", "public.pem")
    signed = ["--bundle", "model.provenance.json", "--key", "key.pem", "--file", "model.pkl"]
    sign = [_BIN / "headwater", "provenance", "TrainForecastModelFlow/model", *signed, "--url", url]
    check = [_BIN / "headwater", "check", "contract.yaml", "--write", "--url", url]
    # So that `headwater health` exits with 0 although there is a failed run.
    acknowledge = [_BIN / "headwater", "acknowledge", "ingest_weather_data", "--url", url]
    for command in (check, acknowledge, sign):
        subprocess.run(command, check=True, capture_output=True, **there)
    yield folder, url
    server.send_signal(signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        server.wait(timeout=20)
    server.stdout.close()
    assert server.returncode == 0


@pytest.fixture
def run(sample: tuple[Path, str], call: Call, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a line in the folder: in this process, unless it needs a shell."""
    folder, url = sample
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HEADWATER_URL", url)

    def run(line: str) -> Answer:
        if ">" not in line:
            return call(*shlex.split(line)[1:])
        result = subprocess.run(f"{_BIN}/{line}", shell=True, capture_output=True, text=True)
        return Answer(result.returncode, result.stdout, result.stderr)

    return run


# Commands that the fixture runs, that call AWS, and one that needs a project with a finished run.
_ELSEWHERE = (" serve ", "glue", "mwaa", "redshift", "dbt")


@pytest.mark.parametrize(
    "example", [item for item in _ALL if not any(word in item for word in _ELSEWHERE)]
)
def test_every_help_example_runs_unchanged(
    example: str, sample: tuple[Path, str], run: Run
) -> None:
    # Only the server's address differs, if the example has one.
    result = run(example.replace("http://localhost:9002", sample[1]))
    assert result.returncode == 0, result.stderr
    assert "headwater: " not in result.stderr  # errors begin like this; other lines are notes
