"""Producers continue with a warning if the spool folder cannot be created."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import Job, Run, RunEvent, RunState

from headwater_client._report import Report
from lakehouse.backends import lineage_environ
from lakehouse.settings import Settings, load_settings
from metaflow_openlineage._emit import Emitter

EVENT = RunEvent(
    eventType=RunState.START,
    eventTime="2025-11-21T08:00:00Z",
    run=Run(runId="01a1fd3d-1a97-7b7f-8cb0-753b3dcc6260"),
    job=Job(namespace="demo", name="job"),
    producer="https://example.org/tests",
)


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Settings]:
    """Return the settings of a lakehouse with a file in place of the spool folder."""
    settings = load_settings(state_dir=tmp_path / "state")
    settings.spool_dir.parent.mkdir(parents=True, exist_ok=True)
    settings.spool_dir.write_text("a file in the way")
    for name, value in lineage_environ(settings).items():
        monkeypatch.setenv(name, value)
    yield settings
    assert settings.spool_dir.read_text() == "a file in the way"


def test_openlineage_client_of_an_airflow_task_warns_once(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    client = OpenLineageClient()
    for _ in range(2):
        client.emit(EVENT)
    warnings = [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]
    assert [str(settings.spool_dir) in warning for warning in warnings] == [True]


def test_metaflow_step_continues(settings: Settings) -> None:
    emitter = Emitter(patience=60)
    emitter.emit(EVENT)
    emitter.close()
    assert emitter.patience > 0


def test_command_run_as_a_job_continues(settings: Settings) -> None:
    report = Report(Path(settings.spool_dir), None)
    report.send(lambda: b"{}")
    (problem,) = report.close()
    assert "File exists" in problem
