"""Causes of lateness: due time and upstream problems."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.health.states import health_of
from headwater.lookup import find_node
from headwater.plugins.trust._lateness import lateness_answer
from headwater.plugins.trust.queries import findings_answer, freshness_answer
from headwater.projection import State
from packages.headwater.tests.support.graphs import DAG, TASK
from packages.headwater.tests.support.moments import at

_DAYS = ("10", "11", "12", "13")


def _nights(build: Any) -> list[dict[str, Any]]:
    """Return nightly runs: `load` writes raw; `make`, in another pipeline, writes report."""
    events = []
    for day in _DAYS:
        night = [
            build.run("COMPLETE", f"d{day}", "dag", "00:05:00", kind=DAG),
            build.run("COMPLETE", f"l{day}", "dag.load", "00:02:00", parent=(f"d{day}", "dag"),
                      kind=TASK, writes=("db|raw",)),
            build.run("COMPLETE", f"m{day}", "make", "00:10:00", kind=TASK,
                      reads=("db|raw",), writes=("db|report",)),
        ]  # fmt: skip
        events += [_on(day, event) for event in night]
    return events


def _on(day: str, event: dict[str, Any]) -> dict[str, Any]:
    return {**event, "eventTime": f"2025-11-{day}T{event['eventTime'][11:]}"}


def _failed(build: Any, day: str, run: str) -> list[dict[str, Any]]:
    broken = {"errorMessage": {"message": "disk full", "programmingLanguage": "java"}}
    above = (f"d{run}", "dag")
    load = build.run("FAIL", f"l{run}", "dag.load", "00:02:00", parent=above, kind=TASK,
                     facets=broken)  # fmt: skip
    dag = build.run("FAIL", f"d{run}", "dag", "00:05:00", kind=DAG)
    return [_on(day, load), _on(day, dag)]


def _why(state: State, node: str) -> list[tuple[Any, ...]]:
    reasons = lateness_answer(state, node)["reasons"]
    return [
        (reason["kind"], reason["subject"].rpartition(":")[2], reason["distance"])
        for reason in reasons
    ]


def test_table_is_late_by_the_rhythm_of_its_writes(build: Any) -> None:
    early = at(build.state(*_nights(build)), "2025-11-14T09:00:00Z")
    assert not lateness_answer(early, "db:raw")["isLate"]  # 1.4 of the intervals passed
    state = at(build.state(*_nights(build)), "2025-11-14T18:00:00Z")
    result = lateness_answer(state, "db:raw")
    assert (result["everySeconds"], result["isLate"]) == (86_400, True)
    assert (result["lastAt"], result["dueAt"]) == ("2025-11-13T00:02:00Z", "2025-11-14T00:02:00Z")
    assert result["lateSeconds"] == (17 * 60 + 58) * 60
    fine = lateness_answer(at(state, "2025-11-13T06:00:00Z"), "db:raw")
    assert (fine["isLate"], fine["lateSeconds"], fine["reasons"]) == (False, 0, [])


def test_reason_names_the_failing_task_and_its_first_failure(build: Any) -> None:
    events = [*_nights(build), *_failed(build, "14", "x"), *_failed(build, "15", "y")]
    state = at(build.state(*events), "2025-11-15T18:00:00Z")
    result = lateness_answer(state, "db:report")
    assert _why(state, "db:report")[0] == ("failed", "dag.load", 3)
    (failed,) = (reason for reason in result["reasons"] if reason["kind"] == "failed")
    assert (failed["message"], failed["runId"]) == ("failed: disk full", "ly")
    assert failed["at"] == "2025-11-14T00:02:00Z"


def test_missed_start_is_the_reason_if_no_run_failed(build: Any) -> None:
    state = at(build.state(*_nights(build)), "2025-11-14T18:00:00Z")
    assert _why(state, "db:raw") == [("late", "dag", 1)]
    assert _why(state, "db:report") == [("late", "make", 1), ("late", "dag", 3)]
    assert _why(state, "job:demo:dag") == []


@pytest.mark.parametrize(("now", "kind"), [("08:00:00", "running"), ("23:30:00", "lost")])
def test_open_run_is_a_reason(now: str, kind: str, build: Any) -> None:
    begun = _on("14", build.run("START", "m14", "make", "00:10:00", kind=TASK))
    state = at(build.state(*_nights(build), begun), f"2025-11-14T{now}Z")
    state.stale_before = state.now - 12 * 3_600_000_000
    assert _why(state, "db:report")[0] == (kind, "make", 1)


def test_rhythm_needs_at_least_three_writes(build: Any) -> None:
    state = at(build.state(*_nights(build)[:6]), "2025-11-20T00:00:00Z")
    result = lateness_answer(state, "db:raw")
    assert [result[item] for item in ("lastAt", "dueAt", "lateSeconds")] == [None] * 3
    assert result["isLate"] is False


_AD_HOC = {"tags": {"tags": [{"key": "ad-hoc", "value": "true", "source": "CONFIG"}]}}


def _by_hand(build: Any, facets: dict[str, Any]) -> list[dict[str, Any]]:
    """Return an application with a query that reads raw and writes a report on four days."""
    events = []
    for day in _DAYS:
        app = build.run("COMPLETE", f"a{day}", "sql", "00:05:00")
        query = build.run("COMPLETE", f"q{day}", "sql.write", "00:04:00", parent=(f"a{day}", "sql"),
                          reads=("db|raw",), writes=("db|report",))  # fmt: skip
        for event in (app, query):
            event["job"]["facets"] |= facets
            events.append(_on(day, event))
    return events


def test_ad_hoc_job_is_never_late(build: Any) -> None:
    late = {"sql", "sql.write"}
    for time, kind in (("2025-11-14T18:00:00Z", "late"), ("2026-11-14T18:00:00Z", "stopped")):
        scheduled = at(build.state(*_by_hand(build, {})), time)
        assert {item["job"]["name"] for item in freshness_answer(scheduled)["items"]} == late
        assert kind in {finding["kind"] for finding in findings_answer(scheduled)["items"]}
        assert _why(scheduled, "db:report") == [("late", "sql", 1)]
        assert lateness_answer(scheduled, "db:report")["dueAt"]
        ad_hoc = at(build.state(*_by_hand(build, _AD_HOC)), time)
        assert freshness_answer(ad_hoc)["items"] == []
        assert findings_answer(ad_hoc)["items"] == []
        for node in ("job:demo:sql", "job:demo:sql.write", "db:report"):
            result = lateness_answer(ad_hoc, node)
            assert (result["dueAt"], result["isLate"], result["isStopped"]) == (None, False, False)
            assert result["reasons"] == []


def test_ad_hoc_write_does_not_change_a_dataset_rhythm(build: Any) -> None:
    by_hand = _on("14", build.run("COMPLETE", "x", "sql", "03:00:00", writes=("db|report",)))
    by_hand["job"]["facets"] |= _AD_HOC
    now = "2025-11-15T18:00:00Z"
    nights = lateness_answer(at(build.state(*_nights(build)), now), "db:report")
    result = lateness_answer(at(build.state(*_nights(build), by_hand), now), "db:report")
    assert (result["lastAt"], result["dueAt"]) == (nights["lastAt"], nights["dueAt"])
    assert result["isLate"]


def test_altering_a_table_is_no_write_that_sets_a_rhythm(build: Any) -> None:
    load = _on("10", build.run("COMPLETE", "l", "load", "03:00:00", writes=("db|t",)))
    alters = []
    for day in ("11", "12", "13"):
        event = _on(day, build.run("COMPLETE", day, "alter", "03:00:00", writes=("db|t",)))
        event["outputs"][0]["facets"] = {"lifecycleStateChange": {"lifecycleStateChange": "ALTER"}}
        alters.append(event)
    state = at(build.state(load, *alters), "2025-11-16T18:00:00Z")
    result = lateness_answer(state, "db:t")
    assert (result["dueAt"], result["isLate"], result["isStopped"]) == (None, False, False)


def test_failed_task_that_is_not_upstream_is_no_reason(build: Any) -> None:
    above = {"parent": ("d14", "dag"), "kind": TASK}
    night = [
        build.run("COMPLETE", "l14", "dag.load", "00:02:00", writes=("db|raw",), **above),
        build.run("FAIL", "n14", "dag.notify", "00:03:00", **above),
        build.run("FAIL", "d14", "dag", "00:05:00", kind=DAG),
    ]
    events = [*_nights(build), *(_on("14", event) for event in night)]
    reasons = _why(at(build.state(*events), "2025-11-14T12:00:00Z"), "report")
    assert "failed" not in {kind for kind, *_ in reasons}


@pytest.mark.parametrize(
    ("source", "target", "is_late"),
    [("files|in", "db|raw", False), ("files|other", "db|raw", True), ("files|in", "db|x", True)],
)
def test_renamed_pipeline_is_not_late(
    source: str, target: str, *, is_late: bool, build: Any
) -> None:
    """Another one took over only if it writes the same data from the same sources."""

    def night(day: str, dag: str, reads: str, writes: str) -> list[dict[str, Any]]:
        task = build.run("COMPLETE", f"l{day}", f"{dag}.load", "00:02:00", kind=TASK,
                         parent=(f"d{day}", dag), reads=(reads,), writes=(writes,))  # fmt: skip
        run = build.run("COMPLETE", f"d{day}", dag, "00:05:00", kind=DAG)
        return [_on(day, task), _on(day, run)]

    events = [event for day in _DAYS for event in night(day, "old", "files|in", "db|raw")]
    for day in ("14", "15", "16"):
        events += night(day, "new", source, target)
    state = at(build.state(*events), "2025-11-16T06:00:00Z")
    found = {item["subject"] for item in findings_answer(state, kind="late")["items"]}
    assert ("job:demo:old" in found) is is_late
    assert lateness_answer(state, "job:demo:old")["isLate"] is is_late
    assert not any("new" in subject for subject in found)
    for job in ("old", "old.load"):
        health = health_of(state, find_node(state, f"job:demo:{job}"))
        assert health["state"] == ("late" if is_late else "unknown")
