"""Impact of changes, and paths between nodes."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.errors import NotFoundError
from headwater.plugins.impact.printing import print_impact
from headwater.plugins.impact.queries import impact_answer, path_answer
from headwater.projection import State
from packages.headwater.tests.support.columns import (
    FILTER,
    IDENTITY,
    SPARK,
    SUM,
    derive,
    filtered,
)


@pytest.fixture
def state(build: Any) -> State:
    owned = build.run("COMPLETE", "3", "report", "10:00:00", reads=("db|day",))
    owned["job"]["facets"]["ownership"] = {"owners": [{"name": "team:bi"}, {"name": "ann"}]}
    owned["outputs"] = [build.dataset("db|page", ownership={"owners": [{"name": "ann"}, {}]})]
    return build.state(
        derive(build, "1", "08", "load", raw__id=[("file.id", IDENTITY)],
               raw__fare=[("file.fare", IDENTITY)]),
        derive(build, "2", "09", "sum", day__fare=[("raw.fare", SUM), ("raw.id", FILTER)]),
        owned,
        build.run("COMPLETE", "4", "else", "08:00:00", reads=("db|x",), writes=("db|y",)),
    )  # fmt: skip


def _ways(answer: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [(item["distance"], item["name"], item["owners"]) for item in answer["affected"]]


def test_impact_lists_downstream_nodes_nearest_first_with_owners(
    state: State,
) -> None:
    assert _ways(impact_answer(state, "raw")) == [
        (1, "sum", []),
        (2, "day", []),
        (3, "report", ["ann", "team:bi"]),
        (4, "page", ["ann"]),
    ]
    (near,) = impact_answer(state, "raw", depth=1)["affected"]
    assert (near["name"], near["run"]["state"]) == ("sum", "COMPLETED")
    assert impact_answer(state, "page")["affected"] == []
    assert _ways(impact_answer(state, "job:demo:report")) == [(1, "page", ["ann"])]


@pytest.mark.parametrize(
    ("written", "read", "named"),
    [
        ("sftp://b|in/day=1/a.csv", "sftp://b|in", ["read (in)"]),
        ("sftp://b|/d/in", "sftp://b|/d/in/a.csv", ["read (/d/in/a.csv)"]),
        ("s3://b|raw/a", "s3://b|raw/ab", []),
        ("s3://b|raw/a", "s3://c|raw", []),
        ("db|raw.a", "db|raw", []),
    ],
)
def test_impact_names_readers_of_folders_and_parts_as_unknown(
    written: str, read: str, named: list[str], build: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    events = [
        build.run("COMPLETE", "1", "load", "08:00:00", reads=("db|a",), writes=(written,)),
        build.run("COMPLETE", "2", "read", "09:00:00", reads=(read,), writes=("db|out",)),
    ]
    node = f"dataset:{written.replace('|', ':')}"
    answer = impact_answer(build.state(*events), node)
    assert [reason["message"].partition(": ")[2] for reason in answer["unknown"]] == [
        f"{name}." for name in named
    ]
    print_impact(answer)
    assert ("Possibly affected" in capsys.readouterr().out) is bool(named)
    # A job that reads the dataset itself too is affected, and therefore not unknown.
    events[1]["inputs"].append(build.dataset(written))
    for level in ("pipeline", "task", "query"):
        assert not impact_answer(build.state(*events), node, level=level)["unknown"]


def test_impact_of_a_pipeline_is_that_of_its_tasks(build: Any) -> None:
    events = [
        build.run("COMPLETE", "d", "dag", "08:00:00", kind="AIRFLOW/DAG"),
        build.run("COMPLETE", "t", "dag.t", "08:01:00", parent=("d", "dag"), kind="AIRFLOW/TASK",
                  reads=("db|a",), writes=("db|b",)),
    ]  # fmt: skip
    assert _ways(impact_answer(build.state(*events), "job:demo:dag", level="task")) == [
        (0, "dag.t", []),
        (1, "b", []),
    ]


def test_column_impact_separates_direct_and_indirect_dependents(state: State) -> None:
    def reached(field: str) -> list[list[tuple[Any, ...]]]:
        answer = impact_answer(state, "file", field)
        keys = ("distance", "name", "field", "transformation", "job")
        return [
            [tuple(item[key] for key in keys) for item in answer[part]]
            for part in ("affected", "indirect")
        ]

    assert reached("fare") == [
        [(1, "raw", "fare", "IDENTITY", "load"), (2, "day", "fare", "AGGREGATION", "sum")],
        [],
    ]
    assert reached("id") == [
        [(1, "raw", "id", "IDENTITY", "load")],
        [(2, "day", "fare", "FILTER", "sum")],
    ]
    assert impact_answer(state, "day", "fare")["affected"] == []  # a known column, the last one
    with pytest.raises(NotFoundError, match="file has a column 'nix'; reported: fare"):
        impact_answer(state, "file", "nix")


def test_grouping_column_affects_every_column_indirectly(build: Any) -> None:
    answer = impact_answer(build.state(filtered(build)), "raw", "zone")
    assert answer["affected"] == []
    assert [
        (item["name"], item["field"], item["transformation"]) for item in answer["indirect"]
    ] == [
        ("day", "fare", "GROUP_BY"),
        ("day", "note", "GROUP_BY"),
    ]
    assert answer["possible"] == []


def test_readers_without_column_lineage_are_possibly_affected(
    state: State,
) -> None:
    def possible(node: str, field: str) -> list[tuple[int, str]]:
        result = impact_answer(state, node, field)["possible"]
        return [(item["distance"], item["name"]) for item in result]

    assert possible("day", "fare") == [(1, "report"), (2, "page")]
    assert possible("file", "fare") == [(5, "report"), (6, "page")]  # through raw and day


def _verdict(state: State, node: str, field: str, **options: int) -> tuple[str, list[str]]:
    drop = impact_answer(state, node, field, **options)["drop"]
    return drop["verdict"], [reason["kind"] for reason in drop["reasons"]]


def test_column_with_dependents_is_not_safe_to_drop(state: State) -> None:
    assert _verdict(state, "file", "fare") == ("unsafe", ["values", "no_column_lineage"])
    assert _verdict(state, "raw", "id", depth=1) == ("unsafe", ["rows"])
    assert impact_answer(state, "raw", "id")["drop"]["reasons"][0]["message"] == (
        "1 column depends on rows that it filters, joins, groups or sorts: day.fare."
    )
    assert "drop" not in impact_answer(state, "raw", "id", depth=0)
    assert "drop" not in impact_answer(state, "raw")


def test_column_is_safe_to_drop_if_every_reader_reported_other_columns(
    build: Any,
) -> None:
    event = derive(build, "1", "08", "sum", day__fare=[("raw.fare", SUM)])
    schema = {"fields": [{"name": "fare"}, {"name": "note"}]}
    event["inputs"] = [build.dataset("db|raw", schema=schema)]
    event["outputs"][0]["facets"]["schema"] = schema
    state = build.state(event)
    assert _verdict(state, "raw", "note") == ("safe", ["unused"])
    assert _verdict(state, "day", "note") == ("safe", ["no_readers"])


@pytest.mark.parametrize(
    ("producer", "verdict"),
    [
        ("https://github.com/OpenLineage/OpenLineage/tree/1.18.0/integration/spark", "safe"),
        ("https://github.com/OpenLineage/OpenLineage/tree/1.9.1/integration/spark", "unknown"),
        ("https://github.com/OpenLineage/OpenLineage/tree/1.54.0/integration/dbt", "unknown"),
        ("https://github.com/apache/airflow/tree/providers-openlineage/2.20.3", "unknown"),
        ("https://example.org/own", "unknown"),
        (None, "unknown"),
    ],
)
def test_column_is_safe_to_drop_only_if_the_producer_reports_every_use(
    producer: str | None, verdict: str, build: Any
) -> None:
    event = derive(build, "1", "08", "sum", day__fare=[("raw.fare", SUM)])
    event["outputs"][0]["facets"]["columnLineage"]["_producer"] = producer
    schema = {"fields": [{"name": "fare"}, {"name": "note"}]}
    event["inputs"] = [build.dataset("db|raw", schema=schema)]
    drop = impact_answer(build.state(event), "raw", "note")["drop"]
    assert drop["verdict"] == verdict
    if verdict == "unknown":
        (reason,) = drop["reasons"]
        assert reason["kind"] == "values_only"
        assert reason["message"].endswith(
            {"dbt": "sum (dbt 1.54.0).", "air": "sum (providers-openlineage 2.20.3)."}.get(
                "dbt" if "dbt" in str(producer) else "air" if "airflow" in str(producer) else "",
                reason["message"],
            )
        )


@pytest.mark.parametrize(
    ("column", "schema", "used", "verdict"),
    [
        ("note", None, None, ("unknown", ["no_schema"])),
        ("note", ["note"], None, ("safe", ["no_readers"])),
        ("note", None, "other", ("unknown", ["no_schema"])),
        ("note", None, "NOTE", ("unknown", ["no_schema", "spelling"])),
        ("note", ["note"], "NOTE", ("unknown", ["spelling"])),
        ("note", ["note", "NOTE"], "NOTE", ("safe", ["unused"])),
        ("note", ["note", "other"], "other", ("safe", ["unused"])),
    ],
)
def test_column_that_only_its_writer_names_is_not_known_to_be_safe(
    column: str, schema: Any, used: str | None, verdict: Any, build: Any
) -> None:
    events = [derive(build, "1", "08", "load", raw__note=[("file.note", SUM)])]
    if schema:
        fields = {"fields": [{"name": name} for name in schema]}
        events[0]["outputs"][0]["facets"]["schema"] = fields
    if used:
        events.append(derive(build, "2", "09", "sum", day__fare=[(f"raw.{used}", SUM)]))
        facet = events[1]["outputs"][0]["facets"]["columnLineage"]
        facet["_producer"] = (
            "https://github.com/OpenLineage/OpenLineage/tree/1.54.0/integration/spark"
        )
    assert _verdict(build.state(*events), "raw", column) == verdict


@pytest.mark.parametrize(
    ("reads", "writes", "hour", "verdict"),
    [
        (("db|raw",), (), "09", ("unknown", ["unknown_use"])),  # collected by the driver
        (("db|other",), (), "09", ("safe", ["unused"])),
        ((), ("db|maximum",), "09", ("unknown", ["unknown_use"])),  # of what was collected before
        ((), ("db|seed",), "07", ("safe", ["unused"])),
    ],
)
def test_query_of_unknown_use_makes_the_verdict_unknown(
    reads: tuple[str, ...], writes: tuple[str, ...], hour: str, verdict: Any, build: Any
) -> None:
    application = build.run("COMPLETE", "app", "app", "07:00:00", kind="SPARK/APPLICATION")
    query = {"parent": ("app", "app"), "kind": "SPARK/SQL_JOB"}
    load = build.run("COMPLETE", "1", "app.load", "08:00:00", reads=("db|raw",), **query)
    load["inputs"][0]["facets"]["schema"] = {"fields": [{"name": "fare"}, {"name": "note"}]}
    load["outputs"] = derive(build, "1", "08", "app.load", day__fare=[("raw.fare", SUM)])["outputs"]
    other = build.run(
        "COMPLETE", "2", "app.q", f"{hour}:00:00", reads=reads, writes=writes, **query
    )
    state = build.state(application, load, other)
    assert _verdict(state, "raw", "note") == verdict


@pytest.mark.parametrize(
    ("dataset", "reads", "text", "verdict"),
    [
        ("file|/lake/day/1.csv", "file|/lake/day", "", "unknown"),
        ("file|/lake/day", "file|/lake/day/1.csv", "", "unknown"),
        ("file|/lake/day/1.csv", "file|/lake/da", "", "safe"),
        ("db|s.raw", "db|s.other", "(SELECT max(note) FROM cat.s.raw)", "unknown"),
        ("db|s.raw", "db|s.other", "(SELECT max(note) FROM raw)", "unknown"),
        ("db|s.raw", "db|t.other", "(SELECT max(note) FROM raw)", "safe"),
        ("db|s.raw", "db|s.other", "(SELECT max(note) FROM u.raw)", "safe"),
        ("db|s.raw", "db|s.other", "(SELECT max(id) FROM s.raw)", "safe"),
        ("db|s.raw", "db|s.other", "(SELECT * FROM s.raw)", "unknown"),
    ],
)
def test_job_that_may_read_a_dataset_without_listing_it_makes_the_verdict_unknown(
    dataset: str, reads: str, text: str, verdict: str, build: Any
) -> None:
    load = build.run("COMPLETE", "1", "load", "08:00:00")
    load["outputs"] = [build.dataset(dataset, schema={"fields": [{"name": "note"}]})]
    other = build.run("COMPLETE", "2", "other", "09:00:00", reads=(reads,), writes=(f"{reads}_x",))
    query = f"{{{{ macro() }}}} SELECT id FROM other WHERE id IN {text}"  # a template is not read
    other["job"]["facets"]["sql"] = {"query": query}
    name = dataset.partition("|")[2]
    assert _verdict(build.state(load, other), name, "note")[0] == verdict


@pytest.mark.parametrize(
    ("namespace", "text", "materialized", "verdict"),
    [
        ("postgres://h", "create view v as with r as (select * from s.t) select id from r", "",
         "unknown"),
        ("postgres://h", 'with r as (select * from "s"."t") select id from r', "view", "unknown"),
        ("postgres://h", "with r as (select * from s.t) select id from r", "table", "safe"),
        ("postgres://h", "select id, (select count(*) from s.t) from s.t", "view", "safe"),
        ("duckdb://h", "with r as (select * from s.t) select id from r", "view", "safe"),
    ],
)  # fmt: skip
def test_view_with_a_star_makes_the_verdict_unknown_where_it_uses_all_columns(
    namespace: str, text: str, materialized: str, verdict: str, build: Any
) -> None:
    fields = {"fields": [{"name": "id"}, {"name": "note"}]}
    view = build.run("COMPLETE", "1", "view", "09:00:00")
    view["inputs"] = [build.dataset(f"{namespace}|s.t", schema=fields)]
    model = {"config": {"materialized": materialized}}
    view["outputs"] = [build.dataset(f"{namespace}|s.v", dbt_model=model)]
    view["job"]["facets"]["sql"] = {"query": text}
    assert _verdict(build.state(view), "s.t", "note")[0] == verdict


@pytest.mark.parametrize(
    ("producer", "is_listed", "verdict"),
    [(SPARK, True, "safe"), (SPARK, False, "safe"), ("https://example.org", True, "unknown")],
)
def test_columns_of_a_job_event_are_used(
    producer: str, is_listed: bool, verdict: str, build: Any
) -> None:
    load = build.run("COMPLETE", "1", "load", "08:00:00")
    fields = [{"name": "fare"}, {"name": "note"}]
    load["outputs"] = [build.dataset("db|raw", schema={"fields": fields})]
    old, declared = (derive(build, "", hour, "sum", day__fare=[(source, SUM)])
                     for hour, source in (("08", "raw.note"), ("09", "raw.fare")))  # fmt: skip
    for event in (old, declared):
        del event["eventType"], event["run"]
        event["outputs"][0]["facets"]["columnLineage"]["_producer"] = producer
    declared["inputs"] = declared["inputs"] if is_listed else []
    for events in ([load, old, declared], [declared, old, load]):
        state = build.state(*events)
        assert [e["name"] for e in impact_answer(state, "raw", field="fare")["affected"]] == ["day"]
        assert _verdict(state, "raw", "fare")[0] == "unsafe"
        assert _verdict(state, "raw", "note")[0] == verdict


def test_missing_column_lineage_makes_the_verdict_unknown(state: State) -> None:
    assert _verdict(state, "day", "fare") == ("unknown", ["no_column_lineage", "no_schema"])


@pytest.mark.parametrize(
    ("end", "verdict"), [(None, "unknown"), ("FAIL", "unknown"), ("COMPLETE", "safe")]
)
def test_reader_without_a_completed_run_makes_the_verdict_unknown(
    end: str | None, verdict: str, build: Any
) -> None:
    def event(type_: str, hour: str) -> Any:
        written = derive(build, "1", hour, "sum", day__fare=[("raw.fare", SUM)])
        schema = {"fields": [{"name": "fare"}, {"name": "note"}]}
        written["inputs"] = [build.dataset("db|raw", schema=schema)]
        return written | {"eventType": type_}

    events = [event("START", "08"), *([event(end, "09")] if end else [])]
    assert _verdict(build.state(*events), "raw", "note")[0] == verdict


def test_failed_newest_run_does_not_hide_the_lineage_of_a_completed_one(build: Any) -> None:
    done = derive(build, "1", "08", "sum", day__fare=[("raw.fare", SUM)])
    schema = {"fields": [{"name": "fare"}, {"name": "note"}]}
    done["inputs"] = [build.dataset("db|raw", schema=schema)]
    failed = derive(build, "2", "09", "sum", day__fare=[("raw.fare", SUM)])
    failed |= {"eventType": "FAIL"}
    assert _verdict(build.state(done, failed), "raw", "note")[0] == "safe"


def test_dataset_named_like_a_pipeline_is_no_job(build: Any) -> None:
    parent = {"parent": ("p", "shop"), "kind": "AIRFLOW/TASK"}
    state = build.state(
        build.run("START", "p", "shop", "08:00:00", kind="AIRFLOW/DAG"),
        build.run("COMPLETE", "1", "report", "08:01:00", reads=("demo|shop",), writes=("db|r",)),
        build.run("COMPLETE", "2", "shop.copy", "09:00:00", reads=("db|r",), writes=("db|c",),
                  **parent),
    )  # fmt: skip
    found = impact_answer(state, "dataset:demo:shop")["affected"]
    assert [(node["distance"], node["name"]) for node in found] == [
        (1, "report"), (2, "r"), (3, "shop.copy"), (4, "c")
    ]  # fmt: skip


def test_dataset_has_the_owners_of_its_jobs(build: Any) -> None:
    owned = build.run("COMPLETE", "1", "load", "10:00:00", reads=("db|a",), writes=("db|b",))
    owned["job"]["facets"]["ownership"] = {"owners": [{"name": "team:bi"}]}
    job, dataset = impact_answer(build.state(owned), "a")["affected"]
    assert (job["kind"], dataset["kind"]) == ("job", "table")
    assert (dataset["owners"], dataset["jobOwners"]) == ([], ["team:bi"])
    assert dataset["writtenBy"]["runId"] == job["run"]["runId"] == "1"


def test_path_is_shortest_in_either_direction(
    state: State,
) -> None:
    way = ["file", "load", "raw", "sum", "day", "report", "page"]
    for nodes, is_reversed in ((("file", "page"), False), (("page", "file"), True)):
        answer = path_answer(state, *nodes)
        assert [node["name"] for node in answer["path"]] == way
        assert answer["isReversed"] is is_reversed
    itself = path_answer(state, "raw", "raw")
    assert ([node["name"] for node in itself["path"]], itself["isReversed"]) == (["raw"], False)
    with pytest.raises(NotFoundError, match="between dataset:db:raw and dataset:db:y at"):
        path_answer(state, "raw", "y")


@pytest.mark.parametrize(("column", "verdict"), [(None, "unknown"), ("fare", "safe")])
def test_column_below_a_view_is_safe_only_if_the_view_states_its_columns(
    column: str | None, verdict: str, build: Any
) -> None:
    load = derive(build, "1", "08", "load", raw__fare=[("file.fare", SUM)])
    fields = {"fields": [{"name": "fare"}, {"name": "note"}]}
    load["outputs"][0]["facets"]["schema"] = fields
    source = {"type": "DATASET", "namespace": "db", "name": "raw"}
    own = {"inputs": [source]} if column is None else {
        "fields": {column: {"inputs": [{**source, "field": column}]}}
    }  # fmt: skip
    view = {
        "eventTime": "2025-11-21T09:00:00Z",
        "producer": "https://example.org/tests",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/DatasetEvent",
        "dataset": build.dataset("db|view", lineage=own),
    }
    state = build.state(load, view)
    assert _verdict(state, "raw", "note")[0] == verdict


@pytest.mark.parametrize(
    ("used", "verdicts"),
    [
        ("addr.city", {"addr": "unsafe", "addr.city": "unsafe", "addr.zip": "safe"}),
        ("addr", {"addr": "unsafe", "addr.city": "unknown", "addr.zip": "unknown"}),
    ],
)
def test_use_of_a_part_is_a_use_of_the_whole_column(
    used: str, verdicts: dict[str, str], build: Any
) -> None:
    """A use of the whole column may use any part. The use may be of a copy of the column."""
    load = build.run("COMPLETE", "0", "load", "08:00:00", writes=("db|raw",))
    parts = [{"name": "city"}, {"name": "zip"}]
    schema = {"fields": [{"name": "addr", "type": "struct", "fields": parts}]}
    load["outputs"][0]["facets"]["schema"] = schema
    copy = derive(build, "1", "09", "copy", copied__addr=[("raw.addr", SUM)])
    use = derive(build, "2", "10", "use", day__city=[("raw.addr", SUM)])
    later = derive(build, "3", "11", "later", later__city=[("copied.addr", SUM)])
    for event in (use, later):
        fields = event["outputs"][0]["facets"]["columnLineage"]["fields"]
        fields["city"]["inputFields"][0]["field"] = used
    state = build.state(load, use)
    assert {f: impact_answer(state, "raw", f)["drop"]["verdict"] for f in verdicts} == verdicts
    affected = impact_answer(build.state(load, copy, later), "raw", "addr")["affected"]
    assert [f"{node['name']}.{node['field']}" for node in affected] == ["copied.addr", "later.city"]


def test_column_that_a_job_uses_for_another_column_of_its_table_is_not_safe(build: Any) -> None:
    load = build.run("COMPLETE", "0", "load", "08:00:00", writes=("db|day",))
    load["outputs"][0]["facets"]["schema"] = {"fields": [{"name": "fare"}, {"name": "total"}]}
    update = derive(build, "1", "09", "update", day__total=[("day.fare", SUM)])
    update["inputs"] = []  # as for UPDATE day SET total = fare
    assert _verdict(build.state(load, update), "day", "fare")[0] == "unsafe"
    keep = derive(build, "1", "09", "keep", day__total=[("day.total", SUM)])
    keep["inputs"] = []
    assert _verdict(build.state(load, keep), "day", "fare")[0] == "safe"


def test_unknown_verdict_names_only_the_jobs_without_column_lineage(build: Any) -> None:
    """The job `model`, which reads the copy, reports its columns."""
    state = build.state(
        derive(build, "1", "08", "load", a__y=[("file.y", IDENTITY)]),
        build.run("COMPLETE", "2", "copy", "09:00:00", reads=("db|a",), writes=("db|b",)),
        derive(build, "3", "10", "model", c__x=[("b.x", IDENTITY)]),
    )
    answer = impact_answer(state, "db:a", "y")
    assert {"copy", "model"} <= {node["name"] for node in answer["possible"]}
    (reason,) = [r for r in answer["drop"]["reasons"] if r["kind"] == "no_column_lineage"]
    assert reason["message"] == "1 downstream node reported no column lineage: copy."


def test_unknown_verdict_names_the_producer_that_reported_no_column_lineage(build: Any) -> None:
    copy = build.run("COMPLETE", "2", "copy", "09:00:00", reads=("db|a",), writes=("db|b",))
    producer = "https://github.com/OpenLineage/OpenLineage/tree/1.40.1/integration/flink"
    copy["job"]["facets"]["jobType"] = {"_producer": producer, "processingType": "BATCH"}
    state = build.state(derive(build, "1", "08", "load", a__y=[("file.y", IDENTITY)]), copy)
    (reason, *_) = impact_answer(state, "db:a", "y")["drop"]["reasons"]
    name = "copy (flink 1.40.1)"
    assert reason["message"] == f"1 downstream node reported no column lineage: {name}."
