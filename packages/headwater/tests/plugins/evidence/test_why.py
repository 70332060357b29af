"""Evidence of edges: their sources, the runs that report them, and the grade that follows."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.errors import ConfigError, NotFoundError
from headwater.lineage.queries import columns_answer, graph_answer, tree_answer
from headwater.plugins.evidence.printing import print_why
from headwater.plugins.evidence.queries import why_answer
from headwater.projection import State

_DBT = "https://github.com/OpenLineage/OpenLineage/tree/1.54.0/integration/dbt"
_AIRFLOW = "https://github.com/apache/airflow/tree/providers-openlineage/2.20.3"
_NS = "postgres://h:5432"


def _load(build: Any, run: str, time: str, sources: str, sql: str = "", **more: Any) -> Any:
    reads = tuple(f"{_NS}|d.s.{name}" for name in sources.split())
    target = more.pop("writes", "out")
    event = build.run("COMPLETE", run, more.pop("job", "load"), time, reads=reads, **more)
    event["outputs"] = [build.dataset(f"{_NS}|d.s.{target}")]
    event["job"]["facets"]["jobType"] = {"_producer": _DBT, "integration": "DBT"}
    if sql:
        event["job"]["facets"]["sql"] = {"query": sql}
    return event


_SQL = "create table d.s.out as select x as y from d.s.a"


def _graded(state: State, node: str, evidence: Any = None) -> dict[str, str]:
    found: dict[str, str] = {}
    open_ = [tree_answer(state, node, evidence=evidence)["up"]]
    while open_:
        for child in open_.pop()["children"]:
            found[child["name"].rpartition(".")[2]] = child["grade"]
            open_.append(child)
    return found


def test_grade_of_an_edge_follows_from_its_independent_sources(build: Any) -> None:
    state = build.state(_load(build, "1", "08:00:00", "a b", _SQL))
    # The text names `a` and `out`; it is complete and lacks `b`.
    assert _graded(state, "out") == {"load": "verified", "a": "verified", "b": "contradicted"}
    assert _graded(state, "out", "verified") == {"load": "verified", "a": "verified"}
    assert _graded(state, "out", "contradicted") == {}
    plain = build.state(_load(build, "1", "08:00:00", "a"))
    assert _graded(plain, "out") == {"load": "reported", "a": "reported"}


def test_two_producers_of_one_task_verify_an_edge(build: Any) -> None:
    task = _load(build, "1", "08:00:00", "a")
    query = _load(build, "2", "08:00:10", "a", job="load.query", parent=("1", "load"))
    task["job"]["facets"]["jobType"] |= {"integration": "AIRFLOW", "jobType": "TASK"}
    query["job"]["facets"]["jobType"] |= {"integration": "SPARK", "jobType": "SQL_JOB"}
    same = build.state(task, query)
    assert _graded(same, "out")["a"] == "reported"
    query["job"]["facets"]["jobType"]["_producer"] = _AIRFLOW
    assert _graded(build.state(task, query), "out")["a"] == "verified"


def test_edge_that_three_finished_runs_lack_is_stale(build: Any) -> None:
    runs = [_load(build, "0", "08:00:00", "a", writes="old")]
    runs += [_load(build, str(hour), f"0{hour}:00:00", "a") for hour in (1, 2)]
    runs[0]["eventTime"] = runs[1]["eventTime"].replace("T01", "T00")
    assert _graded(build.state(*runs), "old")["load"] == "reported"
    runs.append(_load(build, "3", "03:00:00", "a"))
    state = build.state(*runs)
    assert _graded(state, "old")["load"] == "stale"
    (job,) = why_answer(state, "load", "old")["jobs"]
    assert (job["grade"], job["runCount"], job["missedCount"]) == ("stale", 1, 3)


def test_why_lists_the_runs_and_what_they_state(build: Any) -> None:
    texts = ("", _SQL, _SQL)
    events = [_load(build, str(n), f"0{n}:00:00", "a", sql) for n, sql in enumerate(texts)]
    state = build.state(*events)
    for pair in (("a", "out"), ("out", "a")):
        answer = why_answer(state, *pair, limit=2)
        assert (answer["source"], answer["target"]) == (
            f"dataset:{_NS}:d.s.a", f"dataset:{_NS}:d.s.out"
        )  # fmt: skip
        (job,) = answer["jobs"]
        assert (job["runCount"], job["grade"]) == (3, "verified")
        sources = [
            {"kind": "datasets", "producer": "dbt 1.54.0"},
            {"kind": "sql", "producer": None},
        ]
        assert job["statedBy"] == sources
        assert [run["statedBy"] for run in job["runs"]] == [sources, sources]
        assert job["runs"][0]["run"]["startedAt"] == job["seen"]["last"]
        assert job["runs"][0]["run"]["runId"] in job["runs"][0]["events"]
    (oldest,) = why_answer(state, "a", "out")["jobs"]
    assert oldest["runs"][-1]["statedBy"] == sources[:1]


_CLIENT = "https://github.com/OpenLineage/OpenLineage/tree/1.54.0/client/python"


@pytest.mark.parametrize(
    ("producer", "integration", "name"),
    [
        (_AIRFLOW, "AIRFLOW", "providers-openlineage 2.20.3"),
        (_CLIENT, "DBT", "dbt 1.54.0"),
        (_CLIENT, "", "openlineage-python 1.54.0"),
        ("https://github.com/headwater-lineage/headwater/tree/0.1.0", "HEADWATER",
         "headwater-client 0.1.0"),
        ("https://github.com/acme/loader/tree/v2", "", "loader v2"),
        ("https://acme.example/loader", "", "loader"),
        ("loader", "", "loader"),
    ],
)  # fmt: skip
def test_producers_have_names(producer: str, integration: str, name: str, build: Any) -> None:
    event = _load(build, "1", "08:00:00", "a")
    event["job"]["facets"]["jobType"] = {"_producer": producer, "integration": integration}
    (job,) = why_answer(build.state(event), "a", "out")["jobs"]
    assert [item["producer"] for item in job["statedBy"]] == [name]


def test_why_of_columns_counts_only_runs_with_that_edge(build: Any) -> None:
    first = _load(build, "1", "08:00:00", "a")
    lineage = {
        "fields": {"y": {"inputFields": [{"namespace": _NS, "name": "d.s.a", "field": "x"}]}}
    }
    first["outputs"][0]["facets"] = {"columnLineage": lineage}
    second = _load(build, "2", "09:00:00", "a", _SQL)
    second["outputs"][0]["facets"] = {"columnLineage": lineage}
    state = build.state(first, second, _load(build, "3", "10:00:00", "a"))
    (job,) = why_answer(state, "a", "out", "x", "y")["jobs"]
    assert [[item["kind"] for item in run["statedBy"]] for run in job["runs"]] == [
        ["columns", "sql"],
        ["columns"],
    ]
    assert (job["runCount"], job["missedCount"], job["grade"]) == (2, 1, "verified")
    with pytest.raises(NotFoundError, match="no edge between"):
        why_answer(state, "a", "out", "x", "z")
    with pytest.raises(ConfigError, match="expected both or none"):
        why_answer(state, "a", "out", "x")


def test_columns_can_be_filtered_by_evidence(build: Any) -> None:
    event = _load(build, "1", "08:00:00", "a", _SQL)
    inputs = [{"namespace": _NS, "name": "d.s.a", "field": "x"}]
    event["outputs"][0]["facets"] = {"columnLineage": {"fields": {"y": {"inputFields": inputs}}}}
    state = build.state(event)
    for evidence, count in ((None, 1), ("verified", 1), ("reported", 0)):
        (column,) = columns_answer(state, "out", evidence=evidence)["up"]["children"]
        assert len(column["children"]) == count, evidence


def test_nodes_without_an_edge_have_no_evidence(build: Any) -> None:
    state = build.state(
        _load(build, "1", "08:00:00", "a"),
        _load(build, "2", "09:00:00", "out", job="k", writes="c"),
    )
    with pytest.raises(NotFoundError, match="`path` finds"):
        why_answer(state, "a", "c")


_PAIRS = {
    "sources unknown": {"a": "possible", "b": "possible"},
    "explicit": {"a": "reported"},
    "explicit of one output": {"a": "reported"},
    "columns": {"a": "reported"},
    "several": {"a": "possible", "b": "possible"},
    "one input": {"a": "reported"},
    "two queries": {"a": "possible", "b": "possible"},
}


def _assert_grades_of_graph(case: str, state: State) -> None:
    graph = graph_answer(state, "out", 2)
    read = {edge["from"][-1]: edge["grade"] for edge in graph["edges"] if "job" in edge["to"]}
    expected = dict(_PAIRS[case])
    if case == "sources unknown":
        expected["b"] = "reported"  # as it feeds the other output
    assert expected.items() <= read.items()
    assert {edge["grade"] for edge in graph["edges"] if "job" in edge["from"]} == {"reported"}


@pytest.mark.parametrize("case", _PAIRS)
def test_edge_that_no_source_states_is_only_possible(case: str, build: Any) -> None:
    reads, other = "a" if case == "one input" else "a b", build.dataset(f"{_NS}|d.s.other")
    event = _load(build, "1", "08:00:00", reads)
    event["outputs"].append(other)
    events, (out, _) = [event], event["outputs"]

    def entry(target: Any, *names: str) -> Any:
        inputs = [{"type": "DATASET", "namespace": _NS, "name": f"d.s.{name}"} for name in names]
        named = {"namespace": target["namespace"], "name": target["name"]}
        return {"type": "DATASET", **named, "inputs": inputs}

    facets = event["job"]["facets"]
    if case == "sources unknown":
        out["facets"]["headwater_coarseLineage"] = {"isCoarse": True}
        facets["lineage"] = {"entries": [entry(out, "a", "b"), entry(other, "b")]}
    elif case.startswith("explicit"):
        facets["lineage"] = {"entries": [entry(out, "a"), entry(other, "b")]}
        if case == "explicit of one output":
            other["facets"]["headwater_coarseLineage"] = {"isCoarse": True}
    elif case == "columns":
        for item, name in ((out, "a"), (other, "b")):
            fields = [{"namespace": _NS, "name": f"d.s.{name}", "field": "x"}]
            item["facets"]["columnLineage"] = {"fields": {"y": {"inputFields": fields}}}
    elif case == "two queries":
        event["inputs"], event["outputs"] = [], []
        facets["jobType"] |= {"integration": "AIRFLOW", "jobType": "TASK"}
        parts: tuple[tuple[str, list[Any]], ...] = ("a b", []), ("", [out, other])
        for number, (names, outputs) in enumerate(parts):
            part = _load(
                build, f"q{number}", "08:00:10", names, job=f"q{number}", parent=("1", "load")
            )
            part["outputs"] = outputs
            part["job"]["facets"]["jobType"] |= {"integration": "SPARK", "jobType": "SQL_JOB"}
            events.append(part)
    state = build.state(*events)
    assert _graded(state, "out") == {"load": "reported", **_PAIRS[case]}
    for name, grade in _PAIRS[case].items():
        (job,) = why_answer(state, name, "out")["jobs"]
        assert (job["grade"], [item["kind"] for item in job["statedBy"]]) == (
            grade, ["datasets" if grade == "possible" or case == "one input" else
                    case.split(" ")[0]],
        )  # fmt: skip
        (down,) = tree_answer(state, name, "down")["down"]["children"]
        (child,) = (item for item in down["children"] if item["name"].endswith("out"))
        assert child["grade"] == grade
        assert (name in _graded(state, "out", "reported")) is (grade == "reported")
    (job,) = why_answer(state, "load", "out")["jobs"]
    assert job["grade"] == "reported"
    _assert_grades_of_graph(case, state)


_LISTENER = "https://github.com/OpenLineage/OpenLineage/tree/1.53.0/integration/spark"
_COMMIT = {"icebergCommitReport": {"commitMetrics": {"addedRecords": 1, "totalRecords": 2}}}


@pytest.mark.parametrize(
    ("job", "time", "reads", "facets", "grade"),
    [
        ("spark", "09:00:00", "b", {}, "possible"),
        ("load", "09:00:00", "a", {}, "reported"),
        ("spark", "07:00:00", "b", {}, "reported"),
        ("spark", "09:00:00", "b out", {}, "reported"),
        ("spark", "09:00:00", "b", _COMMIT, "reported"),
    ],
    ids=["by another job", "by the same job", "before", "of read rows", "with a commit report"],
)
def test_write_that_spark_may_have_overwritten_is_possible(
    job: str, time: str, reads: str, facets: Any, grade: str, build: Any
) -> None:
    overwrite = _load(build, "2", time, reads, job=job)
    overwrite["outputs"][0] |= {
        "facets": {
            "lifecycleStateChange": {
                "_producer": _LISTENER, "lifecycleStateChange": "OVERWRITE",
            }
        },
        "outputFacets": facets,
    }  # fmt: skip
    state = build.state(_load(build, "1", "08:00:00", "a"), overwrite)
    graded = _graded(state, "out")
    assert (graded["load"], graded[job]) == (grade, grade if job == "load" else "reported")
    (found,) = why_answer(state, "load", "out")["jobs"]
    assert found["grade"] == grade
    (pair,) = why_answer(state, "a", "out")["jobs"]
    assert (pair["grade"], pair["replaced"]) == (grade, found["replaced"])
    assert found["replaced"] == ("maybe" if grade == "possible" else None)
    (down,) = tree_answer(state, "a", "down")["down"]["children"]
    assert [child["grade"] for child in down["children"]] == [grade]
    written = {
        edge["from"].rpartition(":")[2]: edge["grade"]
        for edge in graph_answer(state, "out", 2)["edges"]
        if "job" in edge["from"]
    }
    assert written["load"] == grade
    assert written[job] == (grade if job == "load" else "reported")


@pytest.mark.parametrize(
    ("kind", "later", "replaced"),
    [
        ("OVERWRITE", "job", "yes"),
        ("OVERWRITE", "load", "yes"),
        ("TRUNCATE", "job", "yes"),
        ("DROP", "job", "yes"),
        ("ALTER", "job", None),
    ],
)
def test_why_says_that_the_written_rows_were_replaced(
    kind: str, later: str, replaced: str | None, build: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    change = _load(build, "2", "09:00:00", "b", job=later)
    change["outputs"][0]["facets"] = {"lifecycleStateChange": {"lifecycleStateChange": kind}}
    events = [_load(build, "1", "08:00:00", "a"), change]
    state = build.state(*events)
    for source in ("load", "a") if later == "job" else ("a",):
        (job,) = why_answer(state, source, "out")["jobs"]
        assert (job["replaced"], job["grade"]) == (replaced, "reported")
    print_why(why_answer(state, "a", "out"))
    line = "the rows that it wrote were replaced or removed since"
    assert (line in capsys.readouterr().out) is (replaced == "yes")
    (read,) = why_answer(state, "a", "load")["jobs"]
    assert read["replaced"] is None
    again = _load(build, "3", "10:00:00", "a")
    (job,) = why_answer(build.state(*events, again), "a", "out")["jobs"]
    assert job["replaced"] is None


@pytest.mark.parametrize("kind", ["renamed", "derived"])
def test_why_of_columns_finds_edges_without_a_run(kind: str, build: Any) -> None:
    field = {"namespace": _NS, "name": "d.s.out", "field": "x"}
    facets: dict[str, dict[str, Any]] = {
        "renamed": {
            "lifecycleStateChange": {
                "lifecycleStateChange": "RENAME",
                "previousIdentifier": {"namespace": _NS, "name": "d.s.out"},
            }
        },
        "derived": {"columnLineage": {"fields": {"x": {"inputFields": [field]}}}},
    }
    event = {
        "eventTime": "2025-11-21T10:00:00Z",
        "producer": "https://acme.example/catalog",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/DatasetEvent",
        "dataset": build.dataset(f"{_NS}|d.s.later", **facets[kind]),
    }
    state = build.state(_load(build, "1", "08:00:00", "a"), event)
    (job,) = why_answer(state, "out", "later", "x", "x")["jobs"]
    assert job["job"] is None
    assert [item["kind"] for item in job["statedBy"]] == ["declared"]
    with pytest.raises(NotFoundError, match="no edge between"):
        why_answer(state, "out", "later", "z", "x")


def test_why_does_not_say_that_a_rename_replaced_its_own_rows(build: Any) -> None:
    load = build.run("COMPLETE", "1", "load", "08:00:00", reads=("db|a",), writes=("db|new",))
    rename = build.run("COMPLETE", "2", "rename", "09:00:00", writes=("db|t",))
    change = {
        "lifecycleStateChange": "RENAME",
        "previousIdentifier": {"namespace": "db", "name": "new"},
    }
    rename["outputs"][0]["facets"]["lifecycleStateChange"] = change
    (job,) = why_answer(build.state(load, rename), "db/new", "db/t")["jobs"]
    assert (job["replaced"], job["grade"]) == (None, "reported")
