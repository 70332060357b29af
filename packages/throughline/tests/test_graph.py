from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from throughline.errors import AmbiguousError, NotFoundError
from throughline.graph import Level, Levels, find_node, node_id
from throughline.graph.answers import diff_answer, edges_answer, run_answer, tree_answer
from throughline.log import entry_of
from throughline.projection import project
from throughline.spec import JobRef

_DAG, _TASK = "AIRFLOW/DAG", "AIRFLOW/TASK"
_FLOW, _STEP = "METAFLOW/FLOW", "METAFLOW/STEP"
_APP, _SQL = "SPARK/APPLICATION", "SPARK/SQL_JOB"


def _edges(state: Any, level: str) -> set[str]:
    marks = {"reads": "<", "writes": ">"}
    return {
        f"{edge['job']['name']} {marks[edge['direction']]} {edge['dataset']['name']}"
        for edge in edges_answer(state, level, "data")
    }


def _two_orchestrators(build: Any) -> Any:
    """A DAG whose task runs Spark and whose other task starts a flow that runs Spark as well."""
    dag, flow = ("d", "dag"), ("f", "Flow")
    load, step = ("t", "dag.load"), ("s", "Flow.train")
    app = {"parent": load, "root": dag, "kind": _APP}
    step_app = {"parent": step, "root": dag, "kind": _APP}
    return build.state(
        build.run("COMPLETE", "d", "dag", "08:30:00", kind=_DAG),
        build.run("COMPLETE", "t", "dag.load", "08:10:00", parent=dag, root=dag, kind=_TASK),
        build.run("COMPLETE", "a", "app", "08:09:00", **app),
        build.run(
            "COMPLETE", "q", "app.q", "08:08:00", parent=("a", "app"), root=dag, kind=_SQL,
            reads=("file|/in",), writes=("hive|raw",),
        ),
        build.run("COMPLETE", "rf", "dag.run_flow", "08:29:00", parent=dag, root=dag, kind=_TASK),
        build.run("COMPLETE", "f", "Flow", "08:28:00", parent=("rf", "dag.run_flow"), kind=_FLOW),
        build.run(
            "COMPLETE", "s", "Flow.train", "08:27:00", parent=flow, root=dag, kind=_STEP,
            writes=("metaflow|Flow/model",),
        ),
        build.run("COMPLETE", "b", "spark", "08:26:00", **step_app),
        build.run(
            "COMPLETE", "p", "spark.q", "08:25:00", parent=("b", "spark"), root=dag, kind=_SQL,
            reads=("hive|raw",),
        ),
    )  # fmt: skip


def test_inputs_and_outputs_are_rolled_up_to_the_nearest_job_of_the_level(build: Any) -> None:
    state = _two_orchestrators(build)
    assert _edges(state, "task") == {
        "dag.load < /in",
        "dag.load > raw",
        "Flow.train < raw",
        "Flow.train > Flow/model",
    }
    assert _edges(state, "pipeline") == {
        "dag < /in",
        "dag > raw",
        "Flow < raw",
        "Flow > Flow/model",
    }


def test_a_container_is_shown_finer_only_with_what_its_parts_do_not_account_for(
    build: Any,
) -> None:
    assert _edges(_two_orchestrators(build), "query") == {
        "app.q < /in",
        "app.q > raw",
        "spark.q < raw",
        "Flow.train > Flow/model",
    }


def test_outlets_that_a_task_repeats_of_its_spark_job_are_shown_once_at_query_level(
    build: Any,
) -> None:
    task, app = ("t", "dag.t"), ("a", "app")
    state = build.state(
        build.run("COMPLETE", "t", "dag.t", "08:05:00", kind=_TASK, writes=("db|t", "db|extra")),
        build.run("COMPLETE", "a", "app", "08:04:00", parent=task, kind=_APP),
        build.run("COMPLETE", "q", "app.q", "08:03:00", parent=app, kind=_SQL, writes=("db|t",)),
    )
    assert _edges(state, "query") == {"app.q > t", "dag.t > extra"}
    assert _edges(state, "task") == {"dag.t > t", "dag.t > extra"}


def test_what_no_step_owns_goes_to_the_next_task_above(build: Any) -> None:
    task, flow = ("t", "dag.run_flow"), ("f", "Flow")
    state = build.state(
        build.run("COMPLETE", "t", "dag.run_flow", "08:05:00", kind=_TASK),
        build.run("COMPLETE", "f", "Flow", "08:04:00", parent=task, kind=_FLOW),
        build.run("COMPLETE", "q", "app", "08:03:00", parent=flow, kind=_APP, reads=("db|t",)),
    )
    assert _edges(state, "task") == {"dag.run_flow < t"}
    assert _edges(state, "pipeline") == {"Flow < t"}


def test_an_application_that_nobody_started_answers_for_its_queries(build: Any) -> None:
    state = build.state(
        build.run("COMPLETE", "a", "app", "08:04:00", kind=_APP),
        build.run("COMPLETE", "q", "app.q", "08:03:00", parent=("a", "app"), kind=_SQL,
                  reads=("db|t",)),
    )  # fmt: skip
    assert _edges(state, "task") == _edges(state, "pipeline") == {"app < t"}
    assert _edges(state, "query") == {"app.q < t"}


def test_a_lone_job_stands_for_itself_at_every_level(build: Any) -> None:
    state = build.state(build.run("COMPLETE", "r", "alone", "08:00:00", reads=("db|a",)))
    for level in ("query", "task", "pipeline"):
        assert _edges(state, level) == {"alone < a"}


def test_levels_of_silent_parents_follow_from_the_tree(build: Any) -> None:
    state = build.state(
        build.run("START", "a", "app", "08:00:00", parent=("t", "d.t"), root=("d", "d"), kind=_APP),
        build.run("START", "x", "old.task", "08:00:00", parent=("o", "old")),
    )
    levels = Levels(state)
    found = {ref.name: levels.of(ref) for ref in state.jobs}
    assert found == {
        "app": Level.QUERY,
        "d.t": Level.TASK,
        "d": Level.PIPELINE,
        "old": Level.PIPELINE,
        "old.task": Level.TASK,
    }


@pytest.mark.parametrize(
    ("kind", "level"),
    [
        (_DAG, Level.PIPELINE),
        (_TASK, Level.TASK),
        (_FLOW, Level.PIPELINE),
        (_STEP, Level.TASK),
        (_APP, Level.QUERY),
        (_SQL, Level.QUERY),
        ("SPARK/RDD_JOB", Level.QUERY),
        ("DBT/JOB", Level.PIPELINE),
        ("DBT/MODEL", Level.TASK),
        ("FLINK/JOB", Level.QUERY),
    ],
)
def test_the_job_type_facet_states_the_level(kind: str, level: Level, build: Any) -> None:
    state = build.state(build.run("START", "r", "j", "08:00:00", kind=kind))
    assert Levels(state).of(JobRef("demo", "j")) is level


def _daily(build: Any, *runs: dict[str, Any]) -> set[str]:
    """Edges of a task with one run a day, each under its own DAG run and with the given edges."""
    events = []
    for day, run in enumerate(runs):
        type_ = run.pop("type", "COMPLETE")
        parent = (f"d{day}", "dag")
        events.append(
            build.run(type_, f"r{day}", "dag.t", f"1{day}:00:00", parent=parent, kind=_TASK, **run)
        )
    return _edges(build.state(*events), "task")


def test_a_skipped_run_takes_no_edge_away(build: Any) -> None:
    first = {"reads": ("db|a",), "writes": ("db|b",)}
    assert _daily(build, dict(first), {}) == {"dag.t < a", "dag.t > b"}
    assert _daily(build, dict(first), {"reads": ("db|b",)}) == {"dag.t < a", "dag.t > b"}


def test_a_dataset_no_longer_read_is_gone_with_the_newest_finished_run(build: Any) -> None:
    before = {"reads": ("db|a", "db|x"), "writes": ("db|b",)}
    after = {"reads": ("db|a",), "writes": ("db|b",)}
    assert _daily(build, before, after) == {"dag.t < a", "dag.t > b"}


def test_a_run_that_failed_after_the_last_good_one_adds_what_it_touched(build: Any) -> None:
    runs: list[dict[str, Any]] = [
        {"reads": ("db|old",), "writes": ("db|b",), "type": "FAIL"},
        {"reads": ("db|a",), "writes": ("db|b",)},
        {"reads": ("db|new",), "type": "FAIL"},
    ]
    assert _daily(build, *runs) == {"dag.t < a", "dag.t < new", "dag.t > b"}


def test_foreach_runs_under_one_parent_run_are_united(build: Any) -> None:
    parent = ("f", "Flow")
    events = [
        build.run("COMPLETE", f"r{i}", "Flow.s", f"08:0{i}:00", parent=parent, kind=_STEP,
                  reads=(f"db|a{i}",), writes=("db|b",))
        for i in range(3)
    ]  # fmt: skip
    expected = {"Flow.s < a0", "Flow.s < a1", "Flow.s < a2", "Flow.s > b"}
    assert _edges(build.state(*events), "task") == expected


def test_an_old_run_heard_of_late_does_not_become_the_current_one(build: Any) -> None:
    new = build.run("COMPLETE", "n", "j", "10:00:00", reads=("db|new",), writes=("db|o",))
    old = build.run("COMPLETE", "o", "j", "09:00:00", reads=("db|old",), writes=("db|o",))
    assert _edges(build.state(new, old), "task") == {"j < new", "j > o"}


def test_create_table_as_select_counts_once(build: Any) -> None:
    app = {"parent": ("a", "app"), "kind": _SQL}
    outer, inner = "app.atomic_create_table_as_select.t", "app.append_data.t"
    state = build.state(
        build.run("START", "o", outer, "08:00:00", reads=("file|/in",), **app),
        build.run("START", "i", inner, "08:00:01", reads=("file|/in",), writes=("db|t",), **app),
        build.run("COMPLETE", "i", inner, "08:00:02", writes=("db|t",), **app),
        build.run("COMPLETE", "o", outer, "08:00:03", writes=("db|t",), **app),
        build.run("COMPLETE", "a", "app", "08:00:04", kind=_APP),
    )
    assert _edges(state, "query") == {"app.append_data.t < /in", "app.append_data.t > t"}
    assert _edges(state, "task") == {"app < /in", "app > t"}


def test_a_merge_that_reads_its_target_keeps_the_edge_to_itself(build: Any) -> None:
    run = build.run("COMPLETE", "r", "merge", "08:00:00", reads=("db|t",), writes=("db|t",))
    state = build.state(run)
    assert _edges(state, "task") == {"merge < t", "merge > t"}
    for level in ("query", "task"):
        up = tree_answer(state, "merge", "up", 20, level)["up"]
        assert _names(up) == {"merge": [{"t": [{"merge*": []}]}]}


def test_a_declared_job_has_its_edges_until_a_run_says_better(build: Any) -> None:
    job = {"namespace": "demo", "name": "j"}
    declared = {
        "eventTime": "2025-11-21T08:00:00Z",
        "job": job,
        "inputs": [build.dataset("db|declared")],
    }
    ran = build.run("COMPLETE", "r", "j", "07:00:00", reads=("db|real",))
    assert _edges(build.state(declared), "task") == {"j < declared"}
    assert _edges(build.state(declared, ran), "task") == {"j < real"}


def test_control_edges_are_rolled_up_and_never_data(build: Any) -> None:
    def depends(**ends: Any) -> dict[str, Any]:
        return {"jobDependencies": {k: [{"job": j, "run": r}] for k, (j, r) in ends.items()}}

    load = ({"namespace": "demo", "name": "ingest.load"}, {"runId": "t"})
    end = ({"namespace": "demo", "name": "Flow.end"}, None)
    state = build.state(
        build.run("COMPLETE", "t", "ingest.load", "08:00:00", parent=("d", "ingest"), kind=_TASK),
        build.run("COMPLETE", "e", "Flow.end", "08:09:00", parent=("f", "Flow"), kind=_STEP),
        build.run("COMPLETE", "f", "Flow", "08:05:00", kind=_FLOW, facets=depends(upstream=load)),
        build.run(
            "COMPLETE", "s", "Flow.start", "08:06:00", parent=("f", "Flow"), kind=_STEP,
            facets=depends(downstream=end),
        ),
    )  # fmt: skip
    pairs = {
        level: {
            (edge["upstream"]["name"], edge["downstream"]["name"])
            for edge in edges_answer(state, level, "control")
        }
        for level in ("task", "pipeline")
    }
    assert pairs["task"] == {("ingest.load", "Flow"), ("Flow.start", "Flow.end")}
    assert pairs["pipeline"] == {("ingest", "Flow")}
    assert _edges(state, "task") == set()


def _names(leaf: dict[str, Any]) -> Any:
    mark = "*" if leaf["isRepeated"] else "+" if leaf["hasMore"] else ""
    return {leaf["name"] + mark: [_names(child) for child in leaf["children"]]}


def test_a_tree_prints_each_node_once_and_marks_it_after_that(build: Any) -> None:
    state = build.state(
        build.run("COMPLETE", "1", "j1", "08:00:00", reads=("db|a",), writes=("db|b", "db|c")),
        build.run("COMPLETE", "2", "j2", "08:00:00", reads=("db|b", "db|c"), writes=("db|d",)),
    )
    up = tree_answer(state, "d", "up", 20, "task")["up"]
    assert _names(up) == {"d": [{"j2": [{"b": [{"j1": [{"a": []}]}]}, {"c": [{"j1*": []}]}]}]}
    short = tree_answer(state, "d", "up", 2, "task")["up"]
    assert _names(short) == {"d": [{"j2": [{"b+": []}, {"c+": []}]}]}
    both = tree_answer(state, "j2", "both", 1, "task")
    assert (_names(both["up"]), _names(both["down"])) == (
        {"j2": [{"b+": []}, {"c+": []}]},
        {"j2": [{"d": []}]},
    )


def test_a_long_chain_is_walked_without_a_limit_of_the_stack(build: Any) -> None:
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


def _commit(run: dict[str, Any], added: int, total: int) -> dict[str, Any]:
    """The run with Iceberg's report of its commit on each output."""
    metrics = {"addedRecords": added, "totalRecords": total}
    for dataset in run["outputs"]:
        dataset["outputFacets"] = {"icebergCommitReport": {"commitMetrics": metrics}}
    return run


def _loads(build: Any, *months: str, trained_with: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """One load a month (staging replaced, raw filled slice by slice), then one training each."""
    events = []
    for number, month in enumerate(months):
        dag, flow, hour = (f"d{number}", "dag"), (f"f{number}", "Flow"), f"1{number}"
        extra = f"db|{trained_with[number]}" if trained_with else "db|raw"
        events += [
            build.run("COMPLETE", f"a{number}", "dag.stage", f"{hour}:01:00", parent=dag,
                      kind=_TASK, reads=(f"file|/{month}",), writes=("db|staging",)),
            _commit(build.run("COMPLETE", f"b{number}", "dag.merge", f"{hour}:02:00", parent=dag,
                              kind=_TASK, reads=("db|staging",), writes=("db|raw",)),
                    10, 10 * (number + 1)),
            build.run("COMPLETE", f"c{number}", "Flow.train", f"{hour}:03:00", parent=flow,
                      kind=_STEP, reads=("db|raw", extra), writes=("mf|model",)),
            _commit(build.run("COMPLETE", f"e{number}", "Flow.write", f"{hour}:04:00", parent=flow,
                              kind=_STEP, reads=("mf|model",), writes=("db|forecast",)),
                    24, 24 * (number + 1)),
        ]  # fmt: skip
    return events


def _all_names(leaf: dict[str, Any]) -> set[str]:
    return {leaf["name"]}.union(*(_all_names(child) for child in leaf["children"]))


@pytest.mark.parametrize("level", ["query", "task", "pipeline"])
def test_a_table_loaded_slice_by_slice_comes_from_every_file_that_it_still_holds(
    level: str, build: Any
) -> None:
    state = build.state(*_loads(build, "05", "04", "03"))
    found = _all_names(tree_answer(state, "forecast", "up", 20, level)["up"])
    assert {"/03", "/04", "/05"} <= found
    found = _all_names(tree_answer(state, "/05", "down", 20, level)["down"])
    assert {"raw", "forecast"} <= found
    assert level == "pipeline" or {"staging", "model"} <= found


def test_a_table_that_a_commit_replaced_comes_from_that_commit_only(build: Any) -> None:
    events = _loads(build, "05", "04")
    metrics = events[-3]["outputs"][0]["outputFacets"]["icebergCommitReport"]["commitMetrics"]
    metrics["totalRecords"] = metrics["addedRecords"]
    state = build.state(*events)
    found = _all_names(tree_answer(state, "raw", "up", 20, "task")["up"])
    assert found == {"raw", "dag.merge", "staging", "dag.stage", "/04"}


def test_a_pipelines_tree_leaves_out_what_the_pipeline_keeps_to_itself(build: Any) -> None:
    state = build.state(*_loads(build, "05", "04"))

    def names(node: str, direction: str, level: str = "pipeline") -> Any:
        return _names(tree_answer(state, node, direction, 20, level)[direction])

    dag: Any = {"dag": [{"/04": []}, {"/05": []}]}
    assert names("forecast", "up") == {"forecast": [{"Flow": [{"raw": [dag]}]}]}
    assert names("/05", "down") == {"/05": [{"dag": [{"raw": [{"Flow": [{"forecast": []}]}]}]}]}
    assert names("staging", "up") == {"staging": [{"dag": [{"/04": []}]}]}
    below: Any = {"dag": [{"raw": [{"Flow": [{"forecast": []}]}]}]}
    assert names("staging", "down") == {"staging": [below]}
    load: Any = {"dag.stage": [{"/04": []}, {"/05": []}]}
    assert names("raw", "up", "task") == {"raw": [{"dag.merge": [{"staging": [load]}]}]}


@pytest.mark.parametrize("level", ["task", "pipeline"])
def test_a_table_that_a_merge_reads_to_write_it_stays_the_result_of_its_pipeline(
    level: str, build: Any
) -> None:
    task = {"parent": ("d", "dag"), "kind": _TASK}
    state = build.state(
        build.run("COMPLETE", "d", "dag", "08:09:00", kind=_DAG),
        build.run("COMPLETE", "t", "dag.t", "08:00:00", reads=("db|a", "db|t"), writes=("db|t",),
                  **task),
        build.run("COMPLETE", "v", "dag.validate", "08:01:00", reads=("db|t",), **task),
    )  # fmt: skip
    found = {way: _names(tree_answer(state, "db/a", way, 9, level)[way]) for way in ("up", "down")}
    assert found["up"] == {"a": []}
    if level == "pipeline":
        assert found["down"] == {"a": [{"dag": [{"t": []}]}]}
        up = tree_answer(state, "db/t", "up", 9, level)["up"]
        assert _names(up) == {"t": [{"dag": [{"a": []}]}]}
        down = tree_answer(state, "db/t", "down", 9, level)["down"]
        assert _names(down) == {"t": [{"dag": []}]}
    else:
        assert found["down"] == {"a": [{"dag.t": [{"t": [{"dag.t*": []}, {"dag.validate": []}]}]}]}


def test_without_a_level_a_job_that_does_nothing_as_a_task_is_shown_at_its_own(
    build: Any,
) -> None:
    state = _two_orchestrators(build)
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
def test_a_job_that_does_nothing_at_a_level_shows_its_parts_or_what_it_is_part_of(
    job: str, level: str, tree: Any, build: Any
) -> None:
    state = _two_orchestrators(build)
    assert _names(tree_answer(state, f"job:demo:{job}", "up", 20, level)["up"]) == tree


def test_a_model_comes_from_its_newest_training_and_old_forecasts_from_theirs(build: Any) -> None:
    state = build.state(*_loads(build, "05", "04", trained_with=("weather", "raw")))
    assert "weather" not in _all_names(tree_answer(state, "model", "up", 20, "task")["up"])
    assert "weather" in _all_names(tree_answer(state, "forecast", "up", 20, "task")["up"])


def test_a_dataset_written_after_it_was_read_is_still_upstream_of_its_reader(build: Any) -> None:
    state = build.state(
        build.run("COMPLETE", "1", "reader", "08:00:00", reads=("db|a",), writes=("db|b",)),
        build.run("COMPLETE", "2", "writer", "09:00:00", reads=("db|x",), writes=("db|a",)),
    )
    assert "x" in _all_names(tree_answer(state, "b", "up", 20, "task")["up"])


def _trained_for(build: Any, service: str, hour: str) -> list[Any]:
    """One flow that serves several: its steps read and write other tables in each run."""
    flow = (f"flow-{service}", "Flow")
    steps = (
        ("count", (f"db|{service}_raw",), (f"db|{service}_rides",)),
        ("train", (f"db|{service}_rides",), ("metaflow|Flow/model",)),
        ("write", ("metaflow|Flow/model",), (f"db|{service}_forecast",)),
    )
    return [
        build.run("COMPLETE", *flow, f"{hour}:30:00", kind=_FLOW),
        *(
            build.run("COMPLETE", f"{step}-{service}", f"Flow.{step}", f"{hour}:{n:02}:00",
                      parent=flow, kind=_STEP, reads=reads, writes=writes)
            for n, (step, reads, writes) in enumerate(steps)
        ),
    ]  # fmt: skip


@pytest.mark.parametrize("level", ["task", "pipeline"])
def test_a_flow_that_serves_two_in_turn_takes_nothing_from_the_first(
    level: str, build: Any
) -> None:
    yellow, green = _trained_for(build, "yellow", "08"), _trained_for(build, "green", "09")
    before, after = build.state(*yellow), build.state(*yellow, *green)
    changes = diff_answer(before, after, level)
    assert changes["removed"] == changes["edgesRemoved"] == []
    assert "dataset:db:green_forecast" in changes["added"]
    tree_of = {
        name: _all_names(tree_answer(after, f"{name}_forecast", "up", 9, level)["up"])
        for name in ("yellow", "green")
    }
    assert "yellow_raw" in tree_of["yellow"]
    assert "green_raw" not in tree_of["yellow"]
    assert "yellow_raw" not in tree_of["green"]
    flow = "job:demo:Flow"
    up, down = (_all_names(tree_answer(after, flow, way, 9)[way]) for way in ("up", "down"))
    assert {"yellow_raw", "green_raw"} <= up
    assert {"yellow_forecast", "green_forecast"} <= down


def test_a_job_in_a_tree_shows_the_run_that_its_edges_come_from_and_its_newest(
    build: Any,
) -> None:
    state = build.state(
        build.run("COMPLETE", "1", "j", "08:00:00", reads=("db|a",), writes=("db|b",)),
        build.run("COMPLETE", "2", "j", "09:00:00"),
    )
    (job,) = tree_answer(state, "b", "up", 20, "task")["up"]["children"]
    assert (job["run"]["runId"], job["latestRun"]["runId"]) == ("1", "2")


def test_a_job_with_a_failed_run_beside_a_good_one_shows_the_good_one_first(build: Any) -> None:
    state = build.state(
        build.run("COMPLETE", "1", "j", "08:00:00", reads=("db|a",), writes=("db|b",)),
        build.run("FAIL", "2", "j", "09:00:00", reads=("db|a",)),
    )
    for node, way in (("b", "up"), ("a", "down")):
        (job,) = tree_answer(state, node, way, 20, "task")[way]["children"]
        assert (job["run"]["runId"], job["latestRun"]["runId"]) == ("1", "2"), way


def test_a_run_is_told_with_its_parameters_code_and_versions_and_those_below_it(
    build: Any,
) -> None:
    parameters = {"executionParameters": {"parameters": [{"key": "d", "name": "d", "value": "30"}]}}
    flow = build.run("COMPLETE", "f", "Flow", "08:09:00", kind=_FLOW, facets=parameters)
    step = build.run("COMPLETE", "s", "Flow.train", "08:08:00", parent=("f", "Flow"), kind=_STEP)
    step["inputs"] = [build.dataset("db|t", version={"datasetVersion": "17"})]
    step["job"]["facets"]["sourceCodeLocation"] = {"type": "git", "version": "abc", "path": "f.py"}
    later = build.run("COMPLETE", "s2", "Flow.train", "09:00:00", kind=_STEP)
    later["job"]["facets"]["sourceCodeLocation"] = {"type": "git", "version": "def"}
    state = build.state(flow, step, later)
    found = run_answer(state, "f")
    assert (found["job"]["name"], found["parameters"]) == ("Flow", {"d": "30"})
    (below,) = found["below"]
    assert below["inputs"] == [{"namespace": "db", "name": "t", "version": "17"}]
    assert below["code"] == {"repoUrl": None, "path": "f.py", "version": "abc"}
    with pytest.raises(NotFoundError, match="no run has the id 'x'"):
        run_answer(state, "x")


def test_nodes_are_found_by_id_by_alias_and_by_short_name(build: Any) -> None:
    arn = "arn:aws:glue:eu-west-1:1"
    table = build.dataset("s3a://lake|wh/t", symlinks=[(arn, "table/db/trips", "TABLE")])
    run = build.run("COMPLETE", "r", "Flow.train", "08:00:00", reads=("postgres://h:5432|a.b",))
    run["outputs"] = [table]
    state = build.state(run)
    expected = f"dataset:{arn}:table/db/trips"
    for text in (expected, "dataset:s3n://lake:/wh/t", "table/db/trips", "trips", "wh/t"):
        assert node_id(find_node(state, text)) == expected
    assert node_id(find_node(state, "train")) == "job:demo:Flow.train"
    assert node_id(find_node(state, "dataset:postgres://h:5432:a.b")).endswith(":a.b")


def test_a_job_does_not_hide_the_table_that_it_is_named_after(build: Any) -> None:
    state = build.state(build.run("COMPLETE", "r", "rides", "08:00:00", writes=("db|nyc.rides",)))
    with pytest.raises(AmbiguousError) as caught:
        find_node(state, "rides")
    assert caught.value.nearest == ("dataset:db:nyc.rides", "job:demo:rides")


def test_an_unknown_name_suggests_the_nearest_and_an_ambiguous_one_lists_all(build: Any) -> None:
    state = build.state(
        build.run("COMPLETE", "r", "j", "08:00:00", reads=("db|x.trips", "db|y.trips"))
    )
    with pytest.raises(NotFoundError) as caught:
        find_node(state, "x.tripz")
    assert caught.value.nearest[0] == "x.trips"
    with pytest.raises(AmbiguousError) as several:
        find_node(state, "trips")
    assert several.value.nearest == ("dataset:db:x.trips", "dataset:db:y.trips")


def test_this_stacks_events_give_the_right_edges_at_task_level(shared: Path) -> None:
    folder = shared / "openlineage-events" / "this-stack"
    files = ("metaflow219-spike-spk.jsonl", "metaflow219-spike-spk-spark-side.jsonl")
    lines = [line for f in files for line in (folder / f).read_bytes().splitlines()]
    state = project(entry_of(line).event for line in lines)
    assert _edges(state, "task") == {
        "SpkFlow.start < /data/data/b",
        "SpkFlow.start > /data/data/c",
        "SpkFlow.start > SpkFlow/n",
        "SpkFlow.end < SpkFlow/n",
    }
    assert {e.split()[0] for e in _edges(state, "pipeline")} == {"SpkFlow"}


def test_iceberg_tables_join_on_their_symlink_in_this_stacks_events(shared: Path) -> None:
    file = shared / "openlineage-events/this-stack/spark41-iceberg112-jdbc-workaround.jsonl"
    state = project(entry_of(line).event for line in file.read_bytes().splitlines())
    datasets = {
        (e["dataset"]["namespace"], e["dataset"]["name"]): [
            a["name"] for a in e["dataset"]["aliases"]
        ]
        for e in edges_answer(state, "task", "data")
    }
    assert datasets["hive://lake:9083", "nyc.trips_raw"] == ["/data/wh2/data/nyc/trips_raw"]
    assert {e["job"]["name"] for e in edges_answer(state, "task", "data")} == {
        "taxi_dag.spark_merge"
    }
    assert not any(name.startswith("/data/wh2/data") for _, name in datasets)
