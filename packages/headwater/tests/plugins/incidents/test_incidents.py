"""Incidents: from a failed check or a bad version to its cause, its users and what to do."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.errors import NotFoundError
from headwater.plugins.incidents.printing import print_incident
from headwater.plugins.incidents.queries import incident_answer
from packages.headwater.tests.support.reports import coded, versioned


def _day(build: Any, day: int, *, is_passed: bool = True, commit: str = "c1") -> list[Any]:
    """Return the events of a load, a check and a training, all with versions of what they used."""
    hour, facets = f"1{day}", {"reads": ("db|raw",)}
    dag = (f"d{day}", "ingest")
    load = build.run("COMPLETE", f"l{day}", "ingest.load", f"{hour}:00:00", parent=dag,
                     kind="AIRFLOW/TASK", reads=("file|/in",), writes=("db|raw",))  # fmt: skip
    check = build.run("COMPLETE", f"c{day}", "ingest.check", f"{hour}:10:00", parent=dag,
                      kind="AIRFLOW/TASK", **facets)  # fmt: skip
    assertion = {"assertion": "not_null", "column": "fare", "success": is_passed}
    check["inputs"][0]["inputFacets"] = {"dataQualityAssertions": {"assertions": [assertion]}}
    train = build.run("COMPLETE", f"t{day}", "Flow.train", f"{hour}:20:00",
                      parent=(f"f{day}", "Flow"), kind="METAFLOW/STEP", writes=("mf|model",),
                      **facets)  # fmt: skip
    report = build.run("COMPLETE", f"r{day}", "report", f"{hour}:30:00", reads=("mf|model",))
    names = {"/in": f"in{day}", "raw": f"v{day}", "model": f"m{day}"}
    flow = build.run("COMPLETE", f"f{day}", "Flow", f"{hour}:25:00", kind="METAFLOW/FLOW")
    flow["job"]["facets"]["ownership"] = {"owners": [{"name": "ml"}]}
    flow["job"]["facets"]["sourceCodeLocation"] = {"type": "git", "path": "flows/flow.py"}
    train["job"]["facets"]["ownership"] = {"owners": [{"name": "ml"}]}
    parameters = [{"name": "days", "value": 3}]
    flow["run"]["facets"]["executionParameters"] = {"parameters": parameters}
    return [
        build.run("COMPLETE", *dag, f"{hour}:15:00", kind="AIRFLOW/DAG"),
        versioned(coded(load, commit), **names),
        versioned(check, **names),
        flow,
        versioned(train, **names),
        versioned(report, **names),
    ]


def _names(answer: Any, part: str) -> list[str]:
    return [item["name"] for item in answer[part]]


def test_failed_check_leads_to_the_cause_the_users_and_the_commands(
    build: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    state = build.state(*_day(build, 0), *_day(build, 1, is_passed=False, commit="c2"))
    for subject in ("dataset:db:raw", "ingest.check", "c1", "d1", "raw@v1"):
        answer = incident_answer(state, subject)
        (bad,) = answer["versions"]
        assert (bad["version"], bad["by"]) == ("v1", "version")
        assert bad["checks"] == ["not_null of fare"]
    assert [writer["run"]["runId"] for writer in bad["writers"]] == ["l1"]
    (change,) = answer["changes"]
    assert change["code"] == {"before": "c1", "after": "c2"}
    assert [(i["name"], i["before"], i["after"]) for i in change["inputs"]] == [
        ("/in", ["in0"], ["in1"])
    ]
    assert {reader["run"]["runId"] for reader in answer["readers"]} == {"c1", "t1"}
    assert {node["name"]: node["isCurrent"] for node in answer["affected"]} == {
        "ingest.check": True, "model": True, "report": True,
    }  # fmt: skip
    assert answer["owners"] == [{"owner": "ml", "nodes": ["dataset:mf:model"]}]
    assert [rerun["command"] for rerun in answer["reruns"]] == [
        "airflow dags trigger ingest",
        "python flows/flow.py run --days 3",
    ]
    assert "ml: model" in answer["message"]
    assert answer["clean"] == []
    assert [gap["kind"] for gap in answer["unknown"]] == ["no_owner"]
    print_incident(answer)
    shown = capsys.readouterr().out
    assert "c1 → c2" in shown
    assert "python flows/flow.py run --days 3" in shown


def test_replaced_data_is_clean_only_if_versions_and_commits_prove_it(build: Any) -> None:
    events = [*_day(build, 0), *_day(build, 1)]
    answer = incident_answer(build.state(*events), "raw@v0")
    assert {(n["name"], n["isCurrent"]) for n in answer["affected"] if n["type"] == "dataset"} == {
        ("model", False)
    }
    assert {(c["name"], c["isProven"]) for c in answer["clean"]} == {
        ("raw", False),
        ("model", False),
    }
    assert "; 0 nodes contain or use its data now, or may do so." in answer["message"]
    for event in events:
        for output in event["outputs"]:
            metrics = {"addedRecords": 1, "totalRecords": 1}
            output["outputFacets"] = {"icebergCommitReport": {"commitMetrics": metrics}}
    answer = incident_answer(build.state(*events), "raw@v0")
    assert {(c["name"], c["isProven"]) for c in answer["clean"]} == {("raw", True), ("model", True)}
    assert answer["reruns"] == []


def test_reader_without_a_version_is_not_proven_clean(build: Any) -> None:
    """It may have read the bad version of a source that no known run wrote."""
    audit = build.run("COMPLETE", "a", "audit", "08:00:00", reads=("db|raw",))
    train = build.run("COMPLETE", "t", "train", "09:00:00", reads=("db|raw",))
    train["outputs"] = [build.dataset("mf|model", datasetType={"datasetType": "MODEL"})]
    answer = incident_answer(build.state(versioned(audit, raw="v0"), train), "raw@v0")
    assert [(c["name"], c["isProven"]) for c in answer["clean"]] == [("model", False)]


def test_dataset_that_kept_bad_rows_is_not_clean(build: Any) -> None:
    events = [*_day(build, 0), *_day(build, 1)]
    for output in (output for event in events for output in event["outputs"]):
        metrics = {"addedRecords": 1, "totalRecords": 2}
        output["outputFacets"] = {"icebergCommitReport": {"commitMetrics": metrics}}
    answer = incident_answer(build.state(*events), "raw@v0")
    assert answer["clean"] == []
    assert {n["name"] for n in answer["affected"] if n["isCurrent"]} >= {"raw", "model"}


def test_incident_says_what_is_unknown(build: Any) -> None:
    load = build.run("COMPLETE", "l", "load", "08:00:00", writes=("db|t",))
    check = build.run("COMPLETE", "c", "check", "09:00:00", reads=("db|t",))
    assertion = {"assertion": "unique", "success": False}
    check["inputs"][0]["inputFacets"] = {"dataQualityAssertions": {"assertions": [assertion]}}
    answer = incident_answer(build.state(load, check), "dataset:db:t")
    assert answer["versions"][0]["by"] == "time"
    assert {gap["kind"] for gap in answer["unknown"]} == {
        *("no_version", "by_time", "by_time_downstream", "checked_by_time", "no_previous"),
        *("no_owner", "no_command"),
    }
    assert answer["reruns"][0]["command"] is None
    unread = incident_answer(build.state(load), "l")
    assert "No run is known to have read it" in unread["message"]
    assert "no_reader" in {gap["kind"] for gap in unread["unknown"]}


def test_dbt_models_are_built_again_by_name(build: Any) -> None:
    model = build.run("COMPLETE", "m", "p.orders.build.run", "08:00:00", parent=("inv", "dbt"),
                      kind="DBT/MODEL", writes=("db|shop.orders",))  # fmt: skip
    top = build.run("COMPLETE", "inv", "dbt", "08:10:00", kind="DBT/JOB")
    (rerun,) = incident_answer(build.state(top, model), "shop.orders@m")["reruns"]
    assert rerun["command"] == "dbt build --select orders"


def _models(build: Any, **kinds: str | None) -> list[Any]:
    """Return an invocation of dbt that builds each model from the one before it."""
    events = [build.run("COMPLETE", "inv", "dbt", "09:00:00", kind="DBT/JOB")]
    above = "raw"
    for minute, (name, kind) in enumerate(kinds.items()):
        event = build.run(
            "COMPLETE", f"r_{name}", f"p.{name}", f"08:{minute:02}:00", parent=("inv", "dbt"),
            kind="DBT/MODEL", reads=(f"db|shop.{above}",),
        )  # fmt: skip
        model = {"dbt_model": {"config": {"materialized": kind}}} if kind else {}
        events.append(event | {"outputs": [build.dataset(f"db|shop.{name}", **model)]})
        above = name
    return events


@pytest.mark.parametrize(
    ("kinds", "command", "keeping"),
    [
        ({"a": "table", "b": "table"}, "dbt build --select a b", []),
        ({"a": "incremental", "b": "table"}, "dbt build --select a b --full-refresh", []),
        ({"a": "table", "v": "view", "c": "table"}, "dbt build --select a c", []),
        ({"a": "table", "v": "view"}, "dbt build --select a", []),
        ({"a": "view", "b": "table"}, "dbt build --select a b", []),
        ({"a": "table", "s": "snapshot"}, "dbt build --select a s", ["p.s"]),
        ({"a": "table", "b": None}, "dbt build --select a b", ["p.b"]),
    ],
)
def test_dbt_models_that_keep_rows_are_built_anew_and_views_not_at_all(
    kinds: dict[str, str | None], command: str, keeping: list[str], build: Any
) -> None:
    answer = incident_answer(build.state(*_models(build, **kinds)), "shop.a@r_a")
    assert [rerun["command"] for rerun in answer["reruns"]] == [command]
    gaps = {gap["kind"]: [job["name"] for job in gap["jobs"]] for gap in answer["unknown"]}
    assert gaps.get("keeps_rows", []) == keeping


@pytest.mark.parametrize("reads", [("db|src", "db|t"), ("db|src",)])
def test_job_that_merges_into_its_table_may_keep_bad_rows(
    reads: tuple[str, ...], build: Any
) -> None:
    merge = build.run("COMPLETE", "m", "merge", "08:00:00", reads=reads, writes=("db|t",))
    if len(reads) == 1:  # the producer does not report that it reads its own table
        merge["job"]["facets"]["sql"] = {"query": "insert into t select x from src"}
    copy = build.run("COMPLETE", "c", "copy", "09:00:00", reads=("db|t",), writes=("db|u",))
    answer = incident_answer(build.state(merge, copy), "t@m")
    (gap,) = (gap for gap in answer["unknown"] if gap["kind"] == "keeps_rows")
    assert [job["name"] for job in gap["jobs"]] == ["merge"]


def test_names_in_commands_are_quoted(build: Any) -> None:
    dag = build.run(
        "COMPLETE", "d", "x; rm -rf ~", "08:00:00", kind="AIRFLOW/DAG", writes=("db|t",)
    )
    (rerun,) = incident_answer(build.state(dag), "d")["reruns"]
    assert rerun["command"] == "airflow dags trigger 'x; rm -rf ~'"


@pytest.mark.parametrize(
    ("subject", "message"),
    [
        ("raw", "no check of dataset:db:raw fails now"),
        ("raw@9", "no run reported version '9' of raw"),
        ("r0", "run r0 is not known to have written anything or failed a check"),
        ("nothing", "no job or dataset is called 'nothing'"),
    ],
)
def test_errors_state_what_to_give(build: Any, subject: str, message: str) -> None:
    with pytest.raises(NotFoundError, match=message):
        incident_answer(build.state(*_day(build, 0)), subject)


def test_unreported_commits_and_versions_are_no_difference(build: Any) -> None:
    """Two runs that reported neither their commit nor the versions of inputs differ in nothing."""
    loads = [
        build.run("COMPLETE", f"l{day}", "load", f"0{day}:00:00", reads=("db|in",),
                  writes=("db|out",))
        for day in (1, 2)
    ]  # fmt: skip
    (change,) = incident_answer(build.state(*loads), "out@l2")["changes"]
    assert (change["previous"], change["code"], change["inputs"]) == ("l1", None, [])
