"""Table versions that a task read and wrote through its queries, in a recorded run."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.errors import NotFoundError
from headwater.graph.current import generations_of
from headwater.lineage.queries import graph_answer, tree_answer
from headwater.nodes.queries import node_answer
from headwater.plugins.changes.printing import print_history
from headwater.plugins.changes.queries import history_answer
from headwater.plugins.provenance.queries import provenance_answer
from headwater.projection import State, apply
from headwater.runs.service import run_answer
from packages.headwater.tests.support.graphs import SQL, TASK, commit
from packages.headwater.tests.support.recording_backend import pipeline


def _reported(table: str) -> list[str]:
    """Return the versions of a table that the events report as written, oldest first."""
    reported = {
        output["facets"]["version"]["datasetVersion"]: None
        for event in pipeline()
        for output in event["outputs"]
        if output["name"].endswith(table) and "version" in output["facets"]
    }
    return list(reported)


(_STAGING,) = _reported("yellow_taxi_staging")
_FIRST_RAW, _RAW = _reported("yellow_taxi_raw")
_QUARANTINE = "nyc_taxi.yellow_taxi_quarantine"


@pytest.fixture(scope="module")
def state(build: Any) -> State:
    event: State = build.state(*pipeline())
    return event


def _run(state: State, job: str) -> Any:
    (key,) = [key for key in state.runs if key.job.name.endswith(job)]
    return run_answer(generations_of(state), key.run_id)


def _met(run: Any, side: str) -> dict[str, Any]:
    return {item["name"].split("/")[-1]: item["version"] for item in run[side]}


def _written(state: State, name: str) -> list[dict[str, Any]]:
    return [item for item in history_answer(state, name, 1000)["items"] if item["done"] == "wrote"]


def test_task_has_the_inputs_and_outputs_of_its_queries(state: State) -> None:
    merge = _run(state, "merge_upsert_staging_into_raw_yellow")
    assert _met(merge, "inputs") == {"nyc_taxi.yellow_taxi_staging": _STAGING}
    assert _met(merge, "outputs") == {"nyc_taxi.yellow_taxi_raw": _RAW}
    stage = _run(state, "ingest_yellow_taxi_data.stage")
    files = {f"yellow_tripdata_2025-0{month}.parquet": None for month in (4, 5)}
    assert _met(stage, "inputs") == files
    assert _met(stage, "outputs") == {"nyc_taxi.yellow_taxi_staging": _STAGING, _QUARANTINE: None}
    created = [item for item in stage["below"] if ".create_table." in item["job"]["name"]]
    assert [_met(item, "outputs") for item in created] == [
        {"nyc_taxi.yellow_taxi_staging": None},
        {_QUARANTINE: None},
    ]


def test_unreported_input_version_is_the_current_one(state: State) -> None:
    check = _run(state, "ingest_yellow_taxi_data.check_staging")
    assert _met(check, "inputs") == {"nyc_taxi.yellow_taxi_staging": _STAGING}


def test_versions_of_runs_match_provenance(state: State) -> None:
    checked, left_out = 0, set()
    for name in ("yellow_rides_hourly_forecast", "weather_raw"):
        for entry in provenance_answer(state, name)["runs"]:
            run = run_answer(generations_of(state), entry["run"]["runId"])
            for side in ("inputs", "outputs"):
                result = {item["name"]: set(item["versions"]) for item in entry[side]}
                assert result.keys() <= {item["name"] for item in run[side]}
                for item in run[side]:
                    if item["name"] not in result:
                        left_out.add((side, item["name"]))
                        continue
                    assert item["version"] in result[item["name"]] | {None}
                    checked += item["version"] is not None
    assert checked > 10
    # The forecast does not depend on it.
    assert left_out == {
        ("outputs", "TrainForecastModelFlow/metrics"),
        ("outputs", "nyc_taxi.yellow_taxi_quarantine"),
    }


def test_write_without_version_is_one_in_provenance_and_history(state: State) -> None:
    (written,) = _written(state, _QUARANTINE)
    for level in ("task", "pipeline"):
        newest = provenance_answer(state, _QUARANTINE, level=level)["runs"][0]
        assert [item["versions"] for item in newest["outputs"] if item["name"] == _QUARANTINE] == [
            [written["version"]]
        ]


def test_reported_versions_are_not_run_ids(state: State) -> None:
    ids = {key.run_id for key in state.runs}
    for key in state.runs:
        run = run_answer(generations_of(state), key.run_id)
        assert not ids & {item["version"] for side in ("inputs", "outputs") for item in run[side]}


def test_version_is_one_entry_with_rows_and_task_run(state: State) -> None:
    (staged,) = _written(state, "yellow_taxi_staging")
    assert (staged["version"], staged["rows"], staged["bytes"]) == (_STAGING, 120_000, 2_739_554)
    assert staged["run"]["job"]["name"] == "ingest_yellow_taxi_data.stage"
    merged = _written(state, "yellow_taxi_raw")
    assert [item["version"] for item in merged] == [_RAW, _FIRST_RAW]
    assert [item["rows"] for item in merged] == [60_000, 60_000]
    names = {item["run"]["job"]["name"] for item in merged}
    assert names == {"ingest_yellow_taxi_data.merge_upsert_staging_into_raw_yellow"}


@pytest.mark.parametrize(
    ("name", "version", "rows"),
    [
        ("yellow_taxi_staging", _STAGING, 120_000),
        ("yellow_taxi_raw", _RAW, 120_000),  # by two commits of one run
        ("nyc_taxi.yellow_rides_hourly_actuals", _reported("actuals")[-1], 27_478),
        ("yellow_rides_hourly_forecast", _reported("forecast")[-1], 1_200),
    ],
)
def test_dataset_has_its_newest_version_and_rows(
    name: str, version: str, rows: int, state: State
) -> None:
    result = node_answer(state, name)
    assert (result["version"], result["rows"]) == (version, rows)
    (drawn,) = [node for node in graph_answer(state, name)["nodes"] if node["id"] == result["id"]]
    assert (drawn["version"], drawn["rows"]) == (version, rows)


def test_write_without_version_belongs_to_the_task(build: Any) -> None:
    task = ("t", "dag.load")
    state = build.state(
        build.run("COMPLETE", *task, "08:03:00", kind="AIRFLOW/TASK", writes=("db|a",)),
        build.run("COMPLETE", "q", "app.q", "08:02:00", parent=task, kind="SPARK/SQL_JOB",
                  writes=("db|a",)),
    )  # fmt: skip
    (entry,) = _written(state, "a")
    assert (entry["version"], entry["run"]["runId"], entry["at"][11:16]) == ("t", "t", "08:03")
    assert _met(run_answer(generations_of(state), "t"), "outputs") == {"a": None}


def test_new_event_updates_the_writes(build: Any) -> None:
    event = build.run("START", "t", "load", "08:00:00", writes=("db|a",))
    state = build.state(event)
    assert [item["version"] for item in _written(state, "a")] == ["t"]
    done = build.run("COMPLETE", "t", "load", "08:01:00")
    done["outputs"] = [build.dataset("db|a", version={"datasetVersion": "7"})]
    apply(state, build.entry(done).event)
    assert [item["version"] for item in _written(state, "a")] == ["7"]


def _tried(build: Any, **output: Any) -> Any:
    """Return a state in which a run wrote a table, a later one failed, and a third read it."""
    failed = build.run("FAIL", "2", "load", "09:01:00")
    return build.state(
        build.run("COMPLETE", "1", "load", "08:00:00", reads=("db|in",), writes=("db|a",)),
        build.run("START", "2", "load", "09:00:00", reads=("db|in",), writes=("db|a",)),
        {**failed, "outputs": [{**build.dataset("db|a"), **output}] if output else []},
        build.run("COMPLETE", "3", "report", "10:00:00", reads=("db|a",), writes=("db|b",)),
    )


def test_run_that_failed_without_rows_is_a_failed_attempt(
    build: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    state = _tried(build)
    history = history_answer(state, "a")
    done = [(item["done"], item["run"]["runId"]) for item in history["items"]]
    assert done == [("failed", "2"), ("wrote", "1")]
    print_history(history)
    assert "failed to write it  by load 2" in capsys.readouterr().out
    assert node_answer(state, "a")["version"] == "1"
    assert [out["hasFailed"] for out in run_answer(generations_of(state), "2")["outputs"]] == [True]
    runs = {entry["run"]["runId"]: entry for entry in provenance_answer(state, "b")["runs"]}
    assert runs["3"]["inputs"][0]["versions"] == ["1"]
    outputs = {id_: (o["versions"], o["hasFailed"]) for id_ in "12" for o in runs[id_]["outputs"]}
    assert outputs == {"1": (["1"], False), "2": ([], True)}
    with pytest.raises(NotFoundError, match="no known run wrote version '2'"):
        provenance_answer(state, "a", "2")


@pytest.mark.parametrize(
    ("output", "version"),
    [
        ({"facets": {"version": {"datasetVersion": "7"}}}, "7"),
        ({"outputFacets": {"outputStatistics": {"rowCount": 5}}}, "2"),
        ({"outputFacets": {"outputStatistics": {"size": 5}}}, "2"),
        ({"outputFacets": {"outputStatistics": {"rowCount": 0}}}, None),
    ],
)
def test_failed_run_that_reported_a_version_or_rows_has_written(
    output: Any, version: str | None, build: Any
) -> None:
    state = _tried(build, **output)
    assert [item["version"] for item in _written(state, "a")] == [version, "1"][version is None :]
    run = run_answer(generations_of(state), "2")
    assert run["outputs"][0]["hasFailed"] is (version is None)


def test_completed_query_of_a_failed_task_has_written(build: Any) -> None:
    task = ("t", "dag.load")
    state = build.state(
        build.run("COMPLETE", "q", "q", "08:01:00", parent=task, kind=SQL, writes=("db|a",)),
        build.run("FAIL", *task, "08:02:00", kind=TASK, writes=("db|a",)),
    )
    (entry,) = history_answer(state, "a")["items"]
    assert (entry["done"], entry["version"], entry["run"]["runId"]) == ("wrote", "q", "t")


def test_failed_stream_has_written(build: Any) -> None:
    event = build.run("FAIL", "s", "stream", "08:00:00", writes=("db|a",), kind="FLINK/JOB")
    event["job"]["facets"]["jobType"]["processingType"] = "STREAMING"
    assert [item["version"] for item in _written(build.state(event), "a")] == ["s"]


def _commits(build: Any, *, is_stated_by_queries: bool) -> list[dict[str, Any]]:
    """Return a task with two commits; on a busy machine, its queries do not name the versions."""
    task: dict[str, Any] = {"parent": ("d", "dag"), "kind": TASK}
    events = []
    for number, version in enumerate("12"):
        query = build.run("COMPLETE", f"q{number}", f"q{number}", f"08:0{number}:10",
                          parent=("t", "dag.merge"), kind=SQL, writes=("db|raw",))  # fmt: skip
        query["outputs"][0]["outputFacets"] = {"outputStatistics": {"rowCount": 60}}
        report = build.run(
            "RUNNING", "t", "dag.merge", f"08:0{number}:20", writes=("db|raw",), **task
        )
        facets = {"version": {"datasetVersion": version}}
        report["outputs"][0]["facets"] = facets
        if is_stated_by_queries:
            query["outputs"][0]["facets"] = facets
        events += [query, commit(report, 60, 60 * (number + 1))]
    return [*events, build.run("COMPLETE", "t", "dag.merge", "08:03:00", **task)]


@pytest.mark.parametrize("is_stated_by_queries", [True, False])
def test_every_commit_of_a_task_is_a_write(build: Any, *, is_stated_by_queries: bool) -> None:
    events = _commits(build, is_stated_by_queries=is_stated_by_queries)
    for ordered in (events, events[::-1]):
        state = build.state(*ordered)
        written = [(item["version"], item["rows"]) for item in _written(state, "raw")]
        assert written == [("2", 60), ("1", 60)]
        assert node_answer(state, "raw")["rows"] == 120
        assert provenance_answer(state, "raw", "1")["runs"][0]["outputs"][0]["versions"] == [
            "1",
            "2",
        ]


def test_stream_keeps_its_newest_versions(build: Any) -> None:
    events = [
        build.run("RUNNING", "s", "stream", f"08:{n // 60:02}:{n % 60:02}", writes=("db|raw",))
        for n in range(150)
    ]
    for number, event in enumerate(events):
        event["outputs"][0]["facets"] = {"version": {"datasetVersion": str(number)}}
    state = build.state(*events)
    assert [item["version"] for item in _written(state, "raw")] == [
        str(n) for n in range(149, 49, -1)
    ]


@pytest.mark.parametrize("rows", [0, 3])
def test_failed_incremental_run_is_upstream_if_it_reported_rows(rows: int, build: Any) -> None:
    events = [
        build.run(state, run, "model", time, reads=(source,), writes=("db|t",))
        for state, run, time, source in (
            ("COMPLETE", "1", "08:00:00", "db|a"),
            ("FAIL", "2", "09:00:00", "db|b"),
            ("COMPLETE", "3", "10:00:00", "db|c"),
        )
    ]
    for event in events:
        (output,) = event["outputs"]
        output["facets"]["dbt_model"] = {"config": {"materialized": "incremental"}}
    if rows:
        events[1]["outputs"][0]["outputFacets"] = {"outputStatistics": {"rowCount": rows}}
    tree = tree_answer(build.state(*events), "db/t")["up"]
    sources = {item["name"] for job in tree["children"] for item in job["children"]}
    assert sources == ({"a", "b", "c"} if rows else {"a", "c"})
