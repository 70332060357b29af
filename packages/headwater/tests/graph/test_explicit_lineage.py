"""Explicit lineage: every example of the proposal, and its interaction with other events.

The examples are those of OpenLineage, proposals/explicit_lineage_facet (Examples.md).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from headwater.errors import NotFoundError
from headwater.lineage.queries import columns_answer, edges_answer, graph_answer, tree_answer
from headwater.plugins.impact.queries import impact_answer, path_answer
from headwater.plugins.provenance.queries import provenance_answer
from headwater.projection.live import Batch, Live
from headwater.query.parameters import LevelName
from headwater.query.registry import moment_of

Json = dict[str, Any]

DB, ETL = "postgres://db:5432", "etl"
NOON = "2026-03-25T12:00:00Z"


def dataset(name: str, **more: Any) -> Json:
    return {"namespace": DB, "name": name, "type": "DATASET", **more}


def job(name: str = "", **more: Any) -> Json:
    """Return a job of an entry; without a name, the event's own job."""
    return {"type": "JOB", **({"namespace": ETL, "name": name} if name else {}), **more}


def into(target: Json, *inputs: Json, **more: Any) -> Json:
    return {**target, "inputs": list(inputs), **more}


def how(type_: str, subtype: str, **more: str) -> list[Json]:
    return [{"type": type_, "subtype": subtype, **more}]


def run_event(
    name: str,
    *entries: Json,
    reads: str = "",
    writes: str = "",
    run: str = "1",
    time: str = NOON,
    facets: Json | None = None,
) -> Json:
    """Return a COMPLETE event; `reads` and `writes` are names separated by spaces."""
    lineage = {"lineage": {"entries": list(entries)}} if entries else {}
    return {
        "eventType": "COMPLETE",
        "eventTime": time,
        "run": {"runId": run},
        "job": {"namespace": ETL, "name": name, "facets": {**lineage, **(facets or {})}},
        "inputs": [{"namespace": DB, "name": item} for item in reads.split()],
        "outputs": [{"namespace": DB, "name": item} for item in writes.split()],
    }


def job_event(name: str, *entries: Json, **more: Any) -> Json:
    event = run_event(name, *entries, **more)
    return {key: event[key] for key in ("eventTime", "job", "inputs", "outputs")}


def dataset_event(name: str, *inputs: Json, time: str = NOON, **more: Any) -> Json:
    facets = {"lineage": {"inputs": list(inputs), **more}}
    return {"eventTime": time, "dataset": {"namespace": DB, "name": name, "facets": facets}}


@dataclass
class Example:
    """Events and the expected responses."""

    events: list[Json]
    edges: str
    """Every edge of the graph, as `a > b`."""
    up: dict[str, str] = field(default_factory=dict)
    """The upstream tree of nodes."""
    columns: dict[str, list[str]] = field(default_factory=dict)
    """The columns of datasets and their inputs; a dot alone means all rows."""


EXAMPLES = {
    "1 dataset-level lineage": Example(
        [
            run_event(
                "bulk_etl",
                into(dataset("c"), dataset("a")),
                into(dataset("d"), dataset("b")),
                reads="a b",
                writes="c d",
            )
        ],
        "a > bulk_etl, b > bulk_etl, bulk_etl > c, bulk_etl > d",
        {"c": "a bulk_etl", "d": "b bulk_etl"},
    ),
    "2 column-level lineage": Example(
        [
            run_event(
                "analytics_etl",
                {
                    **dataset("output"),
                    "fields": {
                        "total": {
                            "inputs": [
                                dataset(
                                    "input",
                                    field="amount",
                                    transformations=how("DIRECT", "AGGREGATION"),
                                )
                            ]
                        }
                    },
                },
            )
        ],
        "input > analytics_etl, analytics_etl > output",
        {"output": "analytics_etl input"},
        {"output": ["total < input.amount AGGREGATION"]},
    ),
    "3 mixed granularity": Example(
        [
            run_event(
                "mixed",
                into(
                    dataset("x"),
                    dataset("a"),
                    dataset("a", field="g", transformations=how("INDIRECT", "GROUP_BY")),
                    fields={
                        "col1": {"inputs": [dataset("a", field="col_a")]},
                        "col2": {"inputs": [dataset("a")]},
                    },
                ),
                reads="a",
                writes="x",
            )
        ],
        "a > mixed, mixed > x",
        {"x": "a mixed"},
        {
            "x": [
                "col1 < a.col_a ",
                "col1 < a.g (indirect) GROUP_BY",
                "col2 < a. ",
                "col2 < a.g (indirect) GROUP_BY",
            ]
        },
    ),
    "4 dataset to dataset": Example(
        [dataset_event("view", dataset("customers"), dataset("orders"))],
        "customers > view, orders > view",
        {"view": "customers orders"},
    ),
    "5 static job lineage": Example(
        [job_event("daily", into(dataset("out"), dataset("in")), reads="in", writes="out")],
        "in > daily, daily > out",
        {"out": "daily in"},
    ),
    "6 data sink": Example(
        [run_event("fraud_detector", reads="transactions")],
        "transactions > fraud_detector",
        {"job:etl:fraud_detector": "transactions"},
    ),
    "7 data generator": Example(
        [run_event("extract", writes="extracted")],
        "extract > extracted",
        {"extracted": "extract"},
    ),
    "8 enriched generator": Example(
        [
            run_event(
                "extract",
                into(
                    dataset("extracted"),
                    fields={
                        "total": {
                            "inputs": [
                                job(
                                    transformations=how(
                                        "DIRECT", "AGGREGATION", description="sum()"
                                    )
                                )
                            ]
                        }
                    },
                ),
                writes="extracted",
            )
        ],
        "extract > extracted",
        {"extracted": "extract"},
        {"extracted": []},
    ),
    "9 job to job, declared": Example(
        [job_event("dag_b", into(job("dag_b.task_1"), job("dag_a.task_3")))],
        "dag_a.task_3 > dag_b.task_1",
        {"job:etl:dag_b.task_1": "dag_a.task_3"},
    ),
    "10 job to job, observed": Example(
        [
            run_event("dag_a.task_3", run="a42", reads="a", time="2026-03-25T11:00:00Z"),
            run_event(
                "dag_b.task_1",
                into(job("dag_b.task_1", runId="b1"), job("dag_a.task_3", runId="a42")),
                run="b1",
            ),
        ],
        "a > dag_a.task_3, dag_a.task_3 > dag_b.task_1",
        {"job:etl:dag_b.task_1": "a dag_a.task_3"},
    ),
    "11 job to job, across namespaces": Example(
        [
            run_event(
                "enrichment",
                into(
                    job("enrichment", runId="1"),
                    {"type": "JOB", "namespace": "flink://ingest", "name": "normalizer"},
                ),
            )
        ],
        "normalizer > enrichment",
        {"job:etl:enrichment": "normalizer"},
    ),
    "12 structured to unstructured": Example(
        [
            run_event(
                "export",
                into(dataset("r.pdf"), dataset("x", field="A"), dataset("x", field="B")),
                reads="x",
                writes="r.pdf",
            )
        ],
        "x > export, export > r.pdf",
        {"r.pdf": "export x"},
        {"r.pdf": [". < x.A ", ". < x.B "]},
    ),
}


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
