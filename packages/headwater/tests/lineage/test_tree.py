"""Trees, and the runs in them."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.errors import NotFoundError
from headwater.graph.current import generations_of
from headwater.lineage.queries import tree_answer
from headwater.runs.service import run_answer
from packages.headwater.tests.support.graphs import (
    DAG,
    FLOW,
    STEP,
    TASK,
    loads,
    names,
    two_orchestrators,
)


def test_repeated_nodes_of_a_tree_are_marked(build: Any) -> None:
    state = build.state(
        build.run("COMPLETE", "1", "j1", "08:00:00", reads=("db|a",), writes=("db|b", "db|c")),
        build.run("COMPLETE", "2", "j2", "08:00:00", reads=("db|b", "db|c"), writes=("db|d",)),
    )
    up = tree_answer(state, "d", "up", 20, "task")["up"]
    assert names(up) == {"d": [{"j2": [{"b": [{"j1": [{"a": []}]}]}, {"c": [{"j1*": []}]}]}]}
    short = tree_answer(state, "d", "up", 2, "task")["up"]
    assert names(short) == {"d": [{"j2": [{"b+": []}, {"c+": []}]}]}
    both = tree_answer(state, "j2", "both", 1, "task")
    assert (names(both["up"]), names(both["down"])) == (
        {"j2": [{"b+": []}, {"c+": []}]},
        {"j2": [{"d": []}]},
    )


def test_job_is_shown_again_for_an_output_whose_sources_are_unknown(build: Any) -> None:
    load = build.run("COMPLETE", "1", "j1", "08:00:00", reads=("db|a",), writes=("db|b", "db|c"))
    load["outputs"][0]["facets"] = {"headwater_coarseLineage": {"isCoarse": True}}
    state = build.state(
        load,
        build.run("COMPLETE", "2", "j2", "08:00:00", reads=("db|b", "db|c"), writes=("db|d",)),
    )
    up = tree_answer(state, "d", "up")["up"]
    job: dict[str, Any] = {"j1": [{"a": []}]}
    assert names(up) == {"d": [{"j2": [{"b": [job]}, {"c": [job]}]}]}


@pytest.mark.parametrize("level", ["pipeline", "task", "query"])
def test_edges_of_every_level_are_stated_by_the_inputs_and_outputs_of_runs(
    level: Any, build: Any
) -> None:
    state = build.state(
        build.run("COMPLETE", "1", "load", "08:00:00", reads=("db|a",), writes=("db|b",))
    )
    (job,) = tree_answer(state, "b", "up", level=level)["up"]["children"]
    for leaf in (job, *job["children"]):
        assert [statement["kind"] for statement in leaf["statedBy"]] == ["datasets"]


def test_long_chain_does_not_exceed_the_stack(build: Any) -> None:
    events = [
        build.run("COMPLETE", f"r{i}", f"j{i}", "08:00:00", reads=(f"db|d{i}",),
                  writes=(f"db|d{i + 1}",))
        for i in range(1_200)
    ]  # fmt: skip
    leaf = tree_answer(build.state(*events), "d1200", "up", 5_000, "task")["up"]
    count = 0
    while leaf["children"]:
        (leaf,) = leaf["children"]
        count += 1
    assert count == 2_400


def test_pipeline_tree_omits_internal_datasets(build: Any) -> None:
    state = build.state(*loads(build, "05", "04"))

    def tree(node: str, direction: str, level: str = "pipeline") -> Any:
        return names(tree_answer(state, node, direction, 20, level)[direction])

    dag: Any = {"dag": [{"/04": []}, {"/05": []}]}
    assert tree("forecast", "up") == {"forecast": [{"Flow": [{"raw": [dag]}]}]}
    assert tree("/05", "down") == {"/05": [{"dag": [{"raw": [{"Flow": [{"forecast": []}]}]}]}]}
    assert tree("staging", "up") == {"staging": [{"dag": [{"/04": []}]}]}
    below: Any = {"dag": [{"raw": [{"Flow": [{"forecast": []}]}]}]}
    assert tree("staging", "down") == {"staging": [below]}
    load: Any = {"dag.stage": [{"/04": []}, {"/05": []}]}
    assert tree("raw", "up", "task") == {"raw": [{"dag.merge": [{"staging": [load]}]}]}


@pytest.mark.parametrize("level", ["task", "pipeline"])
def test_merge_target_stays_an_output_of_its_pipeline(level: str, build: Any) -> None:
    task = {"parent": ("d", "dag"), "kind": TASK}
    state = build.state(
        build.run("COMPLETE", "d", "dag", "08:09:00", kind=DAG),
        build.run("COMPLETE", "t", "dag.t", "08:00:00", reads=("db|a", "db|t"), writes=("db|t",),
                  **task),
        build.run("COMPLETE", "v", "dag.validate", "08:01:00", reads=("db|t",), **task),
    )  # fmt: skip
    results = {way: names(tree_answer(state, "db/a", way, 9, level)[way]) for way in ("up", "down")}
    assert results["up"] == {"a": []}
    if level == "pipeline":
        assert results["down"] == {"a": [{"dag": [{"t": []}]}]}
        up = tree_answer(state, "db/t", "up", 9, level)["up"]
        assert names(up) == {"t": [{"dag": [{"a": []}]}]}
        down = tree_answer(state, "db/t", "down", 9, level)["down"]
        assert names(down) == {"t": [{"dag": []}]}
    else:
        assert results["down"] == {
            "a": [{"dag.t": [{"t": [{"dag.t*": []}, {"dag.validate": []}]}]}]
        }


def test_job_without_task_edges_uses_its_own_level(
    build: Any,
) -> None:
    state = two_orchestrators(build)
    levels = {"dag": "pipeline", "Flow": "pipeline", "Flow.train": "task", "app.q": "query"}
    for job, level in levels.items():
        answer = tree_answer(state, f"job:demo:{job}", "up", 20)
        assert (answer["level"], bool(answer["up"]["children"])) == (level, True), job
    assert tree_answer(state, "raw", "up", 20)["level"] == "task"


@pytest.mark.parametrize(
    ("job", "level", "tree"),
    [
        ("dag", "task", {"dag": [{"Flow.train": [{"raw": [{"dag.load": [{"/in": []}]}]}]},
                                 {"dag.load*": []}]}),
        ("Flow", "task", {"Flow": [{"Flow.train": [{"raw": [{"dag.load": [{"/in": []}]}]}]}]}),
        ("dag.load", "query", {"dag.load": [{"app.q": [{"/in": []}]}]}),
        ("dag.run_flow", "task",
         {"dag.run_flow": [{"Flow.train": [{"raw": [{"dag.load": [{"/in": []}]}]}]}]}),
        ("Flow.train", "pipeline", {"Flow.train": [{"Flow": [{"raw": [{"dag": [{"/in": []}]}]}]}]}),
    ],
)  # fmt: skip
def test_job_without_edges_at_a_level_shows_children_or_parent(
    job: str, level: str, tree: Any, build: Any
) -> None:
    state = two_orchestrators(build)
    assert names(tree_answer(state, f"job:demo:{job}", "up", 20, level)["up"]) == tree


def test_job_in_a_tree_has_its_effective_and_latest_run(
    build: Any,
) -> None:
    state = build.state(
        build.run("COMPLETE", "1", "j", "08:00:00", reads=("db|a",), writes=("db|b",)),
        build.run("COMPLETE", "2", "j", "09:00:00"),
    )
    (job,) = tree_answer(state, "b", "up", 20, "task")["up"]["children"]
    assert (job["run"]["runId"], job["latestRun"]["runId"]) == ("1", "2")


def test_completed_run_precedes_a_failed_one(build: Any) -> None:
    state = build.state(
        build.run("COMPLETE", "1", "j", "08:00:00", reads=("db|a",), writes=("db|b",)),
        build.run("FAIL", "2", "j", "09:00:00", reads=("db|a",)),
    )
    for node, way in (("b", "up"), ("a", "down")):
        (job,) = tree_answer(state, node, way, 20, "task")[way]["children"]
        assert (job["run"]["runId"], job["latestRun"]["runId"]) == ("1", "2"), way


def test_run_has_parameters_code_versions_and_descendants(
    build: Any,
) -> None:
    parameters = {"executionParameters": {"parameters": [{"key": "d", "name": "d", "value": "30"}]}}
    flow = build.run("COMPLETE", "f", "Flow", "08:09:00", kind=FLOW, facets=parameters)
    step = build.run("COMPLETE", "s", "Flow.train", "08:08:00", parent=("f", "Flow"), kind=STEP)
    step["inputs"] = [build.dataset("db|t", version={"datasetVersion": "17"})]
    step["job"]["facets"]["sourceCodeLocation"] = {"type": "git", "version": "abc", "path": "f.py"}
    later = build.run("COMPLETE", "s2", "Flow.train", "09:00:00", kind=STEP)
    later["job"]["facets"]["sourceCodeLocation"] = {"type": "git", "version": "def"}
    state = build.state(flow, step, later)
    result = run_answer(generations_of(state), "f")
    assert (result["job"]["name"], result["parameters"]) == ("Flow", {"d": "30"})
    (below,) = result["below"]
    assert below["inputs"] == [{"namespace": "db", "name": "t", "version": "17"}]
    assert below["code"] == {"repoUrl": None, "path": "f.py", "version": "abc"}
    with pytest.raises(NotFoundError, match="no run has the id 'x'"):
        run_answer(generations_of(state), "x")


def test_edges_state_when_they_were_first_and_last_reported(build: Any) -> None:
    state = build.state(
        build.run("COMPLETE", "1", "load", "08:00:00", reads=("db|a", "db|old"), writes=("db|t",)),
        build.run("COMPLETE", "2", "load", "09:00:00", reads=("db|a",), writes=("db|t",)),
        build.run("COMPLETE", "3", "load", "10:00:00", reads=("db|a", "db|new"), writes=("db|t",)),
        build.run("COMPLETE", "4", "report", "11:00:00", reads=("db|t",), writes=("db|r",)),
    )

    def times(node: Any) -> dict[str, Any]:
        below = [item for child in node["children"] for item in times(child).items()]
        hours = node["seen"] and tuple(node["seen"][key][11:13] for key in ("first", "last"))
        return {node["name"]: hours, **dict(below)}

    assert times(tree_answer(state, "dataset:db:r")["up"]) == {
        "r": None, "report": ("11", "11"), "t": ("11", "11"), "load": ("08", "10"),
        "a": ("08", "10"), "new": ("10", "10"),
    }  # fmt: skip
    assert times(tree_answer(state, "dataset:db:a", "down")["down"])["load"] == ("08", "10")
    assert tree_answer(state, "r", level="query")["up"]["children"][0]["seen"] is None


def test_control_tree_of_two_jobs_above_each_other(build: Any) -> None:
    """A walk along control edges reaches the same job as a part and from outside."""
    after = {
        name: {"jobDependencies": {"upstream": [{"job": {"namespace": "demo", "name": name}}]}}
        for name in ("one", "other")
    }
    state = build.state(
        build.run("START", "r0", "one", "08:00:00", facets=after["other"]),
        build.run(
            "START", "r1", "other", "08:00:01",
            parent=("r0", "one"), root=("r0", "one"), facets=after["one"],
        ),
        build.run(
            "START", "r0", "one", "08:00:02", parent=("r1", "other"), root=("r0", "one")
        ),
    )  # fmt: skip
    tree = tree_answer(state, "job:demo:one", "both", level="task", control=True)
    assert [child["name"] for child in tree["up"]["children"]] == ["other", "other"]


def test_control_tree_of_a_pipeline_has_the_tasks_of_its_last_run_with_tasks(build: Any) -> None:
    after = {"jobDependencies": {"upstream": [{"job": {"namespace": "demo", "name": "dag"}}]}}
    state = build.state(
        build.run("COMPLETE", "1", "dag", "08:00:00", kind=DAG),
        build.run("COMPLETE", "t", "dag.load", "08:00:01", kind=TASK, parent=("1", "dag")),
        build.run("START", "2", "dag", "09:00:00", kind=DAG),
        build.run("COMPLETE", "r", "report", "08:30:00", facets=after),
    )
    tree = tree_answer(state, "job:demo:report", "up", level="task", control=True)
    assert names(tree["up"]) == {"report": [{"dag": [{"dag.load": []}]}]}
