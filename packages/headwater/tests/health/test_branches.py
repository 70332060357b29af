"""Health: jobs that get runs of several branches or environments."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from headwater.graph.current import generations_of
from headwater.plugins.trust._health import health_answer
from headwater.plugins.trust.queries import findings_answer
from headwater.projection import State, project
from headwater.projection._apply import apply

_FIRST, _MONTH_LATER = "2025-11-01T06:00:00Z", "2025-12-02T06:00:00Z"


def _run(build: Any, time: str, *tags: tuple[str, str], job: str = "Train", **more: Any) -> Any:
    """Return a run with tags, as metaflow-openlineage sends them."""
    fields = [{"key": key, "value": value, "source": "METAFLOW"} for key, value in tags]
    event = build.run("COMPLETE", f"{job} {time}", job, "00:00:00",
                      facets={"tags": {"tags": fields}}, **more)  # fmt: skip
    return {**event, "eventTime": time if "T" in time else f"{time}T06:00:00Z"}


def _found(state: State) -> list[tuple[str, str, str]]:
    answer = findings_answer(state, kind="branches")
    return [(item["severity"], item["subject"], item["message"]) for item in answer["items"]]


def test_runs_of_several_branches_are_a_warning(build: Any) -> None:
    events = [
        _run(build, "2025-11-20", ("project_branch", "prod"), ("project", "taxi")),
        _run(build, "2025-11-21", ("project_branch", "user.ada"), ("project", "taxi")),
        _run(build, "2025-11-19", ("project_branch", "test.new"), ("project", "taxi")),
    ]
    state = build.state(*events)
    text = "got runs of 3 branches (user.ada, prod, test.new) under one name"
    assert _found(state) == [("warning", "job:demo:Train", text)]
    (finding,) = findings_answer(state)["items"]
    assert (finding["runId"], finding["at"]) == ("Train 2025-11-21", "2025-11-21T06:00:00Z")
    assert "OPENLINEAGE_NAMESPACE" in finding["remedy"]
    assert health_answer(state)["isHealthy"]


def test_run_of_another_branch_does_not_hide_a_failure(build: Any) -> None:
    failed = _run(build, "2025-11-20", ("project_branch", "prod")) | {"eventType": "FAIL"}
    other = _run(build, "2025-11-21", ("project_branch", "test.new"))
    text = "got runs of 2 branches (test.new, prod) under one name; the newest run of prod failed"
    assert _found(build.state(failed, other)) == [("warning", "job:demo:Train", text)]


@pytest.mark.parametrize("key", ["environment", "ENV"])
def test_environments_are_read_from_tags_and_variables(build: Any, key: str) -> None:
    variable = {"environmentVariables": [{"name": key, "value": "prod"}, {"name": "HOME"}]}
    events = [
        _run(build, "2025-11-20", (key, "dev")),
        build.run("COMPLETE", "2", "Train", "08:00:00", facets={"environmentVariables": variable}),
    ]
    (finding,) = _found(build.state(*events))
    assert finding[2] == "got runs of 2 environments (prod, dev) under one name"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([("project_branch", "prod")], [("project_branch", "prod")]),
        ([("project_branch", "prod")], []),
        ([("user", "ada")], [("user", "bob")]),
        ([("env", "true")], [("env", "prod")]),  # a tag without a value
    ],
)
def test_runs_of_one_branch_are_no_finding(build: Any, first: Any, second: Any) -> None:
    state = build.state(_run(build, _FIRST, *first), _run(build, "2025-11-02", *second))
    assert _found(state) == []


def test_branch_without_recent_runs_does_not_count(build: Any) -> None:
    old = _run(build, _FIRST, ("project_branch", "prod"))
    assert _found(build.state(old, _run(build, _MONTH_LATER, ("project_branch", "b")))) == []
    assert _found(build.state(old, _run(build, "2025-11-30", ("project_branch", "b")))) != []


@pytest.mark.parametrize("is_silent", [True, False])
def test_flow_is_named_instead_of_its_steps(build: Any, is_silent: bool) -> None:
    events = []
    for time, branch in (("2025-11-20", "prod"), ("2025-11-21", "user.ada")):
        tag = ("project_branch", branch)
        parent = (f"Train {time}", "Train")
        events += [_run(build, time, tag, job=f"Train.{step}", parent=parent) for step in "ab"]
        events += [] if is_silent else [_run(build, time, tag)]
    assert [subject for _, subject, _ in _found(build.state(*events))] == ["job:demo:Train"]


def test_findings_follow_each_event_in_any_order(build: Any) -> None:
    bodies = [
        _run(build, "2025-11-20", ("project_branch", "prod")),
        _run(build, "2025-11-21", ("project_branch", "user.ada")),
        _run(build, _MONTH_LATER, ("project_branch", "prod")),
    ]
    events = [build.entry(body).event for body in bodies]
    results = set()
    for order in permutations(events):
        state = State()
        for count, event in enumerate(order, 1):
            apply(state, event)
            generations_of(state)
            assert _found(state) == _found(project(order[:count]))
        results.add(str(_found(state)))
    assert len(results) == 1
