"""The graph of the present has no edge from a job whose rows were all replaced."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.datasets.replaced_writes import all_writes_of
from headwater.graph.current import graph_of
from headwater.graph.levels import Level
from headwater.lineage.neighborhood import graph_answer
from headwater.lineage.queries import edges_answer, nodes_answer, tree_answer
from headwater.lookup import find_node
from headwater.plugins.changes.queries import diff_answer
from headwater.plugins.evidence.queries import why_answer
from headwater.plugins.trust._contract import captured_of
from headwater.projection import State
from headwater.projection._apply import apply

LEVELS = ("pipeline", "task", "query")


def _load(build: Any, time: str, reads: tuple[str, ...] = ("db|a",)) -> Any:
    return build.run("COMPLETE", f"load{time}", "load", time, reads=reads, writes=("db|t",))


def _change(build: Any, time: str, kind: str, reads: tuple[str, ...] = ("db|b",)) -> Any:
    event = build.run("COMPLETE", f"{kind}{time}", "other", time, reads=reads)
    facet = {"lifecycleStateChange": kind}
    return event | {"outputs": [build.dataset("db|t", lifecycleStateChange=facet)]}


def _report(build: Any, time: str) -> Any:
    return build.run("COMPLETE", "r", "report", time, reads=("db|t",), writes=("db|r",))


def _writers(state: State, level: str = "task") -> set[str]:
    """Return the jobs that write `t` in the whole graph.

    The graph and the tree of `t` itself agree: they have the sources of its present rows.
    """
    rows = edges_answer(state, level)["items"]
    listed = {
        row["job"]["name"]
        for row in rows
        if row["dataset"]["name"] == "t" and row["direction"] == "writes"
    }
    edges = graph_answer(state, "dataset:db:t", level=level)["edges"]
    ends = {edge["from"] for edge in edges if edge["to"] == "dataset:db:t"}
    above = {end.rpartition(":")[2] for end in ends}
    tree = tree_answer(state, "dataset:db:t", level=level)["up"]
    assert above == {child["name"] for child in tree["children"]}
    assert above <= listed
    return listed


@pytest.mark.parametrize("level", LEVELS)
def test_overwritten_job_is_no_writer(level: str, build: Any) -> None:
    state = build.state(_load(build, "08:00:00"), _change(build, "09:00:00", "OVERWRITE"))
    assert _writers(state, level) == {"other"}
    (why,) = why_answer(state, "job:demo:load", "dataset:db:t")["jobs"]
    assert why["replaced"] == "yes"


@pytest.mark.parametrize("reads", [(), ("db|a",)])
def test_overwritten_job_is_still_a_node(reads: tuple[str, ...], build: Any) -> None:
    state = build.state(_load(build, "08:00:00", reads), _change(build, "09:00:00", "OVERWRITE"))
    assert "job:demo:load" in {node["id"] for node in nodes_answer(state)["items"]}
    assert graph_answer(state, "load")["roots"] == ["job:demo:load"]
    assert not tree_answer(state, "load", "down")["down"]["children"]


def test_writes_of_a_job_include_replaced_ones(build: Any) -> None:
    """Contracts and findings are about what a job does, not about present rows."""
    state = build.state(_load(build, "08:00:00"), _change(build, "09:00:00", "OVERWRITE"))
    (load,) = [item for item in captured_of(state, "task") if item.job.text == "demo:load"]
    assert [item.text for item in load.outputs] == ["db:t"]
    ref = find_node(state, "load").job_ref
    assert {name.name for name in all_writes_of(state, ref)} == {"t"}


def test_job_whose_rows_were_read_before_stays_a_writer(build: Any) -> None:
    """The reader was not repeated, so its data still comes from these rows."""
    early = [_load(build, "08:00:00"), _report(build, "08:30:00")]
    state = build.state(*early, _change(build, "09:00:00", "OVERWRITE"))
    assert _writers(state) == {"load", "other"}
    late = [_load(build, "08:00:00"), _report(build, "09:30:00")]
    state = build.state(*late, _change(build, "09:00:00", "OVERWRITE"))
    assert _writers(state) == {"other"}


def test_dropped_table_keeps_its_last_writer_until_it_is_written(build: Any) -> None:
    state = build.state(_load(build, "08:00:00"), _change(build, "09:00:00", "DROP", ()))
    assert _writers(state) == {"load"}
    event = build.run("COMPLETE", "n", "new", "10:00:00", reads=("db|c",), writes=("db|t",))
    apply(state, build.entry(event).event)
    assert _writers(state) == {"new"}


def test_job_that_writes_again_is_a_writer_again(build: Any) -> None:
    state = build.state(_load(build, "08:00:00"), _change(build, "09:00:00", "OVERWRITE"))
    assert not graph_of(state, Level.TASK).edges_of(find_node(state, "load").job_ref).writes
    apply(state, build.entry(_load(build, "10:00:00")).event)
    assert _writers(state) == {"load", "other"}


def test_diff_shows_that_another_job_replaced_the_rows(build: Any) -> None:
    before = build.state(_load(build, "08:00:00"))
    after = build.state(_load(build, "08:00:00"), _change(build, "09:00:00", "OVERWRITE"))
    answer = diff_answer(before, after)
    assert answer["edgesRemoved"] == [["job:demo:load", "dataset:db:t"]]
    assert answer["removed"] == []
