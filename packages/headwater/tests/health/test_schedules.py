"""Evidence of a schedule: without it, nothing is late."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.health.writers import rhythm_of_writes
from headwater.identity import DatasetName
from headwater.plugins.trust.queries import freshness_answer
from packages.headwater.tests.support.graphs import DAG, scheduled
from packages.headwater.tests.support.moments import at

_LATER = "2025-11-24T12:00:00Z"


def _runs(build: Any, *times: str, **facets: Any) -> list[dict[str, Any]]:
    return [
        build.run("COMPLETE", time, "job", "00:00:00", kind=DAG, facets=facets)
        | {"eventTime": f"2025-11-{time}Z"}
        for time in times
    ]


def _dag(schedule: str, run_type: str = "scheduled", zone: str | None = None) -> dict[str, Any]:
    dag = {"timetable_summary": schedule, "timetable": {"timezone": zone} if zone else {}}
    return {"dag": dag, "dagRun": {"run_type": run_type}}


def _is_late(build: Any, events: list[dict[str, Any]], now: str = _LATER) -> bool:
    return bool(freshness_answer(at(build.state(*events), now))["items"])


_MINUTES = ("21T08:00:00", "21T08:01:00", "21T08:02:00")
_DAYS = ("19T08:00:00", "20T08:00:00", "21T08:00:00")


@pytest.mark.parametrize(
    "times",
    [
        _MINUTES,
        (*_MINUTES, "21T08:03:00", "21T08:04:00"),
        ("20T08:00:00", *_MINUTES),
        ("18T08:00:00", "18T08:20:00", "18T17:00:00", "19T11:00:00", "20T10:00:00", "20T10:04:00",
         "20T22:00:00", "21T09:00:00"),
        ("16T08:00:00", "17T15:20:00", "19T11:02:00"),
        ("12T09:12:00", "13T14:03:00", "14T10:40:00", "15T17:05:00", "16T09:55:00"),
    ],
)  # fmt: skip
def test_manual_runs_do_not_make_a_job_late(times: tuple[str, ...], build: Any) -> None:
    assert not _is_late(build, _runs(build, *times))


def test_rhythm_of_several_days_makes_a_job_late(build: Any) -> None:
    assert _is_late(build, _runs(build, *_DAYS))


def test_nominal_times_make_a_job_late_after_hours(build: Any) -> None:
    events = [scheduled(build, hour, "job") for hour in ("08", "09", "10")]
    assert not _is_late(build, events, "2025-11-21T11:05:00Z")
    assert _is_late(build, events, "2025-11-21T14:00:00Z")


def test_runs_that_catch_up_are_late_by_their_nominal_times(build: Any) -> None:
    events = _runs(build, *_MINUTES, "21T08:03:00", airflowDagRun=_dag("@daily"))
    for day, event in enumerate(events, 17):
        event["run"]["facets"]["nominalTime"] = {"nominalStartTime": f"2025-11-{day}T00:00:00Z"}
    assert not _is_late(build, events, "2025-11-22T08:00:00Z")
    assert _is_late(build, events, "2025-11-23T00:00:00Z")


@pytest.mark.parametrize("schedule", ["@daily", "unknown"])
@pytest.mark.parametrize("run_type", ["backfill", "scheduled"])
def test_run_for_an_earlier_day_does_not_hide_that_a_job_is_late(
    schedule: str, run_type: str, build: Any
) -> None:
    def with_nominal(time: str, day: str, run_type: str) -> dict[str, Any]:
        (event,) = _runs(build, time, airflowDagRun=_dag(schedule, run_type, zone="UTC"))
        event["run"]["facets"]["nominalTime"] = {"nominalStartTime": f"2025-11-{day}T00:00:00Z"}
        return event

    days = [with_nominal(time, time[:2], "scheduled") for time in _DAYS]
    backfill = with_nominal("24T02:00:00", "10", run_type)  # or a run that was cleared
    assert _is_late(build, [*days, backfill])
    assert not _is_late(build, [*days, with_nominal("24T02:00:00", "24", run_type)])


@pytest.mark.parametrize(
    ("schedule", "times", "late"),
    [("*/1 * * * *", _MINUTES, True), ("None", _DAYS, False), ("@once", _DAYS, False)],
)
def test_schedule_of_airflow_decides(
    schedule: str, times: tuple[str, ...], late: bool, build: Any
) -> None:
    assert _is_late(build, _runs(build, *times, airflowDagRun=_dag(schedule))) is late


def test_manual_and_ad_hoc_runs_have_no_rhythm(build: Any) -> None:
    for run_type in ("manual", "backfill"):
        assert not _is_late(build, _runs(build, *_DAYS, airflowDagRun=_dag("@daily", run_type)))
    tags = {"tags": [{"key": "ad-hoc", "value": "true"}]}
    assert not _is_late(build, _runs(build, *_DAYS, tags=tags))


def test_asset_triggered_job_is_late_only_if_its_asset_was_written(build: Any) -> None:
    events = _runs(build, *_DAYS, airflowDagRun=_dag("Asset"))
    for event in events:
        event["inputs"] = [build.dataset("db|raw")]
    assert not _is_late(build, events)
    (write,) = _runs(build, "22T07:00:00")
    write["job"] = {"namespace": "demo", "name": "load"}
    write["outputs"] = [build.dataset("db|raw")]
    assert _is_late(build, [*events, write])


def test_asset_schedule_of_a_dag_applies_to_the_tables_of_its_tasks(build: Any) -> None:
    """Only the events of the DAG state its schedule."""
    dags = _runs(build, *_DAYS, airflowDagRun=_dag("Asset"))
    tasks = [
        build.run("COMPLETE", f"task {number}", "dag.task", dag["eventTime"][11:19],
                  parent=(dag["run"]["runId"], dag["job"]["name"]), reads=("db|raw",),
                  writes=("db|made",)) | {"eventTime": dag["eventTime"]}
        for number, dag in enumerate(dags)
    ]  # fmt: skip
    state = at(build.state(*dags, *tasks), _LATER)
    assert rhythm_of_writes(state, DatasetName("db", "made"), needs_reason=False)
    assert rhythm_of_writes(state, DatasetName("db", "made")) is None


_BERLIN = "Europe/Berlin"


@pytest.mark.parametrize(
    ("schedule", "zone", "times", "last_in_time", "late"),
    [
        ("0 6 * * *", "UTC", ("20T06:00:10",), "21T17:00:00", "21T19:00:00"),
        ("@daily", "UTC", ("20T00:00:10", "21T00:00:10"), "22T11:00:00", "22T13:00:00"),
        ("1 day, 0:00:00", None, ("20T06:00:10",), "21T17:00:00", "21T19:00:00"),
        # Friday the 21st: the next time is on Monday
        ("0 6 * * 1-5", "UTC", ("19T06:00:10", "20T06:00:10", "21T06:00:10"), "24T17:00:00",
         "24T19:00:00"),
        ("0 6 * * mon,wed,fri", "UTC", ("19T06:00:10", "21T06:00:10"), "25T05:00:00",
         "25T07:00:00"),
        ("0 3 1,15 * *", "UTC", ("01T03:00:10", "15T03:00:10"), "30T00:00:00", None),
        # 06:00 in Berlin is 05:00 UTC
        ("0 6,18 * * *", _BERLIN, ("20T05:00:10",), "20T22:30:00", "20T23:30:00"),
        # without a time zone, only the longest gap counts
        ("0 6 * * 1-5", None, ("17T06:00:10",), "21T00:00:00", "21T23:00:00"),
        # the newest schedule counts
        ("0 6 * * 0", "UTC", ("16T06:00:10",), "25T00:00:00", "27T00:00:00"),
    ],
)  # fmt: skip
def test_stated_schedule_makes_a_dag_late_after_few_runs(
    schedule: str, zone: str | None, times: tuple[str, ...], last_in_time: str, late: str | None,
    build: Any,
) -> None:  # fmt: skip
    events = _runs(build, *times, airflowDagRun=_dag(schedule, zone=zone))
    assert not _is_late(build, events, f"2025-11-{last_in_time}Z")
    assert late is None or _is_late(build, events, f"2025-11-{late}Z")


def test_nominal_time_shows_the_time_zone_of_a_schedule(build: Any) -> None:
    events = _runs(build, "20T05:00:10", airflowDagRun=_dag("0 6,18 * * 1-5"))
    events[0]["run"]["facets"]["nominalTime"] = {"nominalStartTime": "2025-11-20T05:00:00Z"}
    assert not _is_late(build, events, "2025-11-20T22:30:00Z")
    assert _is_late(build, events, "2025-11-20T23:30:00Z")


def test_schedule_follows_the_change_to_winter_time(build: Any) -> None:
    events = _runs(build, "20T00:00:00", airflowDagRun=_dag("0 6,7 * * *", zone=_BERLIN))
    events[0]["eventTime"] = "2025-10-25T05:00:10Z"  # 07:00; the next day at 06:00 it is 05:00 UTC
    assert not _is_late(build, events, "2025-10-26T05:20:00Z")
    assert _is_late(build, events, "2025-10-26T05:40:00Z")


def test_changed_schedule_counts_from_its_first_run(build: Any) -> None:
    hourly = ("20T08:00:10", "20T09:00:10", "20T10:00:10")
    events = [
        *_runs(build, *hourly, airflowDagRun=_dag("@hourly", zone="UTC")),
        *_runs(build, "21T00:00:10", airflowDagRun=_dag("@daily", zone="UTC")),
    ]
    events[-1]["run"]["runId"] = "daily"
    assert not _is_late(build, events, "2025-11-22T11:00:00Z")
    assert _is_late(build, events, "2025-11-22T13:00:00Z")


def test_task_that_only_some_runs_need_follows_its_own_rhythm(build: Any) -> None:
    events = []
    for day in ("16", "17", "18", "19", "20", "21"):
        facets = {"airflowDagRun": _dag("@hourly", zone="UTC")}
        (task,) = _runs(build, f"{day}T08:00:10", airflow=facets["airflowDagRun"])
        task["run"]["facets"]["parent"] = {
            "run": {"runId": f"dag-{day}"}, "job": {"namespace": "demo", "name": "dag"},
        }  # fmt: skip
        task["run"]["runId"] = f"task-{day}"
        events.append(task)
    assert not _is_late(build, events, "2025-11-21T12:00:00Z")


@pytest.mark.parametrize("schedule", ["61 * * * *", "0 6 * *", "*/0 * * * *", "x", "0 6 L * *"])
def test_unsupported_schedule_is_no_evidence_after_one_run(schedule: str, build: Any) -> None:
    assert not _is_late(build, _runs(build, "20T06:00:00", airflowDagRun=_dag(schedule)))
