"""The first search for jobs with a condition skips jobs that cannot match, and no others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings

from headwater.events import JobRef
from headwater.graph.generations import Generations
from headwater.graph.nodes import Node
from headwater.health.branches import mixed_jobs
from headwater.health.caching import jobs_with_open_runs
from headwater.health.failing import checked_nodes, possibly_failing
from headwater.health.project import removed_model
from headwater.projection import State
from packages.headwater.tests.support.graphs import DAG, TASK
from packages.headwater.tests.support.random_runs import RUNS, events_of

_FAILED_CHECK = {"assertions": [{"assertion": "not_null", "success": False, "column": "id"}]}
_FAILED_TEST = {"tests": [{"name": "unique", "type": "generic", "status": "fail"}]}
_OPERATOR = {"task": {"operator_class": "SQLColumnCheckOperator"}, "taskInstance": {}}


def _found(state: State) -> dict[str, list[str]]:
    """Return the names of the jobs and datasets that each search finds."""
    return {
        "failing": sorted(ref.name for ref in possibly_failing(state)),
        "checked": sorted(node.name for node in checked_nodes(state)),
        "open": sorted(ref.name for ref in jobs_with_open_runs(state)),
        "mixed": sorted(ref.name for ref, _ in mixed_jobs(state)),
        "removed": sorted(ref.name for ref in state.jobs if removed_model(state, Node.of_job(ref))),
    }


def _found_by_whole_search(state: State) -> dict[str, list[str]]:
    original = Generations.jobs_where

    def whole(
        self: Generations, name: str, holds: Callable[[JobRef], bool], may_hold: object = None
    ) -> set[JobRef]:
        return original(self, name, holds)

    with patch.object(Generations, "jobs_where", whole):
        return _found(state)


def _failures(build: Any) -> list[dict[str, Any]]:
    """Return a run for each form in which producers report failures, and for each other state."""

    def check(job: str, side: str, facets: str, name: str, type_: str = "COMPLETE") -> Any:
        body = build.run(type_, job, job, "08:00:00", **{side: (f"db|{job}",)})
        body["inputs" if side == "reads" else "outputs"][0][facets] = {name: _FAILED_CHECK}
        return body

    read = {"reads": ("db|orders",)}
    return [
        check("input", "reads", "inputFacets", "dataQualityAssertions"),
        check("dataset", "reads", "facets", "dataQualityAssertions", "RUNNING"),
        check("output", "writes", "facets", "greatExpectations_assertions"),
        build.run("COMPLETE", "tests", "tests", "08:00:00", facets={"test": _FAILED_TEST}, **read),
        build.run("COMPLETE", "own", "own", "08:00:00", facets={"testRun": _FAILED_TEST}),
        build.run("FAIL", "sql", "sql", "08:00:00", facets={"airflow": _OPERATOR},
                  reads=("db|rides",)),
        build.run("FAIL", "dbt", "dbt", "08:00:00", kind="DBT/TEST", reads=("db|trips",)),
        build.run("ABORT", "aborted", "aborted", "08:00:00"),
        build.run("FAIL", "d", "dag", "08:00:00", kind=DAG),
        build.run("START", "t", "dag.load", "07:00:00", kind=TASK, parent=("d", "dag"),
                  writes=("db|loaded",)),
        build.run("START", "open", "open", "08:00:00"),
        build.run("COMPLETE", "done", "done", "08:00:00", reads=("db|a",), writes=("db|b",)),
    ]  # fmt: skip


def test_first_search_finds_every_form_of_failure(build: Any) -> None:
    events = _failures(build)
    found = _found(build.state(*events))
    assert found == _found_by_whole_search(build.state(*events))
    assert found == {
        "failing": ["aborted", "dag", "dag.load", "dbt", "sql"],
        "checked": ["dataset", "input", "orders", "output", "own", "rides", "trips"],
        "open": ["dag.load", "dataset", "open"],
        "mixed": [],
        "removed": [],
    }


def test_first_search_finds_every_form_of_branch(build: Any) -> None:
    def facets(number: int) -> list[dict[str, Any]]:
        value = f"v{number}"
        tag = {"key": "project_branch", "value": value, "source": "METAFLOW"}
        variables = [{"name": "ENV", "value": value}]
        return [{"tags": {"tags": [tag]}},
                {"environmentVariables": {"environmentVariables": variables}}, {}]  # fmt: skip

    events = [
        build.run("COMPLETE", f"{job}{number}", job, "08:00:00", facets=given)
        for number in range(2)
        for job, given in zip(("tagged", "variables", "plain"), facets(number), strict=True)
    ]
    found = _found(build.state(*events))
    assert found == _found_by_whole_search(build.state(*events))
    assert found["mixed"] == ["tagged", "variables"]


def test_first_search_finds_models_that_a_manifest_removed(build: Any) -> None:
    def invocation(number: int, models: dict[str, str]) -> list[dict[str, Any]]:
        root, hour = (f"i{number}", "build"), f"{number:02}"
        project = {"name": "shop", "nodes": [f"model.{name}" for name in models.values()],
                   "schemas": ["db.main"], "tests": []}  # fmt: skip
        found = [build.run("COMPLETE", *root, f"{hour}:00:00",
                           facets={"headwater_dbt_project": project})]  # fmt: skip
        for job, name in models.items():
            body = build.run("COMPLETE", f"{job}{number}", job, f"{hour}:01:00", parent=root,
                             writes=(f"db|{name}",))  # fmt: skip
            node = {"unique_id": f"model.{name}", "database": "db", "schema": "main"}
            body["job"]["facets"]["dbt_node"] = node
            found.append(body)
        return found

    events = [*invocation(8, {"a": "a", "b": "b"}), *invocation(9, {"a": "a"})]
    found = _found(build.state(*events))
    assert found == _found_by_whole_search(build.state(*events))
    assert found["removed"] == ["b"]


@pytest.mark.replay
@settings(max_examples=100)
@given(runs=RUNS)
def test_first_search_finds_the_same_nodes_as_a_complete_one(
    runs: list[dict[str, Any]], build: Any
) -> None:
    events = events_of(build, runs)
    assert _found(build.state(*events)) == _found_by_whole_search(build.state(*events))
