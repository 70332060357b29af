"""Explicit lineage: every example of the proposal, and its interaction with other events.

The examples are those of OpenLineage, proposals/explicit_lineage_facet (Examples.md).
"""

from __future__ import annotations

from typing import Any

import pytest

from headwater.errors import NotFoundError
from headwater.lineage.queries import columns_answer, edges_answer, graph_answer, tree_answer
from headwater.plugins.impact.queries import impact_answer, path_answer
from headwater.plugins.provenance.queries import provenance_answer
from headwater.projection.live import Batch, Live
from headwater.query.parameters import LevelName
from headwater.query.registry import moment_of
from packages.headwater.tests.support.explicit import (
    DB,
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


def edges(state: Any) -> set[str]:
    result = set()
    for edge in edges_answer(state, "task", "data")["items"]:
        names = edge["dataset"]["name"], edge["job"]["name"]
        result.add(" > ".join(names if edge["direction"] == "reads" else reversed(names)))
    for edge in edges_answer(state, "task", "direct")["items"]:
        result.add(f"{edge['upstream']['name']} > {edge['downstream']['name']}")
    return result


def drawn(state: Any, node: str) -> set[str]:
    """Return the edges that the page draws around a node."""
    result = graph_answer(state, node, up=9, down=9)["edges"]
    ends = [[edge[end].rpartition(":")[2] for end in ("from", "to")] for edge in result]
    return {" > ".join(names) for names in ends}


def above(state: Any, node: str, level: LevelName | None = None) -> set[str]:
    return below_leaf(tree_answer(state, node, "up", level=level)["up"])


def below(state: Any, node: str, level: LevelName | None = None) -> set[str]:
    return below_leaf(tree_answer(state, node, "down", level=level)["down"])


def below_leaf(leaf: Json) -> set[str]:
    return {name for child in leaf["children"] for name in {child["name"], *below_leaf(child)}}


def columns(state: Any, node: str) -> list[str]:
    results = []
    for leaf in columns_answer(state, node, indirect=True)["up"]["children"]:
        for child in leaf["children"]:
            kind = "" if child["isDirect"] else " (indirect)"
            source = f"{child['name']}.{child['field'] or ''}{kind}"
            results.append(f"{leaf['field'] or '.'} < {source} {child['transformation']}")
    return sorted(results)


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_of_the_proposal_are_parsed(name: str, live: Live, build: Any) -> None:
    example = EXAMPLES[name]
    live.ingest(Batch([build.entry(event) for event in example.events]))
    expected = set(example.edges.split(", "))
    with live.reading() as state:
        assert edges(state) == expected
        for node, names in example.up.items():
            assert above(state, node) == set(names.split())
            assert drawn(state, node) <= expected
        for node, sources in example.columns.items():
            assert columns(state, node) == sources
        before = moment_of(state, "2026-03-25T10:59:59Z")
        then = moment_of(state, NOON)
    with live.reading(before) as state:
        assert edges(state) == set()
    with live.reading(then) as state:
        assert edges(state) == expected


def test_page_draws_only_sources_of_a_node(build: Any) -> None:
    state = build.state(*EXAMPLES["1 dataset-level lineage"].events)
    assert drawn(state, "c") == {"a > bulk_etl", "bulk_etl > c"}
    assert drawn(state, "b") == {"b > bulk_etl", "bulk_etl > d"}
    assert below(state, "a") == {"bulk_etl", "c"}
    alone = graph_answer(state, "job:etl:bulk_etl", up=9, down=9)
    assert len(alone["nodes"]) == 5
    over = graph_answer(state, "c", up=9, down=9, datasets=True)
    assert [(edge["from"][-1], edge["to"][-1]) for edge in over["edges"]] == [("a", "c")]


def sources(answer: Json) -> set[str]:
    """Return the sources of the outputs of jobs in a graph answer."""
    return {
        f"{source['job'].split(':')[-1]}: "
        + " > ".join(
            " ".join(node.split(":")[-1] for node in source[side]) for side in ("inputs", "outputs")
        )
        for source in answer["sources"]
    }


def test_graph_has_the_inputs_of_every_output(build: Any) -> None:
    pairs = [into(dataset(end), dataset(start)) for start, end in ("ac", "ae", "bd")]
    state = build.state(
        run_event("bulk_etl", *pairs, reads="a b", writes="c d e extra"),
        run_event("plain", reads="c", writes="f", run="2"),
    )
    every = {"bulk_etl: a > c e", "bulk_etl: b > d", "bulk_etl:  > extra"}
    assert sources(graph_answer(state, "bulk_etl", down=3)) == every
    assert sources(graph_answer(state, "c", up=9)) == {"bulk_etl: a > c"}
    assert sources(graph_answer(state, "c", up=9, datasets=True)) == set()
    assert sources(graph_answer(state, "bulk_etl", datasets=True)) == every
    assert sources(graph_answer(state, "plain")) == set()


def test_nodes_linked_to_a_split_job_have_all_edges(build: Any) -> None:
    state = build.state(
        run_event("up", reads="a", run="1", time="2026-03-25T11:00:00Z"),
        run_event(
            "mid", into(dataset("c"), job("up"), dataset("b")), into(dataset("d"), dataset("x")),
            writes="c d", run="2", time="2026-03-25T11:10:00Z",
        ),
        run_event("last", into(dataset("e"), job("mid")), writes="e", run="3"),
    )  # fmt: skip
    assert sources(graph_answer(state, "mid")) == {
        "mid: b up > c",
        "mid: x up > d",
        "mid: b x up > last",
    }


def test_impact_path_and_provenance_follow_explicit_edges(build: Any) -> None:
    state = build.state(*EXAMPLES["1 dataset-level lineage"].events)
    assert [item["name"] for item in impact_answer(state, "a")["affected"]] == ["bulk_etl", "c"]
    assert [item["name"] for item in path_answer(state, "a", "c")["path"]] == ["a", "bulk_etl", "c"]
    with pytest.raises(NotFoundError, match="no lineage path between"):
        path_answer(state, "a", "d")
    result = provenance_answer(state, "c")
    assert [source["name"] for source in result["sources"]] == ["a"]
    (run,) = result["runs"]
    assert [item["name"] for item in (*run["inputs"], *run["outputs"])] == ["a", "c"]


def test_input_without_entry_has_no_edge(build: Any) -> None:
    state = build.state(
        run_event("j", into(dataset("c"), dataset("a")), reads="a lookup", writes="c extra")
    )
    assert edges(state) == {"a > j", "lookup > j", "j > c", "j > extra"}
    assert above(state, "c") == {"j", "a"}
    assert below(state, "lookup") == {"j"}
    assert above(state, "extra") == {"j"}  # an output in no entry is produced by the job alone


def test_entries_of_one_run_are_merged(build: Any) -> None:
    first = run_event("j", into(dataset("c"), dataset("a")), time="2026-03-25T11:00:00Z")
    second = run_event("j", into(dataset("c"), dataset("b")), into(dataset("d"), dataset("b")))
    for events in ((first, second), (second, first)):
        state = build.state(*events)
        assert above(state, "c") == {"j", "a", "b"}
        assert above(state, "d") == {"j", "b"}


def test_later_job_event_replaces_declared_lineage(build: Any) -> None:
    events = [
        job_event("j", into(dataset("c"), dataset("a")), time="2026-03-25T11:00:00Z"),
        job_event("j", into(dataset("c"), dataset("b"))),
    ]
    for order in (events, events[::-1]):
        assert edges(build.state(*order)) == {"b > j", "j > c"}


def test_later_dataset_event_replaces_the_sources_of_a_view(build: Any) -> None:
    events = [
        dataset_event("view", dataset("a"), time="2026-03-25T11:00:00Z"),
        dataset_event("view", dataset("b")),
    ]
    for order in (events, events[::-1]):
        assert edges(build.state(*order)) == {"b > view"}
    assert edges(build.state(*events, dataset_event("view", time="2026-03-25T13:00:00Z"))) == set()


def test_view_connects_the_jobs_around_it(build: Any) -> None:
    state = build.state(
        run_event("load", reads="file", writes="base"),
        run_event("load_other", reads="other_file", writes="other"),
        dataset_event("view", dataset("base")),
        run_event("make", reads="view", writes="report"),
    )
    assert above(state, "report") == {"make", "view", "base", "load", "file"}
    assert below(state, "file") == {"load", "base", "view", "make", "report"}
    assert drawn(state, "view") == {
        "file > load", "load > base", "base > view", "view > make", "make > report",
    }  # fmt: skip
    result = provenance_answer(state, "report")
    assert [source["name"] for source in result["sources"]] == ["file"]
    assert [run["job"]["name"] for run in result["runs"]] == ["make", "load"]


def test_dataset_can_be_derived_from_a_job(build: Any) -> None:
    state = build.state(run_event("up", reads="a"), dataset_event("view", job("up")))
    assert edges(state) == {"a > up", "up > view"}
    assert above(state, "view") == {"up", "a"}
    assert below(state, "a") == {"up", "view"}


def test_column_lineage_passes_through_a_view(build: Any) -> None:
    view = {"total": {"inputs": [dataset("base", field="amount")]}}
    state = build.state(
        {"eventTime": NOON, "dataset": {
            "namespace": DB, "name": "view", "facets": {"lineage": {"fields": view}}}},
    )  # fmt: skip
    assert columns(state, "view") == ["total < base.amount "]
    affected = impact_answer(state, "base", "amount")["affected"]
    assert [(item["name"], item["field"]) for item in affected] == [("view", "total")]
