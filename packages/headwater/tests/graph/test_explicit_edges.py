"""Explicit lineage: handoffs, outputs with their own sources, and invalid parts of the facet."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.events import JobRef
from headwater.graph.levels import Level
from headwater.graph.nodes import Node
from headwater.graph.run_edges import Edges, merged
from headwater.identity import DatasetName
from headwater.lineage.neighborhood import graph_around
from headwater.lineage.queries import edges_answer, graph_answer, tree_answer
from headwater.plugins.impact.queries import path_answer
from headwater.plugins.marquez._latest import latest_of
from headwater.plugins.tags.queries import tags_answer
from headwater.plugins.trust.completeness import completeness_answer
from headwater.projection import project
from packages.headwater.tests.support.explicit import (
    DB,
    ETL,
    EXAMPLES,
    NOON,
    Json,
    dataset,
    dataset_event,
    into,
    job,
    job_event,
    run_event,
)

from .test_explicit_lineage import above, below, below_leaf, columns, edges


def test_handoff_connects_inputs_and_outputs_of_two_jobs(
    build: Any,
) -> None:
    state = build.state(
        run_event("up", reads="a", run="u", time="2026-03-25T11:00:00Z"),
        run_event("down", into(dataset("c"), job("up")), reads="b", writes="c", run="d"),
    )
    assert edges(state) == {"a > up", "up > down", "b > down", "down > c"}
    assert above(state, "c") == {"down", "up", "a"}  # b is read, but does not feed c
    assert below(state, "a") == {"up", "down", "c"}
    over = graph_answer(state, "c", up=9, down=9, datasets=True)
    assert [(edge["from"][-1], edge["to"][-1]) for edge in over["edges"]] == [("a", "c")]


def test_rows_of_earlier_runs_are_sources_of_a_run_that_did_not_read_back(build: Any) -> None:
    """A run reads back a dataset if it wrote all rows before it read them, and states this."""
    entries = into(dataset("t"), dataset("b")), into(dataset("o"), dataset("t"))
    state = build.state(
        run_event("load", reads="a", writes="t", run="l", time="2026-03-25T11:00:00Z"),
        run_event("script", *entries, reads="b t", writes="t o", run="s"),
    )
    assert above(state, "o") == {"script", "t", "load", "a"}


def test_handoff_comes_from_all_inputs_even_if_an_output_states_its_own(build: Any) -> None:
    state = build.state(
        run_event(
            "up", into(dataset("x"), dataset("a")), reads="a b", writes="x", run="u",
            time="2026-03-25T11:00:00Z",
        ),
        run_event("down", into(dataset("c"), job("up")), writes="c", run="d"),
    )  # fmt: skip
    assert above(state, "c") == {"down", "up", "a", "b"}
    assert above(state, "x") == {"up", "a"}


def test_handoff_between_tasks_connects_their_pipelines(build: Any) -> None:
    def task(run: str, name: str, *entries: Json) -> Json:
        dag = name.partition(".")[0]
        event = run_event(name, *entries, run=run, facets={"jobType": {"jobType": "TASK"}})
        parent = {"run": {"runId": f"{run}-dag"}, "job": {"namespace": ETL, "name": dag}}
        event["run"]["facets"] = {"parent": parent}
        return event

    state = build.state(
        task("1", "dag_a.t3"), task("2", "dag_b.t1", into(job("dag_b.t1"), job("dag_a.t3")))
    )
    direct = edges_answer(state, "pipeline", "direct")["items"]
    assert [(e["upstream"]["name"], e["downstream"]["name"]) for e in direct] == [
        ("dag_a", "dag_b")
    ]


def test_pipeline_has_the_sources_of_the_datasets_inside_it(build: Any) -> None:
    def task(name: str, *entries: Json, reads: str, writes: str) -> Json:
        facets = {"jobType": {"jobType": "TASK"}}
        event = run_event(name, *entries, reads=reads, writes=writes, run=name, facets=facets)
        event["run"]["facets"] = {
            "parent": {"run": {"runId": "d"}, "job": {"namespace": ETL, "name": "dag"}}
        }
        return event

    copies = (into(dataset("c"), dataset("a")), into(dataset("d"), dataset("b")))
    state = build.state(
        task("dag.copy", *copies, reads="a b", writes="c d"),
        task("dag.stage", reads="c", writes="s"),
        task("dag.merge", reads="s", writes="t"),
        task("dag.other", reads="d", writes="u"),
    )
    assert above(state, "t", "pipeline") == {"dag", "a"}
    assert below(state, "b", "pipeline") == {"dag", "u"}
    root = DatasetName(DB, "c")
    graph = graph_around(state, Node.of_dataset(root), Level.PIPELINE)
    assert DatasetName(DB, "t") in graph.edges_of(JobRef(ETL, "dag")).targets_of(root)


def test_explicit_columns_precede_the_column_lineage_facet(build: Any) -> None:
    def column_lineage(field_: str, source: str) -> Json:
        made_of = {"namespace": DB, "name": source, "field": field_}
        return {"fields": {"x": {"inputFields": [made_of]}}}

    event = run_event(
        "j",
        into(dataset("c"), fields={"x": {"inputs": [dataset("a", field="new")]}}),
        into(dataset("d"), dataset("a")),
        reads="a b",
        writes="c d",
    )
    event["outputs"][0]["facets"] = {"columnLineage": column_lineage("old", "a")}
    event["outputs"][1]["facets"] = {"columnLineage": column_lineage("kept", "a")}
    state = build.state(event)
    assert columns(state, "c") == ["x < a.new "]
    assert columns(state, "d") == ["x < a.kept "]
    event["outputs"][1]["facets"] = {"columnLineage": column_lineage("false", "b")}
    assert columns(build.state(event), "d") == []  # b does not feed d


def test_column_lineage_splits_the_inputs_by_output(build: Any) -> None:
    event = run_event("split", reads="a b settings", writes="c d")
    for output, source in zip(event["outputs"], ("a", "b"), strict=True):
        made_of = {"namespace": DB, "name": source, "field": "x"}
        output["facets"] = {"columnLineage": {"fields": {"x": {"inputFields": [made_of]}}}}
    state = build.state(event)
    assert above(state, "c") == {"split", "a", "settings"}
    assert above(state, "d") == {"split", "b", "settings"}
    assert below(state, "a") == {"split", "c"}


def test_mapped_tasks_feed_only_their_own_outputs(build: Any) -> None:
    parent = {"parent": ("dag", "etl")}
    state = build.state(
        build.run("COMPLETE", "1", "map", "08:01:00", reads=("f|1",), writes=("t|1",), **parent),
        build.run("COMPLETE", "2", "map", "08:02:00", reads=("f|2",), writes=("t|2",), **parent),
    )
    up = tree_answer(state, "dataset:t:1", "up")["up"]
    (task,) = up["children"]
    assert [child["namespace"] + child["name"] for child in task["children"]] == ["f1"]


def test_tags_follow_only_explicit_edges(build: Any) -> None:
    tagged = {"namespace": DB, "name": "a", "facets": {
        "tags": {"tags": [{"key": "pii", "value": "true", "field": "mail"}]}}}  # fmt: skip
    event = run_event(
        "j", into(dataset("c"), dataset("a")), into(dataset("d"), dataset("b")), writes="c d"
    )
    state = build.state({"eventTime": NOON, "dataset": tagged}, event)
    assert [item["name"] for item in tags_answer(state)["items"]] == ["a", "c"]


def two_ways(build: Any) -> Any:
    """Return a job that copies two datasets from separate sources, and one that joins them."""
    return build.state(
        run_event(
            "split",
            into(dataset("out1"), dataset("in1")),
            into(dataset("out2"), dataset("in2")),
            reads="in1 in2",
            writes="out1 out2",
            run="s",
            time="2026-03-25T11:00:00Z",
        ),
        run_event("join", reads="out1 out2", writes="final", run="j"),
    )


def test_job_with_two_outputs_has_sources_per_output(build: Any) -> None:
    (join,) = tree_answer(two_ways(build), "final", "up")["up"]["children"]
    met = {child["name"]: below_leaf(child) for child in join["children"]}
    assert met == {"out1": {"split", "in1"}, "out2": {"split", "in2"}}


def test_path_through_a_job_follows_the_data(build: Any) -> None:
    for number in "12":
        result = path_answer(two_ways(build), f"in{number}", "final")["path"]
        names = [item["name"] for item in result]
        assert names == [f"in{number}", "split", f"out{number}", "join", "final"]


@pytest.mark.parametrize("entries", ["oops", [], [{"type": "dataset", "name": "c"}]])
def test_facet_without_valid_entry_is_ignored(entries: Any, build: Any) -> None:
    event = run_event("j", reads="a", writes="c")
    event["job"]["facets"]["lineage"] = {"entries": entries}
    assert above(build.state(event), "c") == {"j", "a"}


def test_explicit_lineage_is_complete(build: Any) -> None:
    generator = EXAMPLES["8 enriched generator"].events[0]
    generator["outputs"][0]["facets"] = {"schema": {"fields": [{"name": "total"}]}}
    state = build.state(
        generator,
        run_event("up", run="u"),
        run_event("down", into(job("down"), job("up")), run="d"),
        dataset_event("view", dataset("base")),
    )
    result = completeness_answer(state)
    assert [orphan["kind"] for orphan in result["orphans"] if "without" in orphan["kind"]] == []
    assert result["measures"]["inputs"]["share"] == 1


def test_invalid_parts_of_the_facet_are_ignored(build: Any) -> None:
    state = build.state(
        run_event(
            "j",
            "no entry",  # type: ignore[arg-type]
            {"type": "DATASET", "name": "half a name"},
            {"type": "MODEL", "namespace": DB, "name": "m", "inputs": []},
            {**dataset("c"), "inputs": "none", "fields": {"x": 7, "y": {"inputs": [None, 3]}}},
            into(dataset("c"), dataset("a"), {"type": "DATASET", "name": "half"}, {"type": 4}),
            reads="a",
            writes="c",
        ),
        dataset_event("v", {"type": "JOB"}),
        job_event("declared", into(job(), dataset("a"))),
    )
    assert edges(state) == {"a > j", "j > c", "a > declared"}


def test_entry_that_names_its_own_job_adds_an_input(build: Any) -> None:
    read = {"type": "DATASET", "namespace": "file", "name": "/a"}
    own = {"type": "JOB", "namespace": "n", "name": "job", "inputs": [read]}
    event = build.run("START", "r", "job", "08:00:00")
    event["job"] = {"namespace": "n", "name": "job", "facets": {"lineage": {"entries": [own]}}}
    state = project([build.entry(event).event])
    assert latest_of(state).readers_of(DatasetName("file", "/a")) == {JobRef("n", "job")}


def test_stated_sources_of_one_task_do_not_hide_those_of_another() -> None:
    x, y, a = (DatasetName("db", name) for name in "xya")
    stated, other = Edges({x}, {a}, {a: {x}}), Edges({y}, {a})
    for both in (merged([stated, other]), merged([other, stated])):
        assert both.sources_of(a) == {x, y}
