"""Checks of every producer, in one form."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.plugins.changes.queries import history_answer
from headwater.plugins.trust._health import health_answer
from headwater.plugins.trust.completeness import completeness_answer
from headwater.plugins.trust.gate import gate_answer
from headwater.plugins.trust.queries import findings_answer
from headwater.projection import State
from packages.headwater.tests.support.graphs import DAG, TASK
from packages.headwater.tests.support.moments import at

_GREAT = "greatExpectations_assertions"


def _check(
    build: Any, hour: str, job: str, facet: str, assertions: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return a run that reads `t` and reports assertions about it."""
    event: dict[str, Any] = build.run("COMPLETE", hour, job, f"{hour}:00:00")
    inputs = {facet: {"assertions": assertions}}
    event["inputs"] = [{**build.dataset("db|t"), "inputFacets": inputs}]
    return event


def _asserted(
    build: Any, hour: str, job: str, assertion: str, *, success: bool = True
) -> dict[str, Any]:
    reported = [{"assertion": assertion, "success": success}]
    return _check(build, hour, job, "dataQualityAssertions", reported)


def _tested(
    build: Any,
    *tests: dict[str, Any],
    reads: tuple[str, ...] = ("db|t",),
    facet: str = "test",
) -> dict[str, Any]:
    facets = {facet: {"tests": list(tests)}}
    event: dict[str, Any] = build.run("COMPLETE", "1", "t", "08:00:00", reads=reads, facets=facets)
    return event


def _failed(*events: dict[str, Any], build: Any) -> list[tuple[str, str]]:
    """Return the failed checks; health and the gate of `t` must agree."""
    state = at(build.state(*events), "12:00:00")
    found = findings_answer(state, kind="quality")["items"]
    assert health_answer(state)["isHealthy"] is not bool(found)
    if events[0]["inputs"]:
        assert gate_answer(state, ["t"])["passed"] is not bool(found)
    return [(item["subject"], item["message"]) for item in found]


def _names(state: State) -> list[Any]:
    entries = history_answer(state, "t")["items"]
    checks = [entry for entry in entries if entry["done"] == "checked"]
    return [assertion.get("assertion") for entry in checks for assertion in entry["assertions"]]


@pytest.mark.parametrize("key", ["expectationType", "expectation_type", "type"])
def test_expectation_has_the_name_that_great_expectations_gives_it(key: str, build: Any) -> None:
    """Its action reports `expectationType`; its own results have another key in each version."""
    failed = {key: "expect_max", "column": "rate", "success": False}
    state = build.state(_check(build, "08", "gx", _GREAT, [failed]))
    (finding,) = [item for item in findings_answer(state)["items"] if item["kind"] == "quality"]
    assert "expect_max" in finding["message"]


def test_failed_expectation_of_great_expectations_is_a_failed_check(build: Any) -> None:
    good = {"expectationType": "expect_not_null", "column": "rate", "success": True}
    bad = {"expectationType": "expect_max", "column": "rate", "success": False}
    event = _check(build, "08", "check", _GREAT, [good, bad])
    found = [("dataset:db:t", "failed its checks: expect_max of rate")]
    assert _failed(event, build=build) == found
    assert _names(build.state(event)) == ["expect_not_null", "expect_max"]


def test_same_expectation_failing_once_is_a_failed_check(build: Any) -> None:
    twice = [{"expectationType": "e", "success": success} for success in (False, True)]
    assert _failed(_check(build, "08", "check", _GREAT, twice), build=build)


@pytest.mark.parametrize(
    ("test", "fails"),
    [
        ({"status": "fail"}, True),
        ({"status": "fail", "severity": "error"}, True),
        ({"status": "fail", "severity": "warn"}, False),
        ({"status": "warn"}, False),
        ({"status": "skip"}, False),
        ({"status": "pass"}, False),
    ],
)
def test_failed_test_of_a_run_is_a_failed_check(
    test: dict[str, Any], fails: bool, build: Any
) -> None:
    for facet in ("test", "testRun"):
        event = _tested(build, {"name": "no_orphans", **test}, facet=facet)
        expected = [("dataset:db:t", "failed its checks: no_orphans")] * fails
        assert _failed(event, build=build) == expected


def test_failed_test_without_datasets_is_a_finding_of_its_job(build: Any) -> None:
    failing = _tested(build, {"name": "no_orphans", "status": "fail"}, reads=())
    found = [("job:demo:t", "failed its checks: no_orphans")]
    assert _failed(failing, build=build) == found


def test_passing_check_of_another_job_does_not_hide_a_failure(build: Any) -> None:
    bad = _asserted(build, "08", "a", "x", success=False)
    good = _asserted(build, "09", "b", "y")
    assert _failed(bad, good, build=build) == [("dataset:db:t", "failed its checks: x")]
    fixed = _asserted(build, "10", "a", "x")
    assert _failed(bad, good, fixed, build=build) == []
    removed = _asserted(build, "10", "a", "z")
    assert _failed(bad, good, removed, build=build) == []


def test_later_test_of_the_same_pipeline_run_does_not_hide_a_failure(build: Any) -> None:
    bad = _asserted(build, "08", "dbt", "x", success=False)
    good = _asserted(build, "09", "dbt", "y")
    for event in (bad, good):
        parent = {"run": {"runId": "d"}, "job": {"namespace": "demo", "name": "dag"}}
        event["run"]["facets"] = {"parent": parent}
    assert _failed(bad, good, build=build) == [("dataset:db:t", "failed its checks: x")]


@pytest.mark.parametrize("kind", ["SQLCheckOperator", "SQLColumnCheckOperator", "foreach"])
def test_passing_element_of_a_mapped_task_does_not_hide_a_failure(kind: str, build: Any) -> None:
    def element(run: str, minute: int, index: int, *, is_good: bool) -> dict[str, Any]:
        facets: dict[str, Any] = {
            "airflow": {"task": {"operator_class": kind}, "taskInstance": {"map_index": index}}
        }
        if kind == "foreach":
            facets = {"metaflow_task": {"pathspec": f"Flow/1/check/{index}", "attempt": 0}}
        event: dict[str, Any] = build.run(
            "COMPLETE" if is_good else "FAIL", run, "dag.check", f"08:0{minute}:00",
            parent=("d", "dag"), reads=("db|t",), facets=facets,
        )  # fmt: skip
        if kind != "SQLCheckOperator":
            assertions = [{"assertion": "x", "success": is_good}]
            event["inputs"][0]["inputFacets"] = {
                "dataQualityAssertions": {"assertions": assertions}
            }
        return event

    bad, good = element("a", 1, 0, is_good=False), element("b", 2, 1, is_good=True)
    name = "dag.check" if kind == "SQLCheckOperator" else "x"
    assert _failed(bad, good, build=build) == [("dataset:db:t", f"failed its checks: {name}")]
    retried = element("c", 3, 0, is_good=True)
    assert _failed(bad, good, retried, _dag(build, "COMPLETE", "d", "09"), build=build) == []


def test_passing_suite_of_the_same_job_does_not_hide_a_failure(build: Any) -> None:
    def suite(hour: str, name: str, *, success: bool) -> dict[str, Any]:
        event = _check(build, hour, "gx", _GREAT, [{"expectationType": name, "success": success}])
        meta = {"great_expectations_meta": {"expectation_suite_name": f"{name}_suite"}}
        event["run"]["facets"] = meta
        return event

    events = [suite("08", "a", success=False), suite("09", "b", success=True)]
    assert _failed(*events, build=build) == [("dataset:db:t", "failed its checks: a")]
    assert _failed(*events, suite("10", "a", success=True), build=build) == []


@pytest.mark.parametrize("kind", ["DBT/TEST", "AIRFLOW/TASK", "HEADWATER/CHECK"])
def test_outcome_of_a_checking_job_is_a_check(kind: str, build: Any) -> None:
    operator = {"airflow": {"task": {"operator_class": "SQLCheckOperator"}}}
    for type_, fails in (("FAIL", True), ("COMPLETE", False)):
        event = build.run(type_, "1", "positive", "08:00:00", reads=("db|t",), kind=kind,
                          facets=operator if "AIRFLOW" in kind else {})  # fmt: skip
        found = [("dataset:db:t", "failed its checks: positive")]
        assert _failed(event, build=build) == found * fails
        assert completeness_answer(build.state(event))["measures"]["outputs"]["runs"] == 0


def _dag(build: Any, type_: str, run: str, hour: str) -> dict[str, Any]:
    event: dict[str, Any] = build.run(type_, run, "dag", f"{hour}:00:00", kind=DAG)
    return event


def _health(*events: dict[str, Any], build: Any) -> list[tuple[str, str, str]]:
    found = findings_answer(at(build.state(*events), "2025-11-21T23:00:00Z"))["items"]
    return [(item["kind"], item["subject"], item["severity"]) for item in found]


def test_running_retry_does_not_hide_a_failure(build: Any) -> None:
    events = [_dag(build, "FAIL", "1", "08"), _dag(build, "START", "2", "09")]
    assert _health(*events, build=build) == [("failed", "job:demo:dag", "error")]
    (found,) = findings_answer(build.state(*events))["items"]
    assert found["remedy"].startswith("a newer run has not ended yet")
    assert _health(*events, _dag(build, "COMPLETE", "2", "10"), build=build) == []


def test_failed_part_of_a_completed_or_running_pipeline_is_reported(build: Any) -> None:
    part = {"parent": ("1", "dag"), "kind": TASK}
    failed = build.run("FAIL", "t1", "dag.t", "08:30:00", **part)
    retried = build.run("COMPLETE", "t2", "dag.t", "08:40:00", **part)
    for type_ in ("COMPLETE", "START"):
        above = _dag(build, type_, "1", "08")
        assert _health(above, failed, build=build) == [("failed", "job:demo:dag.t", "error")]
        assert _health(above, failed, retried, build=build) == []
    query = build.run("FAIL", "q1", "dag.t.query", "08:30:00", parent=("t1", "dag.t"))
    other = build.run("FAIL", "u1", "dag.u", "08:20:00", **part)
    above = _dag(build, "COMPLETE", "1", "08")
    assert _health(above, failed, retried, query, build=build) == []
    failing = build.state(_dag(build, "FAIL", "1", "08"), failed, retried, query, other)
    (finding,) = findings_answer(failing)["items"]
    assert [cause["subject"] for cause in finding["causes"]] == ["job:demo:dag.u"]
    flow = build.run("FAIL", "f1", "Flow", "08:35:00", parent=("t2", "dag.t"), kind="METAFLOW/FLOW")
    above = _dag(build, "COMPLETE", "1", "08")
    assert _health(above, retried, flow, build=build) == [("failed", "job:demo:Flow", "error")]
    assert _health(_dag(build, "FAIL", "1", "08"), failed, build=build) == [
        ("failed", "job:demo:dag", "error")
    ]


_SELECT = {"sql": {"query": "create table t as select * from a"}}


@pytest.mark.parametrize(
    ("facets", "schema", "share", "unknown"),
    [
        (_SELECT, {}, None, 1),
        (_SELECT, {"fields": [{"name": "x"}]}, 1.0, 0),
        ({"sql": {"query": "create table t as select x from a"}}, {}, 1.0, 0),
        ({}, {}, None, 0),
    ],
)
def test_column_lineage_of_tables_with_unknown_columns_is_unknown(
    facets: Any, schema: Any, share: float | None, unknown: int, build: Any
) -> None:
    event = build.run("COMPLETE", "1", "model", "08:00:00", reads=("postgres://h|d.s.a",))
    event["job"]["facets"] = facets
    event["outputs"] = [build.dataset("postgres://h|d.s.t", schema=schema)]
    event["inputs"][0]["facets"] = {"schema": schema}
    columns = completeness_answer(build.state(event))["measures"]["columns"]
    assert (columns["share"], columns["unknownRuns"], len(columns["findings"])) == (
        share, unknown, unknown
    )  # fmt: skip
