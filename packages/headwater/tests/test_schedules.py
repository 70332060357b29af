"""Evidence of a schedule: without it, nothing is late."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.plugins.trust.queries import freshness_answer

from .graphs import DAG, scheduled
from .test_health import at

_LATER = "2025-11-24T12:00:00Z"


def _runs(build: Any, *times: str, **facets: Any) -> list[dict[str, Any]]:
    return [
        build.run("COMPLETE", time, "job", "00:00:00", kind=DAG, facets=facets)
        | {"eventTime": f"2025-11-{time}Z"}
        for time in times
    ]


def _dag(schedule: str, run_type: str = "scheduled") -> dict[str, Any]:
    return {"dag": {"timetable_summary": schedule}, "dagRun": {"run_type": run_type}}


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
    ],
)  # fmt: skip
def test_runs_by_hand_do_not_make_a_job_late(times: tuple[str, ...], build: Any) -> None:
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
