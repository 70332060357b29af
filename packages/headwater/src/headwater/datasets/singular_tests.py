"""Singular tests of dbt, which dbt-ol and `harvest dbt` report twice per invocation.

A singular test is an SQL file of a project. It has a run of its own, named by its unique id such as
`test.shop.no_refunds`. It is also an assertion `no_refunds` in the test run of each model that it
reads. The run of its own counts, because it also exists if the test reads several models.
"""

from __future__ import annotations

import re

from headwater import deadline
from headwater.datasets.assertions import Assertion, dataset_assertions
from headwater.datasets.not_run import is_dbt_test, root_of
from headwater.datasets.thresholds import with_threshold
from headwater.identity import DatasetName
from headwater.projection import Run, State
from headwater.projection.derived import descendants_of

_UNIQUE_ID = re.compile(r"test\.[^.]+\.([^.]+)")  # those of generic tests end with a hash
_Tests = dict[str, set[DatasetName]]
"""The primary names of the datasets that singular tests read, by the name of the test."""


def repeats_singular_test(state: State, run: Run, name: DatasetName, assertion: Assertion) -> bool:
    """Return True if an assertion is a singular test that has a run of its own.

    `run` reported the assertion about the dataset with the primary name `name`.
    """
    if assertion.column or assertion.reported.get("assertion") != assertion.name:
        return False
    if not is_dbt_test(state, run.key.job) or _UNIQUE_ID.fullmatch(run.key.job.name):
        return False
    return name in _tests_of(state, root_of(state, run)).get(assertion.name, ())


def only_repeats_singular_tests(state: State, run: Run) -> bool:
    """Return True if a run failed only because of singular tests that have runs of their own."""
    if not is_dbt_test(state, run.key.job) or run.is_skipped:
        return False
    failed = [
        (state.identity.primary(name), assertion)
        for name, use in run.inputs.items()
        for assertion in map(
            with_threshold, dataset_assertions(use.dataset_facets.plain() | use.io_facets.plain())
        )
        if assertion.failed
    ]
    return bool(failed) and all(repeats_singular_test(state, run, *item) for item in failed)


def _tests_of(state: State, root: Run) -> _Tests:
    """Return the singular tests that have runs below a root run; cached until the next event."""
    key = "singular tests", root.key
    if key not in state.derived:
        found: _Tests = {}
        for run in deadline.watched(descendants_of(state, root)):
            name = _UNIQUE_ID.fullmatch(run.key.job.name)
            if name and not run.is_skipped and is_dbt_test(state, run.key.job):
                found.setdefault(name[1], set()).update(map(state.identity.primary, run.inputs))
        state.derived[key] = found
    tests: _Tests = state.derived[key]
    return tests
