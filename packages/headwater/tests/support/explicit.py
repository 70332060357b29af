"""Events with explicit lineage: the examples of OpenLineage's proposal (explicit_lineage_facet)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

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
