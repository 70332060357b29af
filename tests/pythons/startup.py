"""Start the parts of the demo with the current interpreter: `python startup.py FOLDER PORT`.

It needs no development package, so that a missing dependency of the project is detected.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import platform
import subprocess
import sys
import warnings
from pathlib import Path

from commands.environment import child_environ, script
from commands.processes import Service, stopping
from commands.services import lineage_caught_up, lineage_ready, start_headwater
from lakehouse.lineage_server import lineage_server
from lakehouse.settings import REPOSITORY, Settings, load_settings

PACKAGES = (
    *("lakehouse", "spark_jobs", "metaflow_flows", "commands", "infra"),
    *("headwater", "headwater_aws", "headwater_client", "metaflow_openlineage"),
)
RUN_ALONE = {
    *("commands.__main__", "headwater.__main__", "spark_jobs.run", "spark_jobs.emr_main"),
    "commands.suite",  # a plugin of pytest, which only contributors have
}
FLOW = REPOSITORY / "packages" / "metaflow-openlineage" / "examples" / "line_flow.py"
SECRETS = (
    '[{"name": "user", "value": "u"}, {"name": "password", "value": "hunter2Xq9vT4kLmZ',
    'if ("hunter2Xq9vT4kLmZ".equals(password)) login();',
    'variable "db_password" {\n  type = string\n  default = "hunter2Xq9vT4kLmZ"\n}',
)
"""Texts with a secret that Python 3.11.2 did not mask, because of an error in its regular
expressions: a possessive repeat of a lookahead (`(?:(?!x).)*+`) ends too late before Python 3.11.5.
An atomic group (`(?>(?:(?!x).)*)`) does not.
"""
PARSE = """
import sys
from airflow.dag_processing.dagbag import DagBag
bag = DagBag(sys.argv[1])
assert not bag.import_errors, bag.import_errors
assert list(bag.dags) == ["ingest_yellow_taxi_data"], bag.dags
"""


def import_every_module() -> int:
    """Import every module of the project; return their number."""
    names = []
    for package in map(importlib.import_module, PACKAGES):
        modules = pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
        names += [module.name for module in modules if module.name not in RUN_ALONE]
    for name in names:
        importlib.import_module(name)
    return len(names)


def fit_every_model() -> None:
    """Fit and predict with both models; a warning is an error."""
    import numpy as np
    import pandas as pd

    from metaflow_flows.train_forecast_model.forecasting import fit, predict

    hours = pd.date_range("2025-05-01", periods=28 * 24, freq="h")
    rides = np.arange(len(hours)) % 24 + 1.0
    weather = {"prcp": 1.0, "tavg": 15.0, "tmin": 10.0, "tmax": 20.0, "county_code": "30061"}
    training = pd.DataFrame({"unique_id": 4, "ds": hours, "y": rides, **weather})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for model in ("seasonal_naive", "weather"):
            assert len(predict(fit(training, model), 24)) == 24, model


def mask_secrets() -> None:
    """Mask the secret in each text of `SECRETS`."""
    from headwater_client.masking.text import mask_code

    for text in SECRETS:
        assert "hunter2" not in mask_code(text), text


def restore_snapshot(folder: Path) -> None:
    """Save the lineage server's state of one finished run and restore it."""
    from headwater.log import EventLog, entry_of
    from headwater.projection.live import Batch, Live
    from headwater.projection.snapshots.state import restore, save

    event = {
        "eventType": "COMPLETE",
        "eventTime": "2025-11-21T08:30:00Z",
        "run": {"runId": "00000000-0000-4000-8000-000000000001"},
        "job": {"namespace": "nyc_taxi", "name": "stage"},
    }
    log = EventLog(f"sqlite:///{folder}/snapshot.db")
    live = Live(log)
    live.ingest(Batch([entry_of(json.dumps(event).encode(), event)]))
    with live.reading() as state:
        save(log, state, live.newest)
    assert restore(log)[1] == live.newest, "the snapshot was not restored: see the warning above"
    log.close()


def parse_dag(environ: dict[str, str]) -> None:
    """Load a DAG file like Airflow's DAG processor."""
    file = REPOSITORY / "airflow" / "dags" / "ingest_yellow_taxi_data.py"
    subprocess.run([script("airflow"), "db", "migrate"], env=environ, check=True)
    subprocess.run([sys.executable, "-c", PARSE, str(file)], env=environ, check=True)


def run_flow(settings: Settings, environ: dict[str, str], server: Service) -> None:
    """Run a flow and wait for its lineage at the server."""
    subprocess.run([sys.executable, str(FLOW), "run"], env=environ, check=True)
    server.wait_until(lambda: lineage_caught_up(settings), 120)
    with lineage_server(settings, timeout=60) as client:
        answer = client.get("/api/v2/search", params={"text": "LineFlow.train"}).raise_for_status()
    assert "LineFlow.train" in answer.text, answer.text


def main(folder: Path, port: int) -> None:
    """Import, fit, mask, restore a snapshot, start the lineage server, parse a DAG, run a flow."""
    print(f"{import_every_module()} modules imported", flush=True)  # noqa: T201
    fit_every_model()
    mask_secrets()
    restore_snapshot(folder)
    settings = load_settings(state_dir=folder, headwater_port=port)
    environ = child_environ(settings) | {"TMPDIR": str(folder)}
    services: list[Service] = []
    with stopping(services):
        services.append(start_headwater(settings))
        services[0].wait_until(lambda: lineage_ready(settings), 120)
        parse_dag(environ)
        run_flow(settings, environ, services[0])
    print(f"started on Python {platform.python_version()}")  # noqa: T201


if __name__ == "__main__":
    os.chdir(REPOSITORY)
    main(Path(sys.argv[1]), int(sys.argv[2]))
