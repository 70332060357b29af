"""`headwater harvest airflow-logs` with logs of the console transport from Airflow's logging."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from commands.environment import script
from headwater.log import EventLog

_TASK = """
import sys
from airflow.sdk.log import configure_logging
from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import InputDataset, Job, Run, RunEvent, RunState
from openlineage.client.transport.console import ConsoleConfig, ConsoleTransport
with open(sys.argv[1], "w") as log:
    configure_logging(json_output=True, output=log, log_level="INFO")
    client = OpenLineageClient(transport=ConsoleTransport(ConsoleConfig()))
    for number in range(3):
        client.emit(RunEvent(
            eventTime=f"2026-11-21T08:00:0{number}Z", eventType=RunState.RUNNING,
            producer="https://example.org", job=Job("demo", "dag.task"),
            run=Run("01a1fd3d-1a97-7b7f-8cb0-753b3dcc6260"),
            inputs=[InputDataset("file", '/data/"Zahlen" ü {1}')],
        ))
"""


@pytest.mark.airflow
def test_console_transport_events_in_airflow_logs_are_imported(tmp_path: Path) -> None:
    logs = tmp_path / "dag_id=dag" / "run_id=r" / "task_id=task"
    logs.mkdir(parents=True)
    environ = os.environ | {
        "AIRFLOW_HOME": str(tmp_path / "airflow"),
        "HEADWATER_HARVESTS": str(tmp_path / "harvests"),
    }
    log = logs / "attempt=1.log"
    subprocess.run([sys.executable, "-c", _TASK, str(log)], env=environ, check=True)
    assert "event" in json.loads(log.read_text().splitlines()[-1])  # a line is JSON, as in a task
    database = tmp_path / "log.db"
    command = [script("headwater"), "harvest", "airflow-logs", str(tmp_path / "dag_id=dag")]
    done = subprocess.run(
        [*command, "--yes", "--database", str(database)],
        env=environ,
        capture_output=True,
        text=True,
    )
    assert done.stdout.endswith("stored 3, duplicates 0\n"), done.stdout + done.stderr
    log_ = EventLog(str(database), must_exist=True)
    events = [json.loads(body) for _, body in log_.read()]
    log_.close()
    assert {event["inputs"][0]["name"] for event in events} == {'/data/"Zahlen" ü {1}'}
