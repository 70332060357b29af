"""The newest imported manifest of a dbt project, and tests that it no longer has.

`headwater harvest dbt` reports the nodes, tests and schemas of the manifest with each invocation,
in the run facet `headwater_dbt_project`. A test is removed if the manifest of a newer invocation
has the schema of its table but not the test. Events of dbt-ol do not list the tests of a project,
so that removed tests are unknown without an import.
"""

from __future__ import annotations

from collections.abc import Iterable

from headwater.datasets.assertions import Assertion
from headwater.events import JobRef, Json
from headwater.graph.current import generations_of
from headwater.projection import Run, State
from headwater.projection.derived import ancestry_of, began_at

PROJECT = "headwater_dbt_project"
CONFIG = "headwater_dbt_config"
"""Job facet: the texts in the configuration of a model that may name columns, by option."""


def newest_with_manifest(state: State, ref: JobRef) -> Run | None:
    """Return the newest run of a job that has a manifest."""
    return next(reversed(runs_with_manifest(state, ref)), None)


def runs_with_manifest(state: State, ref: JobRef) -> list[Run]:
    """Return the runs of a job that have a manifest, oldest first. Do not change the list."""
    return generations_of(state).of_runs(ref, PROJECT, lambda runs: _with_manifest(state, runs))


def has_manifest(run: Run) -> bool:
    """Return True if a run has the facet of a manifest."""
    return run.facets.has_any({PROJECT})


def _newer_manifest(state: State, run: Run) -> Json | None:
    """Return the manifest of the newest invocation since the one of a run; None without one."""
    *_, root = ancestry_of(state, run)
    listing = newest_with_manifest(state, root.key.job)
    if listing is None or _place(state, listing) <= _place(state, root):
        return None
    return listing.facets.get(PROJECT)


def is_removed_test(state: State, run: Run, assertion: Assertion) -> bool:
    """Return True if the project of a test run no longer has the test of an assertion.

    `run` is the run that reported the assertion. Without a newer manifest, or if the manifest has
    no schema of the tested tables, the result is False: a part of a project may have been imported.
    """
    project = _newer_manifest(state, run)
    return project is not None and lacks_test(project, run, assertion)


def lacks_test(project: Json, run: Run, assertion: Assertion) -> bool:
    """Return True if a manifest has the schema of the tables of a test run, but not one test."""
    if not isinstance(project.get("tests"), list):
        return False
    names = run.inputs or run.outputs
    is_known = any(name.name.rpartition(".")[0] in project.get("schemas", ()) for name in names)
    # The outcome of a singular test has the name of its job: test.PROJECT.NAME.
    name = assertion.name.rpartition(".")[2]
    return is_known and not {assertion.name, name} & set(project["tests"])


def _with_manifest(state: State, runs: Iterable[Run]) -> list[Run]:
    listing = (run for run in runs if isinstance(run.facets.get(PROJECT).get("nodes"), list))
    return sorted(listing, key=lambda run: _place(state, run))


def _place(state: State, run: Run) -> tuple[int, str]:
    """Return the sort key of a run: its start, then its id."""
    return began_at(state, run) or 0, run.key.run_id
