"""All answers about one store agree: impact, tree, path, columns, provenance, gates, the past."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from headwater.datasets.replaced_writes import replaced_by_job
from headwater.datasets.writes import writes_of, written_by
from headwater.events import JobRef, parse_time, to_micros
from headwater.graph.current import generations_of, graph_of, whole_graph_of
from headwater.graph.frontier import upstream_of
from headwater.graph.generation import Generation
from headwater.graph.generations import Generations
from headwater.graph.levels import Level
from headwater.graph.nodes import Node, node_id
from headwater.health.blocked import blockers_of
from headwater.health.recovery import is_recovered
from headwater.health.states import health_of
from headwater.identity import DatasetName
from headwater.lineage.neighborhood import graph_answer
from headwater.lineage.queries import columns_answer, edges_answer, tree_answer
from headwater.log import EventLog
from headwater.lookup import find_dataset
from headwater.plugins.agents._reply import Context, undelimited
from headwater.plugins.agents.tools import call as call_tool
from headwater.plugins.evidence.queries import why_answer
from headwater.plugins.impact.queries import impact_answer, path_answer
from headwater.plugins.incidents._clean import clean_datasets
from headwater.plugins.incidents._named import Version, version_of
from headwater.plugins.incidents._readers import readers_of
from headwater.plugins.incidents._taints import taint_entry
from headwater.plugins.incidents._version import spread_of, version_answer
from headwater.plugins.marquez._graphs import get_lineage
from headwater.plugins.marquez._latest import latest_of
from headwater.plugins.provenance.queries import provenance_answer
from headwater.plugins.trust.gate import gate_answer
from headwater.projection import State, apply
from headwater.projection.live import Batch, Live
from headwater.projection.past import Moment
from headwater.query.registry import load_queries
from headwater.redaction import DEFAULT
from headwater.runs.failures import was_repeated
from packages.headwater.tests.support.entry_strategies import canonical
from packages.headwater.tests.support.random_runs import (
    NAMES,
    RUNS,
    events_of,
    run_of,
    without_files,
)

pytestmark = pytest.mark.replay

_SAME_NAME_ELSEWHERE = [
    run_of("p", "plain", [], ["db|a"]),
    run_of("q", "text", ["s3://b|a"], ["db|b"]),
]
"""The text reads `a`: the reported input of that name, not the table in the text's namespace."""

_TARGET_NAMED_LIKE_INPUT = [run_of("p", "text", ["s3://b|a"], ["db|a", "db|b"])]
"""The text reads `a`, which it also writes; the input of that name is in another namespace."""


_OVERWRITE = run_of("q", "OVERWRITE", ["db|b"], ["db|c"])
_REPLACED_FILE_OF_A_FOLDER = [
    run_of("p", "RENAME", [], ["db|a", "s3://b|a/q"]) | {"hours": 1},
    run_of("q", "plain", ["s3://b|a"], []),
    run_of("r", "plain", [], ["s3://b|a/q"]),
]

_REPLACED_BY_ANOTHER_JOB = [run_of("p", "plain", ["db|a"], ["db|c"]), _OVERWRITE | {"start": 5}]


def _datasets(state: State) -> list[str]:
    return sorted(node_id(Node.of_dataset(name)) for name in set(state.identity))


def _ids(tree: Any) -> Iterator[str]:
    for child in tree["children"]:
        yield child["id"]
        yield from _ids(child)


def _above(state: State, node: str, level: str) -> set[str]:
    return set(_ids(tree_answer(state, node, "up", level=level)["up"])) - {node}


def _affected(state: State, node: str, level: str) -> set[str]:
    return {item["id"] for item in impact_answer(state, node, level=level)["affected"]} - {node}


@settings(max_examples=150)
@given(runs=RUNS)
@example(runs=_SAME_NAME_ELSEWHERE)
@example(runs=_TARGET_NAMED_LIKE_INPUT)
def test_impact_and_tree_are_inverse(runs: list[dict[str, Any]], build: Any) -> None:
    state = build.state(*events_of(build, runs))
    for level in ("task", "query"):
        names = _datasets(state)
        above = {name: _above(state, name, level) for name in names}
        below = {name: _affected(state, name, level) for name in names}
        forward = {(x, y) for y in names for x in above[y] if x in below}
        backward = {(x, y) for x in names for y in below[x] if y in above}
        assert forward == backward, level
        jobs = {node for found in below.values() for node in found if node.startswith("job:")}
        for job in jobs:
            assert {x for x in names if job in below[x]} == _above(state, job, level) & set(names)


@settings(max_examples=60)
@given(runs=RUNS)
@example(runs=[run_of("p", "dataset renamed", ["db|a"], ["db|a", "db|b"])])
def test_pipeline_impact_contains_the_datasets_of_the_tree(
    runs: list[dict[str, Any]], build: Any
) -> None:
    """The tree omits datasets that one pipeline both writes and reads, and the files in them."""
    state = build.state(*events_of(build, without_files(runs)))
    graph = whole_graph_of(state, Level.PIPELINE)

    def is_inner(node: str) -> bool:
        name = find_dataset(state, node).dataset_name
        return not graph.writers_of(name).isdisjoint(graph.readers_of(name))

    names = _datasets(state)
    above = {name: _above(state, name, "pipeline") for name in names}
    below = {name: _affected(state, name, "pipeline") for name in names}
    forward = {(x, y) for y in names for x in above[y] if x in below}
    backward = {(x, y) for x in names for y in below[x] if y in above}
    assert forward <= backward
    assert not [pair for pair in backward - forward if not any(map(is_inner, pair))]


_CREATED_BEFORE_PARTITIONS = [
    run_of("p", "CREATE", [], ["db|a", "db|b"], "d0"),
    run_of("p", "parts by source", ["db|a"], ["db|a", "db|c"], "d0"),
]


_ONE_OF_TWO_RUNS_HAS_TEXT = [
    run_of("p", "text", ["db|a"], ["db|b"], "d0"),
    run_of("p", "plain", [], ["db|b"], "d0"),
]


@settings(max_examples=60)
@given(runs=RUNS)
@example(runs=_CREATED_BEFORE_PARTITIONS)
@example(runs=_ONE_OF_TWO_RUNS_HAS_TEXT)
def test_tree_columns_edges_and_why_agree_on_evidence(
    runs: list[dict[str, Any]], build: Any
) -> None:
    state = build.state(*events_of(build, runs))
    rows = edges_answer(state, "task", limit=1_000)["items"]
    for row in rows:
        job, name = (_node("job", row["job"]), _id(row["dataset"]))
        found = why_answer(state, job, name)
        assert (found["source"] == job) is (row["direction"] == "writes") or _is_both(rows, row)
    for name in _datasets(state):
        for child in tree_answer(state, name)["up"]["children"]:
            if child["type"] == "job":
                assert "writes" in {
                    row["direction"] for row in rows if _is_edge(row, child["id"], name)
                }
                _check_grades(state, child, name)


def _check_grades(state: State, child: Any, name: str) -> None:
    """Compare the grades of a job and of its inputs in a tree with those that `why` returns."""
    (job,) = why_answer(state, child["id"], name)["jobs"]
    if job["seen"] == child["seen"] and child["run"]:
        assert job["grade"] == child["grade"]
    for source in child["children"]:
        if source["type"] == "dataset" and source["id"] != name:
            grades = {job["grade"] for job in why_answer(state, source["id"], name)["jobs"]}
            assert source["grade"] != "possible" or grades & {"possible", "stale"}


_REPORTED_AND_READ_AS_ANOTHER_KIND = [
    run_of("q", "columns", ["db|b"], ["db|c"], parent="d0"),
    run_of("q", "script", ["db|b"], ["db|c"], parent="d0"),
]

_RENAMED_IN_TEXT = [
    run_of("p", "SQL alter", [], ["db|a"]),
    run_of("p", "plain", [], ["db|d"]),
    run_of("p", "columns", ["db|a"], ["db|a"]),
]


@settings(max_examples=60)
@given(runs=RUNS)
@example(runs=_RENAMED_IN_TEXT)
@example(runs=_REPORTED_AND_READ_AS_ANOTHER_KIND)
def test_evidence_of_columns_is_that_of_why(runs: list[dict[str, Any]], build: Any) -> None:
    state = build.state(*events_of(build, runs))
    for name in _datasets(state):
        for column in columns_answer(state, name)["up"]["children"]:
            for source in column["children"]:
                if source["id"] != name and source["job"]:  # `why` knows no edge without a job
                    fields = source["field"], column["field"]
                    of_column, of_pair = (
                        job
                        for ends in (fields, ())
                        for job in why_answer(state, source["id"], name, *ends)["jobs"]
                        if (job["job"] or {}).get("name") == source["job"]
                    )
                    # `columns` has a step for each kind of transformation; `why` has one edge.
                    kinds = {
                        other["evidence"]
                        for other in column["children"]
                        if all(other[key] == source[key] for key in ("id", "field", "job"))
                    }
                    grade = "verified" if len(kinds) > 1 else source["grade"]
                    assert of_column["grade"] in (grade, "stale")
                    if of_pair["runs"][0]["run"] == of_column["runs"][0]["run"]:
                        assert of_pair["grade"] != "possible"


_REPLACED_AFTER_BOTH_WRITES = [
    run_of("p", "columns", ["db|a", "db|b"], ["db|a", "db|b"]),
    run_of("p", "plain", [], ["db|a"]),
]

_WRITTEN_AGAIN_WITHOUT_COLUMNS = [
    run_of("p", "columns", ["db|a"], ["db|a", "db|b"]),
    run_of("p", "plain", ["db|a"], ["db|a", "db|b"]),
]


def _column_edges(state: State, way: Literal["up", "down"], *, indirect: bool) -> set[Any]:
    """Return the edges between columns of different datasets, from the source to the target."""
    found = set()
    for name in _datasets(state):
        answer = columns_answer(state, name, direction=way, indirect=indirect)
        for column in (answer["up"] if way == "up" else answer["down"])["children"]:
            own = name, column["field"]
            others = {(item["id"], item["field"]) for item in column["children"]}
            found |= {(other, own) if way == "up" else (own, other) for other in others}
    return {edge for edge in found if edge[0][0] != edge[1][0]}


@settings(max_examples=60)
@given(runs=RUNS)
def test_upstream_columns_are_also_downstream(runs: list[dict[str, Any]], build: Any) -> None:
    state = build.state(*events_of(build, runs))
    for indirect in (False, True):
        edges = _column_edges(state, "up", indirect=indirect)
        assert edges <= _column_edges(state, "down", indirect=indirect)


@pytest.mark.parametrize("runs", [_REPLACED_AFTER_BOTH_WRITES, _WRITTEN_AGAIN_WITHOUT_COLUMNS])
def test_columns_downstream_omit_replaced_outputs(runs: list[dict[str, Any]], build: Any) -> None:
    state = build.state(*events_of(build, runs))
    edges = _column_edges(state, "up", indirect=False)
    assert edges == _column_edges(state, "down", indirect=False)


@settings(max_examples=60)
@given(runs=RUNS)
def test_graph_has_the_edges_of_trees_and_the_grades_of_why(
    runs: list[dict[str, Any]], build: Any
) -> None:
    state = build.state(*events_of(build, runs))
    for name in _datasets(state):
        graph, trees = graph_answer(state, name)["edges"], tree_answer(state, name, "both")
        edges = {(edge["from"], edge["to"]): edge["grade"] for edge in graph}
        assert {(child["id"], name) for child in trees["up"]["children"]} <= edges.keys()
        assert {(name, child["id"]) for child in trees["down"]["children"]} <= edges.keys()
        for (start, end), grade in edges.items():
            if start.startswith("job:") and end.startswith("dataset:"):
                assert [job["grade"] for job in why_answer(state, start, end)["jobs"]] == [grade]


@settings(max_examples=100)
@given(runs=RUNS)
@example(runs=_REPLACED_BY_ANOTHER_JOB)
@example(runs=_REPLACED_FILE_OF_A_FOLDER)
def test_written_edges_of_the_graph_are_in_a_tree(runs: list[dict[str, Any]], build: Any) -> None:
    """A job is shown as a writer only of a dataset with rows of it, or of which a reader had some.

    `why` says "replaced" if no tree has the edge.
    """
    state = build.state(*events_of(build, runs))
    graph = whole_graph_of(state, Level.TASK)
    for found in sorted(map(state.identity.primary, set(state.identity))):
        name = node_id(Node.of_dataset(found))
        tree = tree_answer(state, name, "both", depth=2)
        writers = {node["id"] for node in tree["up"]["children"] if node["type"] == "job"}
        readers = [node["id"] for node in tree["down"]["children"]]
        shown = {node_id(Node.of_job(ref)) for ref in graph.writers_of(found)}
        assert writers <= shown
        used = {
            child["id"]
            for reader in readers
            for node in tree_answer(state, reader, "up", depth=3)["up"]["children"]
            if node["id"] == name
            for child in node["children"]
        }
        # A file of a read folder keeps all of its writers (docs/reference/statements.md).
        if any(node["type"] == "dataset" for node in tree["down"]["children"]):
            continue
        for job in shown - writers - used:  # an older run, other outputs of which are used
            assert {why["replaced"] for why in why_answer(state, job, name)["jobs"]} != {"yes"}
    for ref, names in replaced_by_job(state, graph, Level.TASK).items():
        for found in names - graph.edges_of(ref).writes:
            job, name = node_id(Node.of_job(ref)), node_id(Node.of_dataset(found))
            assert {why["replaced"] for why in why_answer(state, job, name)["jobs"]} == {"yes"}


def _node(type_: str, item: Any) -> str:
    return f"{type_}:{item['namespace']}:{item['name']}"


def _is_edge(row: Any, job: str, dataset: str) -> bool:
    return (_node("job", row["job"]), _id(row["dataset"])) == (job, dataset)


def _is_both(rows: Any, row: Any) -> bool:
    """Return True if a job both reads and writes a dataset."""
    pair = _node("job", row["job"]), _id(row["dataset"])
    return sum(_is_edge(other, *pair) for other in rows) == 2


def _column_sources(node: Any) -> Iterator[str]:
    for child in node["children"]:
        if child["id"] != "":
            yield child["id"]
        yield from _column_sources(child)


@settings(max_examples=60)
@given(runs=RUNS)
def test_sources_of_columns_and_provenance_are_in_the_tree(
    runs: list[dict[str, Any]], build: Any
) -> None:
    state = build.state(*events_of(build, runs))
    for name in _datasets(state):
        above = _above(state, name, "task")
        for source in {*_column_sources(columns_answer(state, name)["up"])} - {name}:
            assert source in above
            assert name in {item["id"] for item in impact_answer(state, source)["affected"]}
            assert not path_answer(state, source, name)["isReversed"]
        provenance = provenance_answer(state, name)
        jobs = {f"job:{run['job']['namespace']}:{run['job']['name']}" for run in provenance["runs"]}
        read = {_id(item) for run in provenance["runs"] for item in run["inputs"]}
        assert jobs <= above
        assert read <= above | {name}
        assert {_id(item) for item in provenance["sources"]} <= above | {name}


@settings(max_examples=40)
@given(runs=RUNS)
def test_verdicts_on_dropping_a_column_agree(runs: list[dict[str, Any]], build: Any) -> None:
    state = build.state(*events_of(build, runs))
    queries = load_queries()
    context = Context(lambda name, params: queries[name].answer(state, **params))
    for name in _datasets(state):
        below = columns_answer(state, name, direction="down", indirect=True)["down"]["children"]
        for column in below:
            found = impact_answer(state, name, column["field"])
            where = {"node": name, "column": column["field"]}
            assert (
                json.loads(call_tool("downstream", where, context))["drop"]
                == (found["drop"]["verdict"])
            )
            if any(child["id"] != name for child in column["children"]):
                kinds = {reason["kind"] for reason in found["drop"]["reasons"]}
                is_used = bool(found["affected"] + found["indirect"])
                assert is_used or "dropped_use" in kinds  # the data was replaced since
                assert found["drop"]["verdict"] != "safe"
            if found["drop"]["verdict"] == "safe":  # none of these producers reports every use
                assert not _readers(state, name)
                assert not found["possible"]


def _readers(state: State, name: str) -> set[str]:
    """Return the jobs that reported a dataset as an input, except by explicit lineage."""
    dataset = find_dataset(state, name).dataset_name
    primary = state.identity.primary
    return {
        run.key.job.name
        for run in state.runs.values()
        if any(primary(spelled) == dataset for spelled in run.inputs)
        and not state.jobs[run.key.job].facets.get("lineage")
    }


def _id(item: Any) -> str:
    return f"dataset:{item['namespace']}:{item['name']}"


_BACKFILL = [
    {"job": job, "start": start, "hours": hours, "end": end, "reads": uses, "writes": uses,
     "parent": None, "kind": "plain"}
    for job, start, hours, end, uses in (
        ("p", 1, 0, "COMPLETE", ["db|a"]),
        ("q", 0, 0, "COMPLETE", ["db|a"]),
        ("p", 0, 1, "FAIL", []),
    )
]  # fmt: skip
"""A run that started before the newest one and failed after it; another job wrote before that."""


@settings(max_examples=60)
@given(runs=RUNS)
@example(runs=_BACKFILL)
def test_gate_judges_all_runs_of_the_provenance(runs: list[dict[str, Any]], build: Any) -> None:
    state = build.state(*events_of(build, runs))
    for name in _datasets(state):
        (gated,) = gate_answer(state, [name])["datasets"]
        found = [item for item in gated["violations"] if item["kind"] == "no_failed_runs"]
        failed = {
            part["run"]["runId"]
            for part in provenance_answer(state, name)["runs"]
            if part["run"] and part["run"]["state"] in ("FAILED", "ABORTED", "LOST")
        }
        over = {
            key.run_id
            for key, run in state.runs.items()
            if was_repeated(state, run)
            or any(is_recovered(state, run, output) for output in _written_by(state, run.key.job))
        }
        assert failed - over <= {item["runId"] for item in found}
        if health_of(state, find_dataset(state, name))["state"] == "failed":
            assert found
        above = _above(state, name, "task")
        pipelines = {item["pipeline"] for item in gated["violations"]}
        # A load that failed after another job replaced its earlier data is not upstream.
        loads = {
            node_id(blocker.node)
            for blocker in blockers_of(state, find_dataset(state, name))
            if blocker.distance == 1
        }
        assert {item["subject"] for item in found} <= above | pipelines | loads


def _written_by(state: State, ref: JobRef) -> set[DatasetName]:
    """Return the datasets that a job wrote; another may take them over after a failed run."""
    runs = (state.runs[key] for key in state.jobs[ref].runs)
    return {state.identity.primary(name) for run in runs for name in run.outputs}


@settings(max_examples=60)
@given(runs=RUNS)
def test_marquez_draws_no_edge_that_the_graph_lacks(runs: list[dict[str, Any]], build: Any) -> None:
    state = build.state(*events_of(build, runs))
    latest = latest_of(state)
    for ref in state.jobs:
        levels = [whole_graph_of(state, level).edges_of(ref) for level in Level]
        edges = latest.edges_of(ref)
        owned = [graph_of(state, Level.TASK).edges_of(o) for o in generations_of(state).owners(ref)]
        assert edges.reads <= {name for found in (*levels, *owned) for name in found.reads}
        every = [whole_graph_of(state, level).replaced.values() for level in Level]
        replaced = {name for found in every for names in found for name in names}
        shown = {name for found in (*levels, *owned) for name in found.writes}
        assert edges.writes <= shown | replaced  # Marquez shows the newest run of each job


@settings(max_examples=60)
@given(runs=RUNS)
def test_marquez_shows_the_datasets_of_the_trees(runs: list[dict[str, Any]], build: Any) -> None:
    """Skip datasets with a node both upstream and downstream, because it connects both sides.

    Marquez's API has no edges without a job, such as those between folders and files, or the
    rename in a DatasetEvent.
    """
    runs = [run for run in without_files(runs) if run["kind"] != "dataset renamed"]
    state = build.state(*events_of(build, runs))
    names = set(_datasets(state))
    for name in names:
        trees = tree_answer(state, name, "both")
        above, below = ({*_ids(trees[way])} - {name} for way in ("up", "down"))
        if above.isdisjoint(below):
            nodes = get_lineage(state, name, 100)["graph"]
            assert _walked(nodes, name, "in") & names - {name} == above & names, name
            assert _walked(nodes, name, "out") & names - {name} == below & names, name


def _walked(nodes: Any, root: str, way: str) -> set[str]:
    """Return the nodes to which edges lead, against their direction for `in`."""
    end = "origin" if way == "in" else "destination"
    near = {node["id"]: {edge[end] for edge in node[f"{way}Edges"]} for node in nodes}
    found, open_ = {root}, [root]
    while open_:
        new = near[open_.pop()] - found
        found |= new
        open_ += new
    return found


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(runs=RUNS)
def test_past_equals_a_store_with_the_events_until_then(
    runs: list[dict[str, Any]], build: Any, tmp_path: Path
) -> None:
    events = events_of(build, runs)
    database = tmp_path / "log.db"
    database.unlink(missing_ok=True)
    log = EventLog(f"sqlite:///{database}")
    try:
        live = Live(log)
        live.ingest(Batch([build.entry(event) for event in events]))
        for time in sorted({event["eventTime"] for event in events}):
            until = [event for event in events if event["eventTime"] <= time]
            with live.reading(Moment(as_of=to_micros(parse_time(time)))) as past:
                assert canonical(past) == canonical(build.state(*until))
                expected = build.state(*until)
                for name in _datasets(expected):
                    assert _above(past, name, "task") == _above(expected, name, "task")
    finally:
        log.close()


@settings(max_examples=25)
@given(runs=RUNS)
def test_agents_and_the_interface_give_the_same_verdicts(
    runs: list[dict[str, Any]], build: Any
) -> None:
    state = build.state(*events_of(build, runs))
    queries = load_queries()
    context = Context(lambda name, params: queries[name].answer(state, **params))
    for name in _datasets(state):
        impact = impact_answer(state, name)
        below = json.loads(call_tool("downstream", {"node": name}, context))
        listed = {undelimited(item["id"]): item["steps"] for item in below.get("affected", [])}
        assert listed == {item["id"]: item["distance"] for item in impact["affected"]}
        above = json.loads(call_tool("upstream", {"node": name}, context))
        found = {undelimited(item["id"]) for item in above.get("upstream", [])}
        assert found - {name} == _above(state, name, "task")


@settings(max_examples=150)
@given(runs=RUNS)
def test_versions_agree_with_provenance(runs: list[dict[str, Any]], build: Any) -> None:
    """A run is affected by a version exactly if the provenance of what it wrote contains it."""
    state = build.state(*events_of(build, runs))
    generations = generations_of(state)
    written = [
        version_of(state, name, write.version)
        for name in sorted(set(state.identity))
        for write in {write.version: write for write in writes_of(generations, name)}.values()
    ]
    below: dict[tuple[str, str], list[set[Generation]]] = {}
    for named in written:
        for node in spread_of(generations, named).nodes:
            for version in node.versions if node.node.type == "dataset" else ():
                below.setdefault((node_id(node.node), version), []).append(_whole(named))
        _check_readers(state, named)
        _check_current(state, named)
    for named in written:
        above = upstream_of(generations, named.writers, named.name)
        sources = {
            flow.source.original
            for generation, edges in above.items()
            for flow in generations.flows(generation)
            if flow.source in above and written_by(generations, flow.source, flow.dataset)
            if flow.is_kept or flow.dataset in edges.reads  # others feed no output on the way
        }
        found = below.get((_node_of(named), named.version), [])
        if any(named.name in writer.queried_outputs for writer in named.writers):
            continue  # what such a version contains depends on the time of the query
        own = _whole(named)
        # One that failed to write a dataset may be above only because of that dataset.
        sure = {source for source in sources if _wrote_all(generations, source)}
        assert sure - own <= {writer for writers in found for writer in writers}, named
        # Two runs may report the same version; one of them is enough.
        assert all(writers & (sources | own) for writers in found), named


def _whole(named: Version) -> set[Generation]:
    return {writer.original for writer in named.writers}


def _wrote_all(generations: Generations, generation: Generation) -> bool:
    return all(written_by(generations, generation, name) for name in generation.edges.writes)


_VIEW_OF_ITS_VIEW = {
    "job": "p", "start": 0, "hours": 1, "end": "COMPLETE", "reads": ["db|a"],
    "writes": ["db|a", "db|b"], "parent": None, "kind": "view",
}  # fmt: skip


@settings(max_examples=60)
@given(runs=RUNS)
@example(runs=[_VIEW_OF_ITS_VIEW])
def test_gate_refuses_exactly_what_contains_a_recalled_version(
    runs: list[dict[str, Any]], build: Any
) -> None:
    state = build.state(*events_of(build, runs))
    generations = generations_of(state)
    for name in sorted(set(state.identity))[:2]:
        for write in writes_of(generations, name)[:2]:
            named = version_of(state, name, write.version)
            node = f"{_node_of(named)}@{named.version}"
            current = {
                node_id(item.node)
                for item in spread_of(generations, named).nodes
                if item.is_current
            }
            if not {g.writer for g in generations.writing(name)}.isdisjoint(named.writers):
                current.add(_node_of(named))
            recalled = build.state(*events_of(build, runs))
            apply(recalled, taint_entry(recalled, node, "bad", 2**51, DEFAULT).event)
            refused = {
                dataset
                for dataset in _datasets(recalled)
                for gated in gate_answer(recalled, [dataset])["datasets"]
                if "no_tainted" in {item["kind"] for item in gated["violations"]}
            }
            assert refused == {dataset for dataset in _datasets(state) if dataset in current}, node


@settings(max_examples=60)
@given(runs=RUNS, read=st.sampled_from(NAMES))
def test_gate_fails_downstream_of_recalled_version_without_writer(
    runs: list[dict[str, Any]], read: str, build: Any
) -> None:
    """The gate fails for every dataset whose provenance contains a read of the version."""
    runs = [{**run, "writes": [n for n in run["writes"] if not _overlap(n, read)]} for run in runs]
    kinds = ("plain", "columns", "keeps rows", "part", "commits part", "commits parts by source")
    others = {"kind": "parts by source"}
    events = events_of(build, [r if r["kind"] in kinds else r | others for r in runs])
    for event in events:
        for item in event.get("inputs", ()):
            if f"{item['namespace']}|{item['name']}" == read:
                item["facets"]["version"] = {"datasetVersion": event["run"]["runId"]}
    state = build.state(*events)
    for version in {event["run"]["runId"]: None for event in events if "run" in event}:
        if version not in {use.version for use in _uses_of(state, read)}:
            continue
        recalled = build.state(*events)
        node = f"dataset:{read.replace('|', ':')}@{version}"
        apply(recalled, taint_entry(recalled, node, "bad", 2**51, DEFAULT).event)
        for dataset in _datasets(recalled):
            (gated,) = gate_answer(recalled, [dataset])["datasets"]
            is_refused = "no_tainted" in {item["kind"] for item in gated["violations"]}
            runs_above = provenance_answer(state, dataset)["runs"]
            has_read = any(
                f"{item['namespace']}|{item['name']}" == read and version in item["versions"]
                for run in runs_above
                for item in run["inputs"]
            )
            assert is_refused or not has_read, (dataset, version)


def _overlap(name: str, other: str) -> bool:
    """Return True if a name is that of a file in the folder of the other, or equal to it."""
    return name == other or name.startswith(f"{other}/") or other.startswith(f"{name}/")


def _uses_of(state: State, name: str) -> Iterator[Any]:
    dataset = DatasetName(*name.split("|"))
    return (run.inputs[dataset] for run in state.runs.values() if dataset in run.inputs)


def _check_current(state: State, named: Version) -> None:
    """Compare the current contents that contain a version with their provenance."""
    generations = generations_of(state)
    spread = spread_of(generations, named)
    current = {node.node for node in spread.nodes if node.is_current}
    clean = {(c["id"], c["isProven"]) for c in clean_datasets(generations, [named], spread)}
    for name in set(state.identity):
        walk = upstream_of(generations, generations.writing(name), name)
        node = Node.of_dataset(name)
        sources = {
            (flow.source.writer, flow.dataset)
            for generation in walk
            for flow in generations.flows(generation)
        }
        contains = any((writer, named.name) in sources for writer in named.writers)
        if node.type == "dataset" and node in current:
            assert contains
            assert not {(node_id(node), True), (node_id(node), False)} & clean
        elif (node_id(node), True) in clean:
            assert not contains


def _check_readers(state: State, named: Version) -> None:
    generations = generations_of(state)
    readers = readers_of(generations, named)
    primary = state.identity.primary
    for reader in readers.found:
        own = reader.generation.runs
        reported = {
            name
            for run in own
            for spelled, use in run.inputs.items()
            if primary(spelled) == named.name
            for name in use.version_names
        }
        assert (named.version in reported) if reader.by == "version" else True
        read = reader.generation, *reader.generation.queries.values()
        sources = {flow.source.original for g in read for flow in generations.flows(g)}
        writers = _whole(named)
        assert sources & writers or not writers or reader.generation in writers
    exact = {
        run.key
        for run in state.runs.values()
        for spelled, use in run.inputs.items()
        if primary(spelled) == named.name and named.version in use.version_names
        if named.name in generations.own(run).reads
    }
    assert bool(exact) == any(reader.by == "version" for reader in readers.found)
    answer = version_answer(state, f"{_node_of(named)}@{named.version}")
    assert (answer["wasRead"] == "unknown") == (not readers.found)
    assert answer["readers"] or "no_reader" in {gap["kind"] for gap in answer["unknown"]}


def _node_of(named: Version) -> str:
    return node_id(Node.of_dataset(named.name))


_ONE_OUTPUT_REPLACED = [
    run_of("p", "columns", ["db|a"], ["db|a", "db|b"]),
    run_of("p", "plain", ["db|a"], ["db|b"]),
]

_READ_BEFORE_IT_WAS_REPLACED = [
    run_of("p", "plain", ["db|a"], ["db|a", "db|b"]),
    run_of("p", "columns", ["db|a", "db|b"], ["db|a"]),
    run_of("p", "plain", [], ["db|a"]),
]


@settings(max_examples=60)
@given(runs=RUNS)
@example(runs=_ONE_OUTPUT_REPLACED)
@example(runs=_READ_BEFORE_IT_WAS_REPLACED)
def test_impact_and_upstream_columns_are_inverse(runs: list[dict[str, Any]], build: Any) -> None:
    """Without renames: which columns a renamed table had can be known only from its readers."""
    runs = [run for run in runs if run["kind"] not in _RENAMING]
    state = build.state(*events_of(build, runs))
    above, below = set(), set()
    for name in _datasets(state):
        for field in _fields(state, name, "up"):
            (column,) = columns_answer(state, name, field)["up"]["children"]
            above |= {(*source, name, field) for source in _columns_above(column)}
        for field in _fields(state, name, "down"):
            affected = impact_answer(state, name, field)["affected"]
            below |= {(name, field, item["id"], item["field"]) for item in affected}
    forward, backward = ({pair for pair in found if pair[0] != pair[2]} for found in (above, below))
    assert forward == backward


_RENAMING = {"SQL alter", "RENAME", "dataset renamed", "script swap", "script keeps former"}


def _fields(state: State, name: str, way: Literal["up", "down"]) -> list[str]:
    answer = columns_answer(state, name, direction=way)
    top = answer["up"] if way == "up" else answer["down"]
    return [column["field"] for column in top["children"]]


def _columns_above(node: Any) -> Iterator[tuple[str, str]]:
    for child in node["children"]:
        yield child["id"], child["field"]
        yield from _columns_above(child)
