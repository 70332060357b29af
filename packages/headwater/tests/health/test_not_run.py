"""Tests of dbt that were not run, because their model failed or was skipped."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.graph.current import generations_of
from headwater.health.states import health_of
from headwater.lookup import find_node
from headwater.plugins.changes.printing import print_history
from headwater.plugins.changes.queries import history_answer
from headwater.plugins.trust.gate import gate_answer
from headwater.plugins.trust.queries import findings_answer
from headwater.projection import State
from headwater.runs.service import run_answer

_MODELS = {"stg": "raw", "orders": "stg", "report": "orders", "other": "raw"}


def _invocation(
    build: Any, hour: str, failed: str | None, skipped: tuple[str, ...], **tests: Any
) -> list[Any]:
    """Return an invocation with runs of models and of tests, given as (success, actual)."""
    root = (f"d{hour}", "dbt-run-shop")
    found = [
        build.run("FAIL" if model == failed else "COMPLETE", f"{model}{hour}", f"m.{model}",
                  f"{hour}:0{number}:00", parent=root, kind="DBT/MODEL", reads=(f"db|{source}",),
                  writes=(f"db|{model}",))
        for number, (model, source) in enumerate(_MODELS.items())
        if model not in skipped
    ]  # fmt: skip
    for table, (success, actual) in tests.items():
        test = build.run("COMPLETE" if success else "FAIL", f"t-{table}{hour}", f"m.{table}.test",
                         f"{hour}:30:00", parent=root, kind="DBT/TEST",
                         reads=(f"db|{table}",))  # fmt: skip
        assertion = {"assertion": "unique", "column": "id", "success": success}
        reported = {"assertions": [assertion | ({"actual": actual} if actual else {})]}
        test["inputs"][0]["facets"] = {"dataQualityAssertions": reported}
        found.append(test)
    return [*found, build.run("FAIL" if failed else "COMPLETE", *root, f"{hour}:40:00")]


def _failed_tests(state: State) -> list[str]:
    found = findings_answer(state, kind="quality")["items"]
    return sorted(item["subject"].rpartition(":")[2] for item in found)


_GOOD = dict.fromkeys(("stg", "orders", "report", "other"), (True, "0"))
_SKIPPED = dict.fromkeys(("orders", "report"), (False, None))
_BAD = {"stg": (False, "3"), "other": (False, None)} | _SKIPPED


@pytest.mark.parametrize("has_run_before", [True, False])
def test_tests_behind_a_failed_model_are_not_run(has_run_before: bool, build: Any) -> None:
    before = _invocation(build, "08", None, (), **_GOOD) if has_run_before else []
    skipped = ("report", "other") if has_run_before else ("report",)
    events = [*before, *_invocation(build, "09", "orders", skipped, **_BAD)]
    for ordered in (events, events[::-1]):
        state = build.state(*ordered)
        assert _failed_tests(state) == ["other", "stg"]
        gated = gate_answer(state, ["report"])["datasets"][0]["violations"]
        assert "quality_passed" not in {
            item["kind"] for item in gated if "report" in item["subject"]
        }
        health = health_of(state, find_node(state, "m.report.test"))
        assert health["state"] in ("unknown", "blocked")


def test_failed_model_is_named_before_failed_tests_as_the_cause(build: Any) -> None:
    state = build.state(*_invocation(build, "09", "orders", ("report",), **_BAD))
    causes = run_answer(generations_of(state), "d09")["causes"]
    names = [cause["job"]["name"] for cause in causes]
    assert names == ["m.orders", "m.stg.test", "m.other.test"]


def test_failed_test_in_an_invocation_without_models_has_failed(build: Any) -> None:
    alone = _invocation(build, "09", None, tuple(_MODELS), **_SKIPPED)
    events = [*_invocation(build, "08", None, (), **_GOOD), *alone]
    assert _failed_tests(build.state(*events)) == ["orders", "report"]


def test_earlier_failure_stays_while_the_test_is_not_run(build: Any) -> None:
    first = _invocation(build, "08", None, (), **(_GOOD | {"report": (False, "2")}))
    second = _invocation(build, "09", "orders", ("report",), report=(False, None))
    assert _failed_tests(build.state(*first, *second)) == ["report"]


def test_history_says_that_a_test_was_not_run(
    build: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    history = history_answer(
        build.state(*_invocation(build, "09", "orders", ("report",), **_BAD)), "report"
    )
    (check,) = history["items"]
    assert check["assertions"][0]["success"] is None
    print_history(history)
    assert "checked  1 not run  by m.report.test" in capsys.readouterr().out


def _health(state: State, *nodes: str) -> dict[str, str]:
    return {name: health_of(state, find_node(state, name))["state"] for name in nodes}


@pytest.mark.parametrize("is_ok", [True, False])
def test_later_dbt_test_does_not_hide_a_failed_model(is_ok: bool, build: Any) -> None:
    good = _invocation(build, "08", None, ())
    failed = _invocation(build, "09", "stg", ("orders", "report"))
    tests = _invocation(build, "10", None, tuple(_MODELS), other=(True, ""))
    if not is_ok:  # dbt-ol sends no run of a failed test
        tests[-1] |= {"eventType": "FAIL"}
    state = build.state(*good, *failed, *tests)
    assert _health(state, "stg", "orders", "report", "other") == {
        "stg": "failed",
        "orders": "blocked",
        "report": "blocked",
        "other": "healthy",
    }
    assert _health(state, "m.stg") == {"m.stg": "failed"}
    found = {(item["kind"], item["subject"]) for item in findings_answer(state)["items"]}
    pipeline = {("failed", "job:demo:dbt-run-shop")} if not is_ok else set()
    assert found == {("failed", "job:demo:m.stg")} | pipeline
    gated = gate_answer(state, ["report"], '{"fresh": true}')["datasets"][0]
    assert not gated["passed"]


def test_failed_pipeline_does_not_block_tasks_that_completed_in_it(build: Any) -> None:
    good = _invocation(build, "08", None, ())
    failed = _invocation(build, "09", None, ("orders", "report"))
    root = {**build.run("START", "d09", "dbt-run-shop", "08:59:00")}
    failed[-1] |= {"eventType": "FAIL"}
    state = build.state(*good, root, *failed)
    assert _health(state, "m.stg", "m.orders", "orders") == {
        "m.stg": "healthy",
        "m.orders": "blocked",
        "orders": "blocked",
    }


@pytest.mark.parametrize(
    ("skipped", "expected"),
    [
        (("stg",), "unknown"),  # all models that completed with it, and its readers, ran again
        (("stg", "orders", "report"), "failed"),
        (("stg", "other"), "failed"),
    ],
)
def test_failure_is_superseded_only_by_the_same_models(
    skipped: tuple[str, ...], expected: str, build: Any
) -> None:
    good = _invocation(build, "08", None, ())
    failed = _invocation(build, "09", "stg", ("orders", "report"))
    selected = _invocation(build, "10", None, skipped)
    extra = build.run(
        "COMPLETE", "x10", "m.extra", "10:05:00", parent=("d10", "dbt-run-shop"),
        kind="DBT/MODEL", reads=("db|raw",), writes=("db|extra",),
    )  # fmt: skip
    state = build.state(*good, *failed, *selected, extra)
    assert _health(state, "m.stg") == {"m.stg": expected}
    (found,) = findings_answer(state)["items"]
    severity = {"unknown": "warning", "failed": "error"}[expected]
    assert (found["subject"], found["severity"]) == ("job:demo:m.stg", severity)


def test_tests_behind_a_failed_test_are_not_run(build: Any) -> None:
    """dbt skips the models after a failed test, and dbt-ol reports their tests as failed."""
    for has_run_before in (True, False):
        before = _invocation(build, "08", None, (), **_GOOD) if has_run_before else []
        tests = {"stg": (False, "3"), **_SKIPPED}
        events = [*before, *_invocation(build, "09", None, ("orders", "report"), **tests)]
        events[-1] |= {"eventType": "FAIL"}
        for ordered in (events, events[::-1]):
            state = build.state(*ordered)
            assert _failed_tests(state) == ["stg"]
            if has_run_before:
                assert _health(state, "orders", "report") == dict.fromkeys(
                    ("orders", "report"), "blocked"
                )
            causes = run_answer(generations_of(state), "d09")["causes"]
            assert [cause["job"]["name"] for cause in causes] == ["m.stg.test"]


@pytest.mark.parametrize(("end", "failed"), [("FAIL", []), ("COMPLETE", ["orders", "report"])])
def test_tests_of_skipped_models_are_not_run_if_nothing_shows_what_failed(
    end: str, failed: list[str], build: Any
) -> None:
    """dbt-ol reports neither unit tests nor the tests of seeds and snapshots."""
    before = _invocation(build, "08", None, (), **_GOOD)
    events = _invocation(build, "09", None, ("orders", "report"), **_SKIPPED)
    events[-1] |= {"eventType": end}
    assert _failed_tests(build.state(*before, *events)) == failed


def test_failed_test_of_a_source_is_a_cause_although_no_job_writes_it(build: Any) -> None:
    tests = {"raw2": (False, "3"), **_SKIPPED}
    events = _invocation(build, "09", "orders", ("report",), **tests)
    causes = run_answer(generations_of(build.state(*events)), "d09")["causes"]
    assert [cause["job"]["name"] for cause in causes] == ["m.orders", "m.raw2.test"]


def test_selection_of_other_tests_does_not_hide_a_failed_test(build: Any) -> None:
    """`dbt test --select customers` also runs a test of `orders` that refers to `customers`."""

    def tests_at(hour: str, **results: dict[str, str | None]) -> list[Any]:
        names = {table: (None not in found.values(), "1") for table, found in results.items()}
        events = _invocation(build, hour, None, tuple(_MODELS), **names)
        for event, found in zip(events, results.values(), strict=False):
            assertions = [
                {"assertion": name, "success": actual is not None, "actual": actual or "2"}
                for name, actual in found.items()
            ]
            event["inputs"][0]["facets"] = {"dataQualityAssertions": {"assertions": assertions}}
        return events

    good: dict[str, str | None] = {"refers": "0", "not_null": "0"}
    before = tests_at("08", orders={"unique": None, **good}, stg=good)
    assert _failed_tests(build.state(*before)) == ["orders"]
    selections: list[dict[str, Any]] = [
        {"orders": {"refers": "0"}},
        {"orders": {"refers": "0"}, "stg": good},
        {"orders": good},
    ]
    for selection in selections:
        state = build.state(*before, *tests_at("09", **selection))
        assert _failed_tests(state) == ["orders"], selection
        assert _health(state, "orders") == {"orders": "failed_checks"}
        assert not gate_answer(state, ["orders"])["passed"]
    repeated = tests_at("10", orders={"unique": "0"})
    assert _failed_tests(build.state(*before, *tests_at("09", **selections[0]), *repeated)) == []
    removed = tests_at("09", orders=good, stg=good)
    assert _failed_tests(build.state(*before, *removed)) == []
    assert _failed_tests(build.state(*before, *removed, *tests_at("10", **selections[0]))) == []


def test_check_that_a_validation_no_longer_makes_does_not_count(build: Any) -> None:
    """Only `dbt test` can leave tests out."""

    def validated(run: str, time: str, **results: bool) -> Any:
        found = [{"assertion": name, "success": passed} for name, passed in results.items()]
        event = build.run("COMPLETE", run, "validate", time, reads=("db|t",))
        event["inputs"][0]["inputFacets"] = {"dataQualityAssertions": {"assertions": found}}
        return event

    first = validated("1", "08:00:00", unique=False, not_null=True)
    assert _failed_tests(build.state(first)) == ["t"]
    assert _failed_tests(build.state(first, validated("2", "09:00:00", positive=True))) == []


@pytest.mark.parametrize(
    ("expected", "actual", "fails"),
    [
        (">10", "1", False),
        ("> 10", "11", True),
        (">=5", "5", True),
        ("!= 0", "2", True),
        ("0", "2", True),
        ("between 1 and 5", "2", True),
        (">10", None, True),
    ],
)
def test_dbt_test_that_meets_no_error_condition_is_a_warning(
    expected: str, actual: str | None, fails: bool, build: Any
) -> None:
    """dbt-ol reports warnings, such as those of `warn_if`, as failures."""
    events = _invocation(build, "09", None, (), stg=(False, actual))
    test = events[-2]["inputs"][0]["facets"]["dataQualityAssertions"]["assertions"][0]
    test |= {"expected": expected, "severity": "error"}
    state = build.state(*events)
    assert _failed_tests(state) == ["stg"] * fails
    assert bool(findings_answer(state, kind="failed")["items"]) == fails
    test_job, dataset = _health(state, "m.stg.test", "stg").values()
    assert (test_job, dataset) == (("failed", "failed_checks") if fails else ("healthy",) * 2)
    assert gate_answer(state, ["report"])["passed"] is not fails
