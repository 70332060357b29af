from __future__ import annotations

from typing import Any

import pytest

from headwater.errors import AmbiguousError, NotFoundError
from headwater.plugins.trust.queries import findings_answer
from headwater.projection import State
from headwater.runs.queries import runs_answer, runtree_answer

_DAG_RUN = {"dagRun": {"run_id": "manual__1", "conf": {"month": "2025-11"}}}


def _ids(item: dict[str, Any]) -> Any:
    return item["runId"], [_ids(child) for child in item["children"]]


@pytest.fixture
def state(build: Any) -> State:
    error = {"errorMessage": {"message": "disk full", "programmingLanguage": "python"}}
    task = {"airflow": _DAG_RUN}
    parameters = {"executionParameters": {"parameters": [{"name": "days", "value": "30"}, "junk"]}}
    tags = {"tags": {"tags": [{"key": "run_id", "value": "1763"}, 7]}}
    flow = {**parameters, **tags}
    return build.state(
        build.run("COMPLETE", "d", "dag", "08:09:00", facets={"airflowDagRun": _DAG_RUN}),
        build.run("COMPLETE", "t1", "dag.t", "08:01:00", parent=("d", "dag"), facets=task),
        build.run("FAIL", "t2", "dag.u", "08:02:00", parent=("d", "dag"), facets=task | error),
        build.run("COMPLETE", "f", "Flow", "08:03:00", parent=("t1", "dag.t"), facets=flow),
        build.run("START", "s", "Flow.s", "08:02:30", parent=("f", "Flow"), facets=tags),
    )


def test_airflow_run_has_its_partition_and_map_index(build: Any) -> None:
    partition = {"partition_key": "2025-11-20", "partition_date": "2025-11-20T00:00:00+00:00"}
    dag_run = {"run_id": "p", "conf": {"full": True}, **partition}
    events = [build.run("COMPLETE", "d", "dag", "08:09:00",
                        facets={"airflowDagRun": {"dagRun": dag_run}})]  # fmt: skip
    for index in (-1, 2):  # Airflow's index of a task that is not mapped is -1
        facets = {"airflow": {"taskInstance": {"map_index": index}}}
        events.append(build.run("FAIL", f"t{index}", f"dag.t{index}", "08:01:00", facets=facets))
    state = build.state(*events)
    result = {run["runId"]: run["parameters"] for run in runs_answer(state)["items"]}
    assert result == {"d": {"full": True, **partition}, "t-1": {}, "t2": {"map_index": "2"}}
    assert [item["message"] for item in findings_answer(state)["items"]] == [
        "failed",
        "failed for map index 2",
    ]


def test_run_has_parameters_external_id_and_error(state: State) -> None:
    result = {run["runId"]: run for run in runs_answer(state)["items"]}
    assert (result["d"]["ownId"], result["d"]["parameters"]) == ("manual__1", {"month": "2025-11"})
    assert (result["f"]["ownId"], result["f"]["parameters"]) == ("1763", {"days": "30"})
    assert (result["t2"]["ownId"], result["t2"]["error"]) == ("manual__1", "disk full")
    assert result["t1"]["error"] is None


def test_duration_is_unknown_if_only_the_end_was_reported(build: Any) -> None:
    state = build.state(
        build.run("COMPLETE", "end", "a", "08:01:00"),
        build.run("START", "both", "b", "08:01:00"),
        build.run("COMPLETE", "both", "b", "08:01:00"),
    )
    runs = runs_answer(state, sort="duration")["items"]
    assert [(run["runId"], run["durationMs"]) for run in runs] == [("both", 0), ("end", None)]


def test_state_filter_applies_before_the_limit(state: State) -> None:
    assert [run["runId"] for run in runs_answer(state, limit=1, condition="FAILED")["items"]] == [
        "t2"
    ]
    assert runs_answer(state, "Flow", condition="FAILED")["items"] == []
    state.stale_before = 2**60
    assert [run["runId"] for run in runs_answer(state, condition="LOST")["items"]] == []
    assert [run["runId"] for run in runs_answer(state, "Flow.s")["items"]] == ["s"]


def test_run_is_found_by_its_external_id(state: State) -> None:
    result = runs_answer(state, "dag.u", own_id="manual__1")["items"]
    assert [run["runId"] for run in result] == ["t2"]
    assert runs_answer(state, "dag.u", own_id="manual__2")["items"] == []


@pytest.mark.parametrize("name", ["d", "manual__1"])
def test_run_tree_starts_at_the_topmost_run_with_the_id(name: str, state: State) -> None:
    tree: Any = ("d", [("t1", [("f", [("s", [])])]), ("t2", [])])
    assert _ids(runtree_answer(state, name)) == tree
    assert _ids(runtree_answer(state, "1763")) == ("f", [("s", [])])


def test_unknown_or_ambiguous_run_id_is_an_error(state: State, build: Any) -> None:
    with pytest.raises(NotFoundError, match="no run has the id 'x'"):
        runtree_answer(state, "x")
    twice = [
        build.run("COMPLETE", run, job, "08:00:00", facets={"dbt_run": {"invocation_id": "i"}})
        for run, job in (("1", "a"), ("2", "b"))
    ]
    with pytest.raises(AmbiguousError, match="'i' is the id of 2 runs") as caught:
        runtree_answer(build.state(*twice), "i")
    assert caught.value.nearest == ("1 of a", "2 of b")


def test_cyclic_runs_are_shown_once(build: Any) -> None:
    circle = build.state(
        build.run("START", "1", "a", "08:00:00", parent=("2", "b")),
        build.run("START", "2", "b", "08:00:00", parent=("1", "a")),
    )
    assert _ids(runtree_answer(circle, "1")) == ("1", [("2", [])])
