"""The graph around a node, and the summaries of its nodes."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.errors import ConfigError
from headwater.graph.current import generations_of
from headwater.lineage.queries import graph_answer
from headwater.nodes.queries import node_answer
from headwater.plugins.search.queries import newest_answer
from headwater.runs.queries import runs_answer
from headwater.runs.service import run_answer
from packages.headwater.tests.support.graphs import DAG, STEP, TASK, two_orchestrators


def _names(answer: dict[str, Any]) -> set[str]:
    return {node["name"] for node in answer["nodes"]}


def _lines(answer: dict[str, Any], kind: str) -> set[str]:
    last = [(edge["from"].split(":")[-1], edge["to"].split(":")[-1], edge["kind"])
            for edge in answer["edges"]]  # fmt: skip
    return {f"{start} > {end}" for start, end, item in last if item == kind}


def test_graph_is_limited_by_depth_and_counts_the_rest(build: Any) -> None:
    state = two_orchestrators(build)
    near = graph_answer(state, "raw")
    assert _names(near) == {"dag.load", "raw", "Flow.train"}
    assert near["reach"] == {"up": 2, "down": 2}
    assert {node["name"]: (node["up"], node["down"]) for node in near["nodes"]} == {
        "dag.load": (1, 1),
        "raw": (1, 1),
        "Flow.train": (1, 1),
    }
    far = graph_answer(state, "raw", up=2, down=0)
    assert _names(far) == {"/in", "dag.load", "raw"}
    assert _lines(far, "data") == {"/in > dag.load", "dag.load > raw"}


def test_expanded_side_shows_one_more_step_and_its_edges(
    build: Any,
) -> None:
    state = build.state(
        build.run("COMPLETE", "1", "a", "08:10:00", reads=("db|y",), writes=("db|x",)),
        build.run("COMPLETE", "2", "b", "08:20:00", reads=("db|x",), writes=("db|y",)),
    )
    grown = graph_answer(state, "x", grown=["up:job:demo:a", "down:job:demo:nobody"])
    assert _names(grown) == {"a", "b", "x", "y"}
    assert _lines(grown, "data") == {"a > x", "b > y", "x > b", "y > a"}
    with pytest.raises(ConfigError, match="grown: received 'job:demo:a', expected up: or down:"):
        graph_answer(state, "x", grown=["job:demo:a"])


def test_dataset_graph_skips_jobs(
    build: Any,
) -> None:
    state = build.state(
        build.run("COMPLETE", "1", "load", "08:10:00", reads=("db|in", "db|x"), writes=("db|x",)),
        build.run("COMPLETE", "2", "check", "08:20:00", reads=("db|x",)),
        build.run("COMPLETE", "3", "count", "08:30:00", reads=("db|x",), writes=("db|y", "db|z")),
    )
    alone = graph_answer(state, "x", up=0, down=0, datasets=True)
    assert [(node["name"], node["up"], node["down"]) for node in alone["nodes"]] == [("x", 1, 2)]
    assert alone["left"] == {"jobs": 0}
    grown = graph_answer(state, "x", up=0, datasets=True, grown=["up:dataset:db:x"])
    assert _lines(grown, "data") == {"in > x", "x > y", "x > z"}
    assert grown["left"] == {"jobs": 2}
    job = graph_answer(state, "job:demo:count", up=2, datasets=True)
    assert _lines(job, "data") == {"in > x", "x > count", "count > y", "count > z"}


def test_roots_of_a_job_are_its_parts_or_its_owner(build: Any) -> None:
    state = two_orchestrators(build)
    parts = graph_answer(state, "job:demo:dag")["roots"]
    assert parts == ["job:demo:Flow.train", "job:demo:dag.load"]
    assert graph_answer(state, "job:demo:app.q")["roots"] == ["job:demo:dag.load"]
    assert graph_answer(state, "job:demo:app.q", level="query")["roots"] == ["job:demo:app.q"]


def test_jobs_have_their_pipeline_and_nodes_their_platform(build: Any) -> None:
    state = two_orchestrators(build)
    for level, job in (("task", "dag.load"), ("query", "app.q")):
        nodes = {node["name"]: node for node in graph_answer(state, "raw", level=level)["nodes"]}
        assert (nodes[job]["pipeline"], nodes["raw"]["pipeline"]) == ("job:demo:dag", None)
    pipelines = graph_answer(state, "raw", level="pipeline")["nodes"]
    assert {node["pipeline"] for node in pipelines} == {None}
    iceberg = {"storage": {"storageLayer": "iceberg", "fileFormat": "parquet"}}
    write = build.run("COMPLETE", "1", "dag.load", "08:10:00", writes=("db|x",), kind=TASK)
    write["outputs"][0]["facets"] = iceberg
    answer = graph_answer(build.state(write), "x")
    assert {node["name"]: node["platform"] for node in answer["nodes"]} == {
        "dag.load": "AIRFLOW",
        "x": "iceberg",
    }


def test_pipeline_graph_omits_internal_datasets(build: Any) -> None:
    parent = {"parent": ("d", "dag"), "kind": TASK}
    state = build.state(
        build.run("COMPLETE", "d", "dag", "08:30:00", kind=DAG),
        build.run("COMPLETE", "1", "dag.stage", "08:10:00", reads=("db|in",),
                  writes=("db|staging",), **parent),
        build.run("COMPLETE", "2", "dag.load", "08:20:00", reads=("db|staging", "db|shared"),
                  writes=("db|out", "db|shared"), **parent),
        build.run("COMPLETE", "3", "other", "08:30:00", reads=("db|shared",),
                  writes=("db|shared",)),
    )  # fmt: skip
    pipelines = _names(graph_answer(state, "job:demo:dag", level="pipeline"))
    assert pipelines == {"in", "dag", "out", "shared"}
    assert "staging" in _names(graph_answer(state, "out", up=9))


def test_control_edges_include_their_other_ends(build: Any) -> None:
    train = build.run("COMPLETE", "2", "train", "08:20:00", reads=("db|a",), writes=("db|b",))
    upstream = [{"job": {"namespace": "demo", "name": "load"}, "run": {"runId": "1"}}]
    train["run"]["facets"]["jobDependencies"] = {"upstream": upstream}
    state = build.state(build.run("COMPLETE", "1", "load", "08:10:00", writes=("db|x",)), train)
    answer = graph_answer(state, "train")
    assert _lines(answer, "control") == {"load > train"}
    assert {n["name"]: n["isControlOnly"] for n in answer["nodes"]} == {
        "a": False,
        "b": False,
        "load": True,
        "train": False,
    }


def test_columns_are_optional_and_marked_as_direct(build: Any) -> None:
    direct = {"type": "DIRECT", "subtype": "AGGREGATION"}
    filtered = {"type": "INDIRECT", "subtype": "FILTER"}
    inputs = [
        {"namespace": "db", "name": "c", "field": "x", "transformations": [direct]},
        {"namespace": "db", "name": "c", "field": "day", "transformations": [filtered]},
    ]
    run = build.run("COMPLETE", "1", "sum", "08:10:00", reads=("db|c",))
    schema = {"fields": [{"name": "total", "type": "int"}]}
    lineage = {"fields": {"total": {"inputFields": inputs}}}
    run["outputs"] = [build.dataset("db|b", schema=schema, columnLineage=lineage)]
    state = build.state(run)
    assert graph_answer(state, "sum")["columns"] == []
    answer = graph_answer(state, "sum", columns=True)
    assert {(c["from"]["field"], c["how"], c["isDirect"]) for c in answer["columns"]} == {
        ("x", "AGGREGATION", True),
        ("day", "FILTER", False),
    }
    fields = {node["name"]: node["fields"] for node in answer["nodes"]}
    assert fields == {"c": [], "b": [{"name": "total", "type": "int"}], "sum": []}


def test_kind_comes_from_facets_or_the_name(build: Any) -> None:
    run = build.run("COMPLETE", "1", "j", "08:10:00", reads=("s3://lake|a.csv", "postgres://h|t"))
    run["outputs"] = [
        build.dataset("flow|model", datasetType={"datasetType": "MODEL"}),
        build.dataset("file|/wh/t", symlinks=[("hive://h", "db.t", "TABLE")]),
        build.dataset("kafka://broker:9092|topic"),
    ]
    kinds = {node["name"]: node["kind"] for node in graph_answer(build.state(run), "j")["nodes"]}
    assert kinds == {
        "a.csv": "file",
        "t": "table",
        "model": "model",
        "db.t": "table",
        "topic": "stream",
        "j": "job",
    }


def test_dataset_summary_has_version_rows_tags_and_checks(build: Any) -> None:
    def write(run: str, time: str, rows: int, good: bool) -> Any:
        event = build.run("COMPLETE", run, "load", time)
        checks = {"assertions": [{"assertion": "not_null", "success": good}]}
        tags = {
            "tags": [{"key": "pii", "value": "true", "field": "mail"}, {"key": "a", "value": "b"}]
        }
        event["outputs"] = [build.dataset("db|t", dataQualityAssertions=checks, tags=tags)]
        event["outputs"][0]["outputFacets"] = {"outputStatistics": {"rowCount": rows}}
        return event

    state = build.state(write("r2", "08:20:00", 20, False), write("r1", "08:10:00", 10, True))
    result = node_answer(state, "t")
    assert (result["version"], result["rows"], result["failedChecks"]) == ("r2", 20, 1)
    assert result["tags"] == ["a:b", "pii (mail)"]
    assert result["writtenAt"] == "2025-11-21T08:20:00Z"
    assert result["facets"].keys() == {"dataQualityAssertions", "tags"}


def test_run_has_its_ancestors_and_roots_have_none(
    build: Any,
) -> None:
    state = two_orchestrators(build)
    assert [run["runId"] for run in run_answer(generations_of(state), "q")["above"]] == [
        "a",
        "t",
        "d",
    ]
    assert [run["runId"] for run in runs_answer(state, roots=True)["items"]] == ["d"]


def test_newest_lists_tables_and_models_without_files(build: Any) -> None:
    state = build.state(
        build.run("COMPLETE", "1", "load", "08:10:00", reads=("file|/in",), writes=("db|old",)),
        build.run("COMPLETE", "2", "save", "08:20:00", writes=("file|/out", "db|new")),
        build.run("COMPLETE", "3", "both", "08:30:00", writes=("db|newest", "db|old")),
    )
    newest = newest_answer(state)["items"]
    assert [item["name"] for item in newest] == ["newest", "old", "new"]
    assert [item["name"] for item in newest_answer(state, limit=1)["items"]] == ["newest"]


def test_run_is_a_root_until_its_parent_reports(build: Any) -> None:
    above, app = ("x", "dag.load"), ("a", "app")
    events = [
        build.run("COMPLETE", "a", "app", "08:10:00", parent=above, root=("d", "dag")),
        build.run("COMPLETE", "q", "app.q", "08:09:00", parent=app, root=("d", "dag")),
    ]
    roots = [run["runId"] for run in runs_answer(build.state(*events), roots=True)["items"]]
    assert roots == ["a"]
    events.append(build.run("COMPLETE", "d", "dag", "08:30:00"))
    roots = [run["runId"] for run in runs_answer(build.state(*events), roots=True)["items"]]
    assert roots == ["d"]


def two_services(build: Any) -> list[dict[str, Any]]:
    """Return the events of one flow that trained on two services, the green one last."""
    events = []
    for number, service in enumerate(("yellow", "green")):
        flow = {"parent": (f"f{number}", "Flow"), "kind": STEP}
        hour = f"1{number}"
        events += [
            build.run("COMPLETE", f"l{number}", f"load_{service}", f"{hour}:01:00",
                      reads=(f"file|/{service}",), writes=(f"db|{service}_raw",)),
            build.run("COMPLETE", f"t{number}", "Flow.train", f"{hour}:02:00",
                      reads=(f"db|{service}_raw",), writes=(f"mf|{service}_model",), **flow),
            build.run("COMPLETE", f"w{number}", "Flow.write", f"{hour}:03:00",
                      reads=(f"mf|{service}_model",), writes=(f"db|{service}_forecast",), **flow),
        ]  # fmt: skip
    return events


@pytest.mark.parametrize("level", ["query", "task", "pipeline"])
def test_runs_of_one_flow_for_two_services_stay_separate(level: Any, build: Any) -> None:
    state = build.state(*two_services(build))
    for service, other in (("yellow", "green"), ("green", "yellow")):
        for node in (f"{service}_forecast", f"/{service}"):
            names = _names(graph_answer(state, node, up=20, down=20, level=level))
            assert {f"/{service}", f"{service}_raw", f"{service}_forecast"} <= names
            assert not [name for name in names if other in name]
            over = graph_answer(state, node, up=20, down=20, level=level, datasets=True)
            assert not [name for name in _names(over) if other in name]


def test_dataset_edges_do_not_mix_separate_runs(build: Any) -> None:
    state = build.state(*two_services(build))
    both = graph_answer(
        state,
        "job:demo:Flow.train",
        up=20,
        down=20,
        datasets=True,
        grown=["up:dataset:db:green_raw"],
    )
    lines = {line for line in _lines(both, "data") if "Flow.train" not in line}
    assert "yellow_model > yellow_forecast" in lines
    assert not [line for line in lines if "yellow" in line and "green" in line]
