"""Schedules, versions and counts in events that no integer or date can hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from headwater.events import reports_indirect
from headwater.health._schedule import Start, times_after
from headwater.log import EventLog
from headwater.projection.live import Batch, Live
from headwater.server.app import make_app
from packages.headwater.tests.support.graphs import DAG

_LONG = "9" * 5_000  # Python converts at most 4,300 digits
_SCHEDULES = (
    *("² * * * *", "5 ² * * *", f"{_LONG} * * * *", f"*/{_LONG} * * * *", f"0-{_LONG} * * * *"),
    *(f"{_LONG} days, 0:00:00", "999999999 days, 0:00:00", f"{_LONG}:00:00", "0:00:²²"),
)
_ROUTES = (
    *("problems", "health", "findings", "datasets", "jobs", "runs", "completeness"),
    *("runs/r2", "gate?dataset=a", "tree?node=a", "node?node=a"),
)


def _run(build: Any, day: int, schedule: str, count: str, version: str) -> list[dict[str, Any]]:
    """Return the events of a run, with all values that are read as numbers or times.

    Counts are those of a test of dbt.
    """
    kind = DAG if count == "1" else "DBT/TEST"
    events = [
        build.run(type_, f"r{day}", "dag", f"08:0{minute}:00", kind=kind,
                  reads=("db|a",), writes=("db|b",))
        for minute, type_ in enumerate(("START", "COMPLETE"))
    ]  # fmt: skip
    for event in events:
        event["eventTime"] = event["eventTime"].replace("2025-11-21", f"2025-11-{20 + day}")
        event["run"].setdefault("facets", {}).update(
            airflow={"task": {}},
            airflowDagRun={"dag": {"dag_id": "dag", "timetable_summary": schedule}},
            processing_engine={"name": "airflow", "version": version},
        )
        assertion = {"assertion": "u", "success": False, "actual": count, "expected": f"> {count}"}
        event["inputs"][0]["inputFacets"] = {"dataQualityAssertions": {"assertions": [assertion]}}
        producer = f"https://h/OpenLineage/tree/{version}/integration/spark"
        source = {"namespace": "db", "name": "a", "field": "y"}
        fields = {"x": {"inputFields": [source]}}
        event["outputs"][0]["facets"] = {"columnLineage": {"_producer": producer, "fields": fields}}
    return events


@pytest.mark.parametrize(
    ("schedule", "count", "version"),
    [(schedule, "1", "3.1.0") for schedule in _SCHEDULES]
    + [("@daily", _LONG, "3.1.0"), ("@daily", "²", "3.1.0"), ("@daily", "1", _LONG)],
    ids=lambda value: value[:12],
)
def test_number_that_is_too_large_breaks_no_query(
    schedule: str, count: str, version: str, build: Any, tmp_path: Path
) -> None:
    log = EventLog(str(tmp_path / "log.db"))
    live = Live(log)
    for day in range(3):
        live.ingest(Batch(list(map(build.entry, _run(build, day, schedule, count, version)))))
    with TestClient(make_app(live)) as client:
        for route in _ROUTES:
            assert client.get(f"/api/v2/{route}").status_code == 200, route
        assert client.get("/metrics").status_code == 200
    log.close()


@pytest.mark.parametrize("schedule", ["@daily", "0 7 * * *", "1 day, 0:00:00"])
def test_times_after_the_year_9999_are_unknown(schedule: str) -> None:
    last_day = 253_402_214_400_000_000
    assert times_after(Start(last_day - 10 * 86_400_000_000, False, None, schedule, "UTC"))
    assert times_after(Start(last_day, False, None, schedule, "UTC")) is None


@pytest.mark.parametrize(
    ("version", "is_complete"),
    [("1.17.9", False), ("1.18.0", True), ("1.18-SNAPSHOT", True), ("main", False), (_LONG, True)],
    ids=lambda value: str(value)[:12],
)
def test_version_of_the_producer_decides_if_all_uses_of_columns_are_reported(
    version: str, is_complete: bool
) -> None:
    producer = f"https://github.com/OpenLineage/OpenLineage/tree/{version}/integration/spark"
    assert reports_indirect({"_producer": producer, "fields": {}}) is is_complete


@pytest.mark.parametrize(
    ("fields", "dataset", "is_complete"),
    [("DIRECT", None, False), ("INDIRECT", None, True), ("DIRECT", "INDIRECT", True)],
)
def test_unknown_producer_reports_all_uses_of_columns_if_it_reports_an_indirect_one(
    fields: str, dataset: str | None, is_complete: bool
) -> None:
    direct, whole = (
        [{"namespace": "db", "name": "a", "field": "y", "transformations": [{"type": type_}]}]
        for type_ in (fields, dataset)
    )
    facet = {"fields": {"x": {"inputFields": direct}}, "dataset": whole if dataset else []}
    assert reports_indirect(facet) is is_complete
