"""The committed contract and alert rules, against recorded events of the pipeline."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
import yaml

from commands.services import headwater_environ
from headwater.log import EventLog, entry_of
from headwater.plugins.alerts.rules import read_rules
from headwater.plugins.alerts.watch import Watch
from headwater.plugins.trust.queries import check_answer
from headwater.projection.live import Batch, Live
from lakehouse.settings import REPOSITORY, load_settings
from packages.headwater.tests.support.recording_backend import pipeline

CONTRACT = REPOSITORY / "contracts" / "pipeline.yaml"
ALERTS = REPOSITORY / "alerts.yaml"


@pytest.fixture
def live() -> Iterator[Live]:
    live = Live(EventLog("sqlite://"))
    _ingest(live, pipeline())
    yield live
    live.log.close()


def _ingest(live: Live, events: Any) -> None:
    live.ingest(Batch([entry_of(orjson.dumps(event)) for event in events]))


def _findings(live: Live, contract: Any) -> list[tuple[str, str]]:
    with live.reading() as state:
        answer = check_answer(state, json.dumps(contract))
    return [(finding["kind"], finding["message"]) for finding in answer["findings"]]


def test_recorded_pipeline_keeps_the_contract(live: Live) -> None:
    contract = yaml.safe_load(CONTRACT.read_text())
    assert _findings(live, contract) == []


@pytest.mark.parametrize("dropped", ["job", "column"])
def test_contract_finds_lineage_that_is_gone(dropped: str, live: Live) -> None:
    contract = yaml.safe_load(CONTRACT.read_text())
    if dropped == "job":
        contract["jobs"]["ingest_weather_data.archive"] = {"inputs": ["weather_raw"]}
    else:
        contract["datasets"]["yellow_taxi_raw"]["columns"]["pickup_zone"] = {}
    assert len(_findings(live, contract)) == 1


def test_contract_has_every_job_of_the_pipeline(live: Live) -> None:
    text = (REPOSITORY / "docs" / "reference" / "pipeline.md").read_text()
    jobs = {line.split("`")[1] for line in text.splitlines() if line.startswith("| `")}
    assert set(yaml.safe_load(CONTRACT.read_text())["jobs"]) == jobs


def test_server_uses_the_shipped_alerts_unless_another_file_is_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = load_settings()
    assert headwater_environ(settings)["HEADWATER_ALERTS"] == str(ALERTS)
    monkeypatch.setenv("HEADWATER_ALERTS", "")
    assert headwater_environ(settings)["HEADWATER_ALERTS"] == ""


def test_server_lets_airflow_frame_the_page_unless_other_origins_are_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("HEADWATER_FRAME_ORIGINS", raising=False)
    settings = load_settings(airflow_port=9191)
    default = "http://localhost:9191 http://127.0.0.1:9191"
    assert headwater_environ(settings)["HEADWATER_FRAME_ORIGINS"] == default
    monkeypatch.setenv("HEADWATER_FRAME_ORIGINS", "https://airflow.example")
    origins = headwater_environ(settings)["HEADWATER_FRAME_ORIGINS"]
    assert origins == "https://airflow.example"


def test_failed_pipeline_is_logged_as_an_alert(
    live: Live, caplog: pytest.LogCaptureFixture
) -> None:
    rules = read_rules(ALERTS)
    assert {action.type for rule in rules for action in rule.actions} == {"log"}
    watch = Watch(rules, live)
    last = max(pipeline(), key=lambda event: event["eventTime"])
    failed = {**last, "eventType": "FAIL", "eventTime": "2026-11-22T18:00:00Z"}
    failed["run"] = {"runId": "01a2034c-0000-7000-8000-000000000001"}
    failed["job"] = {"namespace": "nyc_taxi", "name": "ingest_yellow_taxi_data", "facets": {}}
    _ingest(live, [failed])
    with caplog.at_level(logging.WARNING, "headwater.alerts"):
        watch.check()
        watch.act()
    assert "a pipeline failed" in caplog.text
