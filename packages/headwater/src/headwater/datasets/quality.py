"""Checks of datasets over time: assertions of every producer, and dataQualityMetrics.

A run reports assertions about a dataset that it reads or writes (`datasets.assertions`), or about
its tests (`test`), which apply to its inputs, or without inputs to its outputs. A job that only
checks, such as a dbt test or an SQL check of Airflow, and reports no assertions, counts as one
assertion: its run failed or completed (its *outcome*).

An element is one instance of a mapped task, see `datasets.elements`. `of_runs` caches a value of
the runs of a job until these change. Names of datasets are reported names unless said otherwise.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain
from typing import NamedTuple

from headwater import deadline
from headwater.datasets.assertions import (
    Assertion,
    assertion_of,
    dataset_assertions,
    tests_of_run,
)
from headwater.datasets.elements import element_of
from headwater.datasets.not_run import (
    completed_tests,
    has_result,
    is_dbt_test,
    is_test,
    lacks_data,
    root_of,
    without_result,
)
from headwater.datasets.project import is_removed_test, lacks_test
from headwater.datasets.singular_tests import repeats_singular_test
from headwater.datasets.thresholds import with_threshold
from headwater.events import EventType, Facets, JobRef, Json
from headwater.events.facets import ASSERTION_FACETS, Airflow
from headwater.graph.current import generations_of
from headwater.identity import DatasetName
from headwater.projection import Run, RunKey, State, Use
from headwater.projection.derived import ended_at, records_of

_METRICS = "dataQualityMetrics"
_FACETS = frozenset((*ASSERTION_FACETS, _METRICS))
_ASSERTIONS = frozenset(ASSERTION_FACETS)
_TEST_FACETS = frozenset(("test", "testRun"))
"""Facets of a run with results of tests: of the specification, and of some producers."""
_CHECK_OPERATOR = re.compile(r"Check(Operator|OperatorAsync)?$")
_RESULTS = {EventType.COMPLETE: True, EventType.FAIL: False}


_Checker = tuple[JobRef | None, str | None]
"""The source of checks: a job, and its suite of Great Expectations if it has one."""


class Check(NamedTuple):
    """The assertions and metrics of a dataset at one time, of a run or of none."""

    time: int
    run: Run | None
    version: str | None
    """The checked version, if the producer reported it."""
    assertions: list[Assertion]
    metrics: Json

    @property
    def failed(self) -> list[Assertion]:
        """Return the failed assertions; those of severity `warn` are warnings only."""
        return [assertion for assertion in self.assertions if assertion.failed]


class Result(NamedTuple):
    """An assertion with its newest result, and the check that it is part of."""

    check: Check
    assertion: Assertion


def checks_of(state: State, name: DatasetName) -> list[Check]:
    """Return every check of a dataset, under any of its aliases, oldest first.

    A check without assertions and metrics is left out. Results of tests that were not run have no
    result. A singular test of dbt, which is reported twice, is listed once.
    """
    deadline.check()
    generations = generations_of(state)
    found: list[Check] = []
    for record in records_of(state, name):
        stamped = (record.facets_without_run or {}).items()
        found += (_check(stamp.time, None, None, facets) for stamp, facets in stamped)
        for ref in {key.job for key in chain(record.readers, record.writers)}:
            by_dataset = generations.of_runs(ref, "checks", partial(_checks_of_runs, state))
            found += by_dataset.get(record.name, ())
            if is_test(state, ref) and not by_dataset:
                outcomes = generations.of_runs(ref, "outcomes", partial(_outcomes, state))
                found += outcomes.get(record.name, ())
    primary = state.identity.primary(name)
    found = [_without_repeated_tests(state, primary, check) for check in found]
    found = [_checked(state, name, check) for check in found if check.assertions or check.metrics]
    return sorted(found, key=lambda check: (check.time, check.run.key.run_id if check.run else ""))


def _without_repeated_tests(state: State, name: DatasetName, check: Check) -> Check:
    """Return a check of a dataset without singular tests of dbt that have runs of their own."""
    run = check.run
    if run is None or not is_dbt_test(state, run.key.job):
        return check
    kept = [item for item in check.assertions if not repeats_singular_test(state, run, name, item)]
    return check._replace(assertions=kept)


def _checked(state: State, name: DatasetName, check: Check) -> Check:
    """Return a check as it counts: with thresholds, and without results of tests that were not run.

    A test was not run if it has no result of its own and its run lacked the data of the dataset
    (`datasets.not_run`).
    """
    check = _with_thresholds(state, check)
    if check.run is None or all(map(has_result, check.assertions)):
        return check
    if not lacks_data(state, check.run, name):
        return check
    assertions = [item if has_result(item) else without_result(item) for item in check.assertions]
    return check._replace(assertions=assertions)


def _with_thresholds(state: State, check: Check) -> Check:
    """Return a check of dbt in which failures below `error_if` are warnings."""
    if check.run is None or not is_dbt_test(state, check.run.key.job):
        return check
    return check._replace(assertions=list(map(with_threshold, check.assertions)))


def current_failures(state: State, checks: Iterable[Check]) -> list[Result]:
    """Return the failures among the newest results of each assertion, newest first.

    `checks` are those of one dataset or of the tests of one job.
    """
    found = current_results(state, checks, only_failed=True)
    return sorted(found, key=lambda result: result.check.time, reverse=True)


def current_results(
    state: State, checks: Iterable[Check], *, only_failed: bool = False
) -> list[Result]:
    """Return the newest result of each assertion that its producer still checks.

    Of each job, only the assertions in its newest pipeline run count: others were removed, as were
    tests that the dbt project no longer has. Elements of a mapped task check different data. A dbt
    test counts until it runs again, because `dbt test --select` may leave it out, unless all tests
    that passed with it ran without it.

    `checks` are those of one dataset or of the tests of one job. A later result of an assertion
    replaces an earlier one; an assertion without a result replaces nothing. Of two results in one
    check, a failure counts. Assertions are equal if their definitions are (`key`); those of dbt if
    their names are, because thresholds may change.
    """
    decided = (check for check in checks if any(a.passed is not None for a in check.assertions))
    asserted = sorted(decided, key=_place)
    newest = {_checker(check): _pipeline_run(state, check) for check in asserted}
    results: dict[tuple[_Checker, str | None, str], Result] = {}
    for check in asserted:
        is_selected = check.run is not None and is_dbt_test(state, check.run.key.job)
        element = element_of(check.run) if check.run else None
        for assertion in sorted(check.assertions, key=lambda item: item.failed):
            if assertion.passed is not None:
                key = assertion.title if is_selected else assertion.key
                results[_checker(check), element, key] = Result(check, assertion)
    return [
        result
        for result in results.values()
        if (result.assertion.failed or not only_failed)
        and not _is_removed(state, result.check, result.assertion)
        and (
            _pipeline_run(state, result.check) == newest[_checker(result.check)]
            or _was_left_out(state, result, asserted)
        )
    ]


def _was_left_out(state: State, result: Result, asserted: Iterable[Check]) -> bool:
    """Return True if later runs of a dbt test job may have been selections without a test.

    Return False if in a later pipeline run, all test jobs that completed with the test ran again,
    and all other tests of this job that passed.
    """
    own_check = result.check
    if own_check.run is None or not is_dbt_test(state, own_check.run.key.job):
        return False
    passed: dict[RunKey, set[str]] = defaultdict(set)
    reported: dict[RunKey, set[str]] = defaultdict(set)
    own = root_of(state, own_check.run)
    for check in asserted:
        if check.run is not None and _checker(check) == _checker(own_check):
            root = root_of(state, check.run).key
            if root == own.key or _place(check) > _place(own_check):
                results = [item for item in check.assertions if item.passed is not None]
                reported[root] |= {item.title for item in results}
                passed[root] |= {item.title for item in results if item.passed}
    jobs = completed_tests(state, own)
    others = passed[own.key] - {result.assertion.title}
    return not any(
        root != own.key
        and others <= titles
        and jobs <= completed_tests(state, state.runs[root]) | {own_check.run.key.job}
        for root, titles in reported.items()
    )


def has_only_removed_failures(state: State, run: Run) -> bool:
    """Return True if a test run failed because of tests that its dbt project no longer has.

    Such a failure is no longer a problem of the project.
    """
    failed = [item for item in _results(state, run) if item.failed]
    return bool(failed) and all(is_removed_test(state, run, item) for item in failed)


def lacks_all_tests(state: State, project: Json, run: Run) -> bool:
    """Return True if a manifest of a dbt project has none of the tests of a test run."""
    results = _results(state, run)
    return bool(results) and all(lacks_test(project, run, item) for item in results)


def _results(state: State, run: Run) -> list[Assertion]:
    """Return the assertions of a test run, or else its outcome; nothing for other runs."""
    if not is_test(state, run.key.job):
        return []
    checks = [check for _, check in _reported_checks(state, run)]
    return [item for check in checks for item in check.assertions] or _outcome(run)


def _is_removed(state: State, check: Check, assertion: Assertion) -> bool:
    return check.run is not None and is_removed_test(state, check.run, assertion)


def is_checking(run: Run) -> bool:
    """Return True if a run is a check: it has a check operator or reported tests."""
    operator = run.facets.parsed(Airflow).operator or ""
    return has_tests(run) or _CHECK_OPERATOR.search(operator) is not None


def has_tests(run: Run) -> bool:
    """Return True if a run reported tests."""
    return run.facets.has_any(_TEST_FACETS)


def may_have_failed_check(run: Run) -> bool:
    """Return False for a run that did not fail and reported neither tests nor assertions.

    It only reads the run itself, so it is fast enough to find the jobs with possible failures.
    """
    if has_tests(run) or (run.end is not None and run.end[1] is EventType.FAIL):
        return True
    for uses in (run.inputs, run.outputs):
        for use in uses.values():  # without a generator, since it is called for every run
            if use.dataset_facets.has_any(_ASSERTIONS) or use.io_facets.has_any(_ASSERTIONS):
                return True
    return False


def datasets_with_failures(state: State, ref: JobRef) -> set[DatasetName]:
    """Return the datasets, as reported, of which a run of a job ever reported a failed check.

    `ref` is the job. Names are those of the events, not primary names. A later check may have
    passed.
    """
    generations = generations_of(state)
    by_dataset = generations.of_runs(ref, "checks", partial(_checks_of_runs, state))
    if is_test(state, ref) and not by_dataset:
        by_dataset = generations.of_runs(ref, "outcomes", partial(_outcomes, state))
    return {name for name, checks in by_dataset.items() if any(c.failed for c in checks)}


def tests_without_dataset(state: State, ref: JobRef) -> list[Check]:
    """Return the checks of the runs of a job that neither read nor wrote a dataset."""
    found = generations_of(state).of_runs(ref, "own tests", partial(_own_tests, state))
    return [_with_thresholds(state, check) for check in found]


def _own_tests(state: State, runs: Iterable[Run]) -> list[Check]:
    """Return the tests of runs without inputs and outputs, as checks, oldest first."""
    found = [
        Check(ended_at(state, run), run, None, assertions, {})
        for run in runs
        if not (run.inputs or run.outputs) and (assertions := _tests(run))
    ]
    return sorted(found, key=_place)


def _place(check: Check) -> tuple[int, str]:
    return check.time, check.run.key.run_id if check.run else ""


def _checker(check: Check) -> _Checker:
    """Return the job of a check; with its suite, as one job may run several suites one by one."""
    if check.run is None:
        return None, None
    suite = check.run.facets.get("great_expectations_meta").get("expectation_suite_name")
    return check.run.key.job, str(suite) if suite else None


def _pipeline_run(state: State, check: Check) -> RunKey | int:
    """Return the run that the check was part of; its time if it was part of none."""
    if check.run is None:
        return check.time
    return root_of(state, check.run).key


def _checks_of_runs(state: State, runs: Iterable[Run]) -> dict[DatasetName, list[Check]]:
    """Return the checks that runs reported, by the reported name of the dataset."""
    found: dict[DatasetName, list[Check]] = defaultdict(list)
    for run in runs:
        for name, check in _reported_checks(state, run):
            found[name].append(check)
    return dict(found)


def _reported_checks(state: State, run: Run) -> Iterator[tuple[DatasetName, Check]]:
    """Yield the datasets of a run, by reported name, each with a check.

    Tests of the run that no facet of a dataset repeats apply to its inputs, or else to its outputs.
    """
    attributed: set[str] = set()
    for side in ("inputs", "outputs"):
        uses: dict[DatasetName, Use] = getattr(run, side)
        for name, use in uses.items():
            if use.dataset_facets.has_any(_FACETS) or use.io_facets.has_any(_FACETS):
                # dbt reports the same results twice, older versions only as a facet of the dataset.
                facets = use.dataset_facets.plain() | use.io_facets.plain()
                check = _check(ended_at(state, run), run, use.version, facets)
                check = check._replace(assertions=_as_run(run, check.assertions))
                attributed |= {assertion.name for assertion in check.assertions}
                yield name, check
    tests = [test for test in _tests(run) if test.name not in attributed]
    if not attributed and _CHECK_OPERATOR.search(run.facets.parsed(Airflow).operator or ""):
        tests = tests or _outcome(run)
    yield from _of_datasets(state, run, tests)


def _tests(run: Run) -> list[Assertion]:
    """Return the tests that a run reported in its own facets."""
    facets = (run.facets.get(key) for key in sorted(_TEST_FACETS) if run.facets.stamp_of(key))
    return _as_run(run, [test for facet in facets for test in tests_of_run(facet)])


def _as_run(run: Run, assertions: list[Assertion]) -> list[Assertion]:
    """Return the assertions of a run; without results if dbt skipped it.

    dbt-ol reports skipped tests as failed.
    """
    return [*map(without_result, assertions)] if run.is_skipped else assertions


def _outcomes(state: State, runs: Iterable[Run]) -> dict[DatasetName, list[Check]]:
    """Return the outcomes of runs as checks, by the reported name of the dataset."""
    found: dict[DatasetName, list[Check]] = defaultdict(list)
    for run in runs:
        for name, check in _of_datasets(state, run, _outcome(run)):
            found[name].append(check)
    return dict(found)


def _outcome(run: Run) -> list[Assertion]:
    """Return the outcome of a run as an assertion; nothing for a run that is open or aborted."""
    passed = _RESULTS.get(run.end[1]) if run.end else None
    if passed is None:
        return []
    return [assertion_of({"assertion": run.key.job.name, "success": passed})]


def _of_datasets(
    state: State, run: Run, tests: list[Assertion]
) -> Iterator[tuple[DatasetName, Check]]:
    """Yield a check with some tests for each dataset that they are about.

    These are the inputs of the run, or its outputs if it has no input.
    """
    if tests:
        for name, use in (run.inputs or run.outputs).items():
            yield name, Check(ended_at(state, run), run, use.version, tests, {})


def _check(time: int, run: Run | None, version: str | None, facets: Facets) -> Check:
    """Return the check in the facets of a dataset: its assertions, and its metrics by name."""
    metrics = facets.get(_METRICS, {}).items()
    shown = {key: value for key, value in metrics if not key.startswith("_")}
    return Check(time, run, version, dataset_assertions(facets), shown)
