"""The state of a job or dataset: failed, blocked, late, unknown or healthy, in every answer."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from headwater.health.printing import health_line
from headwater.health.states import health_of
from headwater.lineage.printing import print_tree_answer
from headwater.lineage.queries import tree_answer
from headwater.lookup import find_node
from headwater.plugins.trust._doctor import _late
from headwater.plugins.trust._health import health_answer
from headwater.plugins.trust._lateness import lateness_answer
from headwater.plugins.trust.gate import gate_answer
from headwater.plugins.trust.queries import findings_answer
from headwater.projection import State
from headwater.runs.printing import print_runs
from headwater.runs.queries import runs_answer
from packages.headwater.tests.support.daily_models import models_on_day
from packages.headwater.tests.support.graphs import DAG, TASK
from packages.headwater.tests.support.moments import at


def _states(state: State, *names: str) -> dict[str, str]:
    return {name: health_of(state, find_node(state, name))["state"] for name in names}


def test_failed_model_blocks_everything_downstream(build: Any) -> None:
    days = [event for day in (18, 19, 20) for event in models_on_day(build, day)]
    failed = models_on_day(build, 21, failed="orders", skipped=("daily", "report"))
    state = at(build.state(*days, *failed), "2025-11-21T08:00:00Z")
    assert _states(state, "shop", "shop.orders", "orders", "shop.daily", "daily", "report") == {
        "shop": "failed",
        "shop.orders": "failed",
        "orders": "failed",
        "shop.daily": "blocked",
        "daily": "blocked",
        "report": "blocked",
    }
    report = health_of(state, find_node(state, "report"))
    assert [job["name"] for job in report["by"]] == ["shop.orders"]
    assert health_of(state, find_node(state, "orders"))["message"] == "the newest load failed"
    rows = {"outputStatistics": {"rowCount": 5}}
    for event in failed:
        event["outputs"] = [output | {"outputFacets": rows} for output in event["outputs"]]
    partly = at(build.state(*days, *failed), "2025-11-21T08:00:00Z")
    assert health_of(partly, find_node(partly, "orders"))["message"] == "written by a failed run"
    (found,) = findings_answer(state)["items"]
    assert "blocks 2 jobs and 2 datasets" in found["message"]


@pytest.mark.parametrize("severity", ["error", "warn"])
def test_failed_test_blocks_the_models_after_it_unless_it_only_warns(
    severity: str, build: Any
) -> None:
    def tested(day: int, *, passed: bool) -> dict[str, Any]:
        check = {"assertion": "not_null", "success": passed, "severity": severity, "column": "id"}
        body = build.run("COMPLETE", f"t{day}", "shop.test", "06:00:00", kind=TASK,
                         parent=(f"shop-{day}", "shop"), reads=("db|orders",))  # fmt: skip
        body["inputs"][0]["inputFacets"] = {"dataQualityAssertions": {"assertions": [check]}}
        return body | {"eventTime": f"2025-11-{day}T06:00:00Z"}

    first = [*models_on_day(build, 20), tested(20, passed=True)]
    skipped = () if severity == "warn" else ("daily", "report")
    second = [*models_on_day(build, 21, skipped=skipped), tested(21, passed=False)]
    state = at(build.state(*first, *second), "2025-11-21T08:00:00Z")
    is_error = severity == "error"
    assert _states(state, "orders", "shop.daily", "daily", "report") == {
        "orders": "failed_checks" if is_error else "healthy",
        "shop.daily": "blocked" if is_error else "healthy",
        "daily": "blocked" if is_error else "healthy",
        "report": "blocked" if is_error else "healthy",
    }


def test_job_that_runs_now_is_not_blocked(build: Any) -> None:
    days = [event for day in (18, 19, 20) for event in models_on_day(build, day)]
    failed = models_on_day(build, 21, failed="orders", skipped=("daily", "report"))
    again = build.run("START", "again", "shop.daily", "07:00:00", reads=("db|orders",),
                      writes=("db|daily",))  # fmt: skip
    state = at(build.state(*days, *failed, again), "2025-11-21T07:30:00Z")
    assert _states(state, "orders", "shop.daily", "report") == {
        "orders": "failed",
        "shop.daily": "healthy",
        "report": "healthy",
    }


def test_running_retry_of_a_failed_job_is_not_yet_a_load(build: Any) -> None:
    days = [event for day in (18, 19, 20) for event in models_on_day(build, day)]
    failed = models_on_day(build, 21, failed="orders", skipped=("daily", "report"))
    retry = build.run("START", "retry", "shop.orders", "07:00:00", parent=("shop-22", "shop"),
                      kind=TASK, writes=("db|orders",))  # fmt: skip
    state = at(build.state(*days, *failed, retry), "2025-11-21T07:30:00Z")
    assert _states(state, "shop.orders", "orders", "daily") == {
        "shop.orders": "failed",
        "orders": "failed",
        "daily": "blocked",
    }


def test_retry_that_becomes_stale_changes_states_without_an_event(build: Any) -> None:
    days = [event for day in (18, 19, 20) for event in models_on_day(build, day)]
    failed = models_on_day(build, 21, failed="orders", skipped=("daily", "report"))
    retry = build.run("START", "shop-22", "shop", "07:00:00", kind=DAG)
    events = [*days, *failed, retry]
    state, names = build.state(*events), ("shop", "shop.daily", "daily", "orders", "report")
    found = []
    for time in ("21T08:00:00", "22T06:59:00", "22T07:01:00", "21T08:00:00"):
        moment = f"2025-11-{time}Z"
        found.append(_states(at(state, moment), *names))
        assert found[-1] == _states(at(build.state(*events), moment), *names)
    assert [states["shop"] for states in found] == ["failed", "failed", "unknown", "failed"]
    assert {states["report"] for states in found} == {"blocked"}  # no run has written it since


@pytest.mark.parametrize(
    ("time", "success", "severity", "expected"),
    [
        ("21T05:00:00", False, "error", "blocked"),
        ("21T05:00:00", True, "error", "healthy"),
        ("21T05:00:00", False, "warn", "healthy"),
        ("20T05:00:00", False, "error", "healthy"),  # the models ran since
    ],
)
def test_failed_check_reported_without_a_run_blocks_what_was_due_since(
    time: str, success: bool, severity: str, expected: str, build: Any
) -> None:
    check = {"assertion": "fresh", "success": success, "severity": severity}
    event = {
        "eventTime": f"2025-11-{time}Z",
        "producer": "https://example.org/catalog",
        "dataset": build.dataset("db|orders", dataQualityAssertions={"assertions": [check]}),
    }
    days = [event for day in (18, 19, 20) for event in models_on_day(build, day)]
    for events in ([*days, event], [event, *days]):
        state = at(build.state(*events), "2025-11-21T06:30:00Z")
        found = health_of(state, find_node(state, "daily"))
        assert found["state"] == expected
        if expected == "blocked":
            assert [node["id"] for node in found["by"]] == ["dataset:db:orders"]
            assert found["message"] == "not written since checks of orders failed"
            assert found["at"] == "2025-11-21T05:00:00Z"


@pytest.mark.parametrize("has_start", [True, False])
def test_check_at_the_end_blocks_nothing_that_ran_before(has_start: bool, build: Any) -> None:
    check = build.run("FAIL", "c", "shop.check", "07:00:00", parent=("shop-21", "shop"), kind=TASK,
                      reads=("db|orders",))  # fmt: skip
    check["inputs"][0]["inputFacets"] = {
        "dataQualityAssertions": {"assertions": [{"assertion": "not_null", "success": False}]}
    }
    start, *tasks, end = models_on_day(build, 21)
    end |= {"eventTime": "2025-11-21T07:30:00Z"}
    events = [*models_on_day(build, 20), *([start] if has_start else []), *tasks, check, end]
    state = at(build.state(*events), "2025-11-21T08:00:00Z")
    assert _states(state, "orders", "shop.daily", "daily", "report") == {
        "orders": "failed_checks",
        "shop.daily": "healthy",
        "daily": "healthy",
        "report": "healthy",
    }
    assert not [found for found in findings_answer(state)["items"] if "blocks" in found["message"]]


@pytest.mark.parametrize("retried", [False, True])
def test_failed_run_of_a_backfill_counts_although_a_later_one_completed(
    retried: bool, build: Any
) -> None:
    def part(run: str, type_: str, hour: str, dag: str) -> Any:
        return build.run(type_, run, "shop.load", f"{hour}:00:00", parent=(dag, "shop"), kind=TASK,
                         reads=("db|in",), writes=("db|out",))  # fmt: skip

    end = "COMPLETE" if retried else "FAIL"
    events = [
        build.run("START", "a", "shop", "01:00:00", kind=DAG),
        part("a1", "START", "01", "a"),
        build.run("START", "b", "shop", "02:00:00", kind=DAG),
        *(part("b1", type_, hour, "b") for type_, hour in (("START", "02"), ("COMPLETE", "03"))),
        build.run("COMPLETE", "b", "shop", "03:00:00", kind=DAG),
        build.run("COMPLETE", "bq", "shop.load.query", "02:30:00", parent=("b1", "shop.load")),
        build.run("FAIL", "aq", "shop.load.query", "02:20:00", parent=("a1", "shop.load")),
        build.run("FAIL", "aq", "shop.load.query", "04:00:00", parent=("a1", "shop.load")),
        part("a1", "FAIL", "04", "a"),
        *([part("a2", t, "05", "a") for t in ("START", "COMPLETE")] if retried else []),
        build.run(end, "a", "shop", "06:00:00", kind=DAG),
    ]
    state = at(build.state(*events), "2025-11-21T08:00:00Z")
    expected = "healthy" if retried else "failed"
    assert set(_states(state, "shop", "shop.load", "out").values()) == {expected}
    assert gate_answer(state, ["out"])["passed"] == retried
    assert health_answer(state)["isHealthy"] == retried
    newer = [
        build.run("START", "c", "shop", "09:00:00", kind=DAG),
        part("c1", "COMPLETE", "09", "c"),
        build.run("COMPLETE", "c", "shop", "10:00:00", kind=DAG),
    ]
    after = at(build.state(*events, *newer), "2025-11-21T11:00:00Z")
    assert set(_states(after, "shop", "shop.load", "out").values()) == {"healthy"}


def test_task_on_request_is_not_late_with_its_pipeline(build: Any) -> None:
    days = [event for day in (10, 11, 12, 13) for event in models_on_day(build, day)]
    for event in days:
        if event["job"]["name"] == "shop.daily":
            event["job"]["facets"]["tags"] = {"tags": [{"key": "ad-hoc", "value": "true"}]}
    state = at(build.state(*days), "2025-11-16T08:00:00Z")
    assert _states(state, "shop", "shop.orders", "shop.daily") == {
        "shop": "late",
        "shop.orders": "late",
        "shop.daily": "ad_hoc",
    }


@pytest.mark.parametrize(
    ("tag", "expected"), [("ad-hoc", "ad_hoc"), ("Ad_Hoc", "ad_hoc"), ("ad-hoc:false", "late")]
)
def test_tag_ad_hoc_is_accepted_in_other_spellings(tag: str, expected: str, build: Any) -> None:
    key, _, value = tag.partition(":")
    days = [event for day in (10, 11, 12, 13) for event in models_on_day(build, day)]
    for event in days:
        event["job"]["facets"]["tags"] = {"tags": [{"key": key, "value": value or key}]}
    state = at(build.state(*days), "2025-11-16T08:00:00Z")
    assert _states(state, "shop", "daily") == {"shop": expected, "daily": expected}


def test_view_on_a_table_behind_a_failed_job_is_blocked(build: Any) -> None:
    view = {
        "eventTime": "2025-11-18T05:00:00Z",
        "producer": "https://example.org/tests",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/DatasetEvent",
        "dataset": build.dataset(
            "db|view",
            lineage={"inputs": [{"type": "DATASET", "namespace": "db", "name": "report"}]},
        ),
    }
    days = [event for day in (18, 19, 20) for event in models_on_day(build, day)]
    failed = models_on_day(build, 21, failed="orders", skipped=("daily", "report"))
    state = at(build.state(view, *days, *failed), "2025-11-21T08:00:00Z")
    assert _states(state, "view") == {"view": "blocked"}


def test_next_complete_run_ends_the_block(build: Any) -> None:
    failed = models_on_day(build, 20, failed="orders", skipped=("daily", "report"))
    state = at(build.state(*failed, *models_on_day(build, 21)), "2025-11-21T08:00:00Z")
    assert set(_states(state, "shop", "shop.orders", "orders", "daily", "report").values()) == {
        "healthy"
    }


def test_job_that_ran_since_the_failure_blocks_nothing_further(build: Any) -> None:
    events = models_on_day(build, 20), models_on_day(build, 21, failed="orders")
    state = at(build.state(*(e for day in events for e in day)), "2025-11-21T08:00:00Z")
    assert _states(state, "orders", "daily", "report") == {
        "orders": "failed",
        "daily": "healthy",
        "report": "healthy",
    }


@pytest.mark.parametrize(
    ("now", "expected"),
    [("21T08:00:00", "healthy"), ("25T07:30:00", "blocked"), ("30T07:30:00", "blocked")],
)
def test_other_pipeline_is_blocked_once_it_is_due(now: str, expected: str, build: Any) -> None:
    # The consumer runs every five days, last on the 20th.
    weekly = [
        build.run("COMPLETE", f"w{day}", "weekly", "00:00:00", reads=("db|report",),
                  writes=("db|sums",)) | {"eventTime": f"2025-11-{day}T07:00:00Z"}
        for day in ("05", "10", "15", "20")
    ]  # fmt: skip
    days = [event for day in (18, 19, 20) for event in models_on_day(build, day)]
    failed = models_on_day(build, 21, failed="report")
    state = at(build.state(*weekly, *days, *failed), f"2025-11-{now}Z")
    assert _states(state, "weekly", "sums") == {"weekly": expected, "sums": expected}


def test_table_that_its_pipeline_no_longer_writes_is_late_in_every_list(build: Any) -> None:
    days = [event for day in (10, 11, 12, 13) for event in models_on_day(build, day)]
    without = [e for day in (14, 15, 16) for e in models_on_day(build, day, skipped=("report",))]
    state = at(build.state(*days, *without), "2025-11-16T08:00:00Z")
    assert _states(state, "shop", "daily", "report") == {
        "shop": "healthy",
        "daily": "healthy",
        "report": "late",
    }
    found = [(item["kind"], item["subject"]) for item in findings_answer(state)["items"]]
    assert found == [("late", "dataset:db:report")]
    assert not health_answer(state)["isHealthy"]
    assert lateness_answer(state, "report")["isLate"]
    message = health_of(state, find_node(state, "report"))["message"]
    assert message == "not run since 2025-11-13; the pipeline ran 3 times without it; was due"


def test_tasks_and_tables_are_late_with_their_pipeline(build: Any) -> None:
    days = [event for day in (10, 11, 12, 13) for event in models_on_day(build, day)]
    state = at(build.state(*days), "2025-11-16T08:00:00Z")
    assert set(_states(state, "shop", "shop.orders", "orders", "report").values()) == {"late"}
    found = [(item["kind"], item["subject"]) for item in findings_answer(state)["items"]]
    assert found == [("late", "job:demo:shop")]


def test_failed_pipeline_without_failed_task_blocks_its_tasks(build: Any) -> None:
    days = [event for day in (18, 19, 20) for event in models_on_day(build, day)]
    broken = build.run("FAIL", "shop-21", "shop", "06:00:00", kind=DAG)
    state = at(build.state(*days, broken), "2025-11-21T08:00:00Z")
    assert _states(state, "shop", "shop.orders", "orders", "report") == {
        "shop": "failed",
        "shop.orders": "blocked",
        "orders": "blocked",
        "report": "blocked",
    }


def test_pipeline_downstream_of_another_is_blocked(build: Any) -> None:
    def other(day: int) -> list[dict[str, Any]]:
        time = {"eventTime": f"2025-11-{day}T07:00:00Z"}
        task = build.run("COMPLETE", f"t{day}", "mart.sums", "07:00:00", parent=(f"m{day}", "mart"),
                         kind=TASK, reads=("db|report",), writes=("db|sums",))  # fmt: skip
        return [task | time, build.run("COMPLETE", f"m{day}", "mart", "07:00:00", kind=DAG) | time]

    days = [event for day in (18, 19, 20) for event in (*models_on_day(build, day), *other(day))]
    failed = models_on_day(build, 21, failed="orders", skipped=("daily", "report"))
    state = at(build.state(*days, *failed), "2025-11-21T08:00:00Z")
    assert set(_states(state, "mart", "mart.sums", "sums").values()) == {"blocked"}


@pytest.mark.parametrize(
    ("type_", "facets", "now", "expected", "message"),
    [
        (None, {}, "21T08:00:00", "unknown", "no run was reported"),
        ("START", {}, "21T07:00:00", "unknown", "no run has ended yet"),
        ("START", {}, "23T08:00:00", "unknown", "the newest run sent no end event"),
        ("COMPLETE", {}, "21T08:00:00", "healthy", "completed"),
        (
            "COMPLETE",
            {"errorMessage": {"message": "2 of 3 files skipped"}},
            "21T08:00:00",
            "healthy",
            "completed, but reported an error",
        ),
        ("ABORT", {}, "21T08:00:00", "failed", "the newest run failed"),
    ],
)
def test_state_of_a_job_by_its_only_run(
    type_: str | None, facets: dict[str, Any], now: str, expected: str, message: str, build: Any
) -> None:
    body = build.run(type_ or "OTHER", "r", "load", "06:00:00", writes=("db|t",), facets=facets)
    if type_ is None:
        body = {key: body[key] for key in ("eventTime", "producer", "job", "inputs", "outputs")}
        body["schemaURL"] = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/JobEvent"
    state = at(build.state(body), f"2025-11-{now}Z")
    health = health_of(state, find_node(state, "load"))
    assert (health["state"], health["message"]) == (expected, message)


def test_stream_and_job_on_request_have_states_of_their_own(build: Any) -> None:
    stream = build.run("RUNNING", "s", "stream", "06:00:00", writes=("kafka://k|topic",))
    stream["job"]["facets"]["jobType"] = {"processingType": "STREAMING", "integration": "FLINK"}
    request = build.run("COMPLETE", "a", "request", "06:00:00", writes=("db|copy",))
    request["job"]["facets"]["tags"] = {"tags": [{"key": "ad-hoc", "value": "true"}]}
    state = at(build.state(stream, request), "2025-12-21T08:00:00Z")
    assert _states(state, "stream", "topic", "request", "copy") == {
        "stream": "streaming",
        "topic": "streaming",
        "request": "ad_hoc",
        "copy": "ad_hoc",
    }
    application = build.run("START", "a", "application", "05:00:00")
    parent = {"run": {"runId": "a"}, "job": {"namespace": "demo", "name": "application"}}
    stream["run"]["facets"]["parent"] = parent
    state = at(build.state(application, stream), "2025-12-21T08:00:00Z")
    assert _states(state, "application") == {"application": "streaming"}


@pytest.mark.parametrize(("type_", "said"), [("RUNNING", "last event"), ("COMPLETE", "ended")])
def test_stream_states_the_age_of_its_last_event(
    type_: str, said: str, build: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    start = build.run("START", "s", "stream", "06:00:00", writes=("kafka://k|topic",))
    start["job"]["facets"]["jobType"] = {"processingType": "STREAMING", "integration": "FLINK"}
    query = build.run(type_, "q", "stream.query", "07:00:00", parent=("s", "stream"))
    last = query if type_ == "RUNNING" else start | {"eventType": type_}
    last["eventTime"] = (datetime.now(UTC) - timedelta(days=6, hours=1)).isoformat()
    state = build.state(start, last)
    health = health_of(state, find_node(state, "stream"))
    assert health_line(health).plain == f"Streaming, {said} 6 days ago"
    if type_ == "RUNNING":
        print_tree_answer(tree_answer(state, "topic"))
        print_runs(runs_answer(state, "stream"))
        printed = capsys.readouterr().out
        assert printed.count("Streaming, last event 6 days ago") == 2
        assert "RUNNING" not in printed


@pytest.mark.parametrize("parents", [(None, None), (None, ("p", "dag")), (("p", "dag"), None)])
def test_stream_that_runs_again_after_a_failure_has_recovered(parents: Any, build: Any) -> None:
    first, again = (
        build.run(type_, run, "stream", time, writes=("kafka://k|topic",), parent=parent)
        for type_, run, time, parent in zip(
            ("FAIL", "RUNNING"), ("s1", "s2"), ("06:00:00", "07:00:00"), parents, strict=True
        )
    )
    for event in (first, again):
        event["job"]["facets"]["jobType"] = {"processingType": "STREAMING", "integration": "FLINK"}
    failed = at(build.state(first), "2025-11-21T08:00:00Z")
    assert _states(failed, "stream", "topic") == {"stream": "failed", "topic": "failed"}
    assert not gate_answer(failed, ["topic"])["passed"]
    state = at(build.state(first, again), "2025-11-25T08:00:00Z")
    assert _states(state, "stream", "topic") == {"stream": "streaming", "topic": "streaming"}
    assert health_answer(state)["isHealthy"]
    assert gate_answer(state, ["topic"])["passed"]


@pytest.mark.parametrize("writes", [(), ("db|t",)])
def test_dataset_with_rows_of_a_failed_run_is_unknown(writes: tuple[str, ...], build: Any) -> None:
    """A later run that had nothing to load completes without a write. The gate fails, too."""
    state = build.state(
        build.run("FAIL", "1", "load", "08:00:00", writes=("db|t",)),
        build.run("COMPLETE", "2", "load", "09:00:00", writes=writes),
    )
    table = health_of(state, find_node(state, "dataset:db:t"))
    assert health_of(state, find_node(state, "job:demo:load"))["state"] == "healthy"
    assert table["state"] == ("healthy" if writes else "unknown")
    assert gate_answer(state, ["dataset:db:t"])["passed"] == bool(writes)
    if not writes:
        assert (
            table["message"] == "no run has replaced what a failed run wrote or should have written"
        )


def test_gate_with_fresh_rejects_a_blocked_dataset(build: Any) -> None:
    days = [event for day in (18, 19, 20) for event in models_on_day(build, day)]
    failed = models_on_day(build, 21, failed="orders", skipped=("daily", "report"))
    state = at(build.state(*days, *failed), "2025-11-21T08:00:00Z")
    (gated,) = gate_answer(state, ["report"], '{"fresh": true}')["datasets"]
    stale = [found["subject"] for found in gated["violations"] if found["kind"] == "fresh"]
    assert stale == ["dataset:db:report"]
    late = build.run("COMPLETE", "copy", "copy", "09:00:00", reads=("db|daily",), writes=("db|c",))
    state = at(build.state(*days, *failed, late), "2025-11-21T10:00:00Z")
    (gated,) = gate_answer(state, ["c"], '{"fresh": true}')["datasets"]
    stale = [found["subject"] for found in gated["violations"] if found["kind"] == "fresh"]
    assert stale == ["dataset:db:daily"]


def test_doctor_lists_a_late_pipeline_once_and_no_blocked_one(build: Any) -> None:
    days = [event for day in (10, 11, 12, 13) for event in models_on_day(build, day)]
    late = at(build.state(*days), "2025-11-16T08:00:00Z")
    assert [found["subject"] for found in _late(late)] == ["job:demo:shop"]
    weekly = [
        build.run("COMPLETE", f"w{day}", "weekly", "00:00:00", reads=("db|report",))
        | {"eventTime": f"2025-11-{day}T07:00:00Z"}
        for day in ("09", "10", "11", "12")
    ]
    failed = models_on_day(build, 14, failed="report")
    blocked = at(build.state(*days, *weekly, *failed), "2025-11-15T00:00:00Z")
    assert _states(blocked, "weekly") == {"weekly": "blocked"}
    assert "job:demo:weekly" not in [found["subject"] for found in _late(blocked)]


def test_source_that_no_job_writes_is_unknown(build: Any) -> None:
    state = at(build.state(*models_on_day(build, 20)), "2025-11-20T08:00:00Z")
    health = health_of(state, find_node(state, "/in"))
    assert (health["state"], health["message"]) == ("unknown", "no job was reported to write it")
