"""Resources of the API: jobs, runs, datasets and others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from fastapi.testclient import TestClient

from headwater.collect.spool import SpoolTail
from headwater.projection.live import Batch, Live
from headwater.server.app import make_app


@pytest.fixture
def client(live: Live) -> Iterator[TestClient]:
    with TestClient(make_app(live), raise_server_exceptions=False) as client:
        yield client


def _take(live: Live, build: Any, *bodies: Any) -> None:
    live.ingest(Batch([build.entry(body) for body in bodies]))


def _versioned(build: Any, name: str, version: str) -> Any:
    return build.dataset(name, version={"datasetVersion": version})


def test_namespaces_are_those_of_jobs_and_datasets(
    live: Live, client: TestClient, build: Any
) -> None:
    _take(live, build, build.run("START", "r", "j", "08:00:00", reads=("s3a://b|k",)))
    result = client.get("/api/v1/namespaces").json()["namespaces"]
    assert [item["name"] for item in result] == ["demo", "s3://b"]
    assert result[0]["createdAt"] == "2025-11-21T08:00:00Z"


def test_jobs_are_paged_last_changed_first(live: Live, client: TestClient, build: Any) -> None:
    _take(live, build, *(build.run("START", f"r{i}", f"j{i}", f"0{i}:00:00") for i in range(5)))
    page = client.get("/api/v1/jobs?limit=2&offset=1").json()
    assert page["totalCount"] == 5
    assert [job["name"] for job in page["jobs"]] == ["j3", "j2"]
    assert client.get("/api/v1/namespaces/demo/jobs?limit=1").json()["totalCount"] == 5


def test_jobs_are_filtered_by_the_state_of_their_last_run(
    live: Live, client: TestClient, build: Any
) -> None:
    _take(
        live,
        build,
        build.run("FAIL", "1", "broken", "08:00:00"),
        build.run("COMPLETE", "2", "mended", "09:00:00"),
        build.run("FAIL", "3", "mended", "08:00:00"),
        build.run("START", "4", "going", "08:00:00"),
    )
    for states, names in (("FAILED", ["broken"]), ("completed", ["mended"])):
        response = client.get("/api/v1/jobs", params={"lastRunStates": states}).json()
        assert [job["name"] for job in response["jobs"]] == names
    both = client.get("/api/v1/jobs?lastRunStates=FAILED&lastRunStates=RUNNING").json()
    assert {job["name"] for job in both["jobs"]} == {"broken", "going"}


def test_runs_of_a_job_are_sorted_newest_first(live: Live, client: TestClient, build: Any) -> None:
    _take(live, build, *(build.run("START", f"r{i}", "j", f"0{i}:00:00") for i in range(4)))
    answer = client.get("/api/v1/namespaces/demo/jobs/j/runs?limit=2&offset=1").json()
    assert ([run["id"] for run in answer["runs"]], answer["totalCount"]) == (["r2", "r1"], 4)


def test_run_and_job_facets_of_all_events_are_kept(
    live: Live, client: TestClient, build: Any
) -> None:
    start = build.run("START", "r", "j", "08:00:00", facets={"nominalTime": {"a": 1}})
    start["job"]["facets"] = {"sql": {"query": "old"}, "documentation": {"description": "d"}}
    end = build.run("COMPLETE", "r", "j", "08:01:00", facets={"errorMessage": {"message": "m"}})
    end["job"]["facets"] = {"sql": {"query": "new"}}
    _take(live, build, end, start)
    run = client.get("/api/v1/jobs/runs/r/facets?type=run").json()["facets"]
    job = client.get("/api/v1/jobs/runs/r/facets?type=job").json()["facets"]
    assert set(run) == {"nominalTime", "errorMessage"}
    assert job == {"sql": {"query": "new"}, "documentation": {"description": "d"}}
    assert client.get("/api/v1/jobs/runs/r/facets?type=odd").status_code == 400


def test_table_versions_come_from_the_version_facet_newest_first(
    live: Live, client: TestClient, build: Any
) -> None:
    bodies = []
    for hour, version in ((8, "111"), (9, "222"), (10, "222")):
        run = build.run("COMPLETE", f"r{hour}", "j", f"{hour:02}:00:00")
        bodies.append({**run, "outputs": [_versioned(build, "db|t", version)]})
    _take(live, build, *bodies[::-1])
    answer = client.get("/api/v1/namespaces/db/datasets/t/versions").json()
    results = [(v["datasetVersion"], v["createdByRun"]["id"]) for v in answer["versions"]]
    assert results == [("222", "r9"), ("111", "r8")]
    current = client.get("/api/v1/namespaces/db/datasets/t").json()["currentVersion"]
    assert current == answer["versions"][0]["version"]
    (written,) = client.get("/api/v1/jobs/runs/r9").json()["outputDatasetVersions"]
    assert written["datasetVersionId"]["version"] == current


def test_iceberg_commit_reports_never_become_a_version(
    live: Live, client: TestClient, build: Any
) -> None:
    run = build.run("COMPLETE", "r", "j", "08:00:00")
    table = build.dataset("db|t", version={"datasetVersion": "2425603946090305288"})
    table["outputFacets"] = {"icebergCommitReport": {"snapshotId": 2.4256039460903053e18}}
    _take(live, build, {**run, "outputs": [table]})
    (version,) = client.get("/api/v1/namespaces/db/datasets/t/versions").json()["versions"]
    assert version["datasetVersion"] == "2425603946090305288"


def test_facets_of_all_names_of_a_dataset_are_shown_together(
    live: Live, client: TestClient, build: Any
) -> None:
    path = build.dataset(
        "file|/wh/t",
        symlinks=[("hive://h", "db.t", "TABLE")],
        schema={"fields": [{"name": "a", "type": "int"}]},
    )
    table = build.dataset("hive://h|db.t", documentation={"description": "trips"})
    first, second = (build.run("COMPLETE", r, "j", "08:00:00") for r in "ab")
    _take(live, build, {**first, "outputs": [path]}, {**second, "inputs": [table]})
    result = client.get("/api/v1/namespaces/hive:%2F%2Fh/datasets").json()["datasets"]
    assert len(result) == 1
    assert (result[0]["description"], result[0]["physicalName"]) == ("trips", "/wh/t")
    assert [field["name"] for field in result[0]["fields"]] == ["a"]
    assert client.get("/api/v1/namespaces/file/datasets").json()["totalCount"] == 0


def test_dataset_event_needs_no_job(live: Live, client: TestClient, build: Any) -> None:
    dataset = build.dataset("db|t", lifecycleStateChange={"lifecycleStateChange": "DROP"})
    _take(live, build, {"eventTime": "2025-11-21T08:00:00Z", "dataset": dataset})
    response = client.get("/api/v1/namespaces/db/datasets/t").json()
    assert (response["deleted"], response["lastLifecycleState"]) == (True, "DROP")


def test_search_finds_jobs_and_datasets_by_any_of_their_names(
    live: Live, client: TestClient, build: Any
) -> None:
    run = build.run("COMPLETE", "r", "load_trips", "08:00:00")
    table = build.dataset("file|/wh/xyz", symlinks=[("hive://h", "db.trips", "TABLE")])
    _take(live, build, {**run, "outputs": [table]})
    response = client.get("/api/v1/search", params={"q": "TRIPS"}).json()
    assert [item["nodeId"] for item in response["results"]] == [
        "dataset:hive://h:db.trips",
        "job:demo:load_trips",
    ]
    assert client.get("/api/v1/search?q=xyz").json()["totalCount"] == 1
    assert client.get("/api/v1/tags").json() == {"tags": []}


def test_lineage_respects_depth_and_level(live: Live, client: TestClient, build: Any) -> None:
    bodies = [
        build.run("COMPLETE", f"r{i}", f"dag.j{i}", "08:00:00", parent=("d", "dag"),
                  kind="AIRFLOW/TASK", reads=(f"db|d{i}",), writes=(f"db|d{i + 1}",))
        for i in range(4)
    ]  # fmt: skip
    _take(live, build, *bodies)
    params: dict[str, str | int] = {"nodeId": "job:demo:dag.j0", "depth": 1}
    graph = client.get("/api/v1/lineage", params=params).json()["graph"]
    names = {node["data"]["name"] for node in graph}
    assert names == {"d0", "d1", "d2", "dag.j0", "dag.j1"}
    rolled = client.get("/api/v1/lineage?nodeId=dataset:db:d2&level=pipeline").json()["graph"]
    assert {node["id"] for node in rolled if node["type"] == "JOB"} == {"job:demo:dag"}


@pytest.mark.each_database
def test_rejected_lines_are_listed_with_their_reason(
    live: Live, client: TestClient, tmp_path: Path
) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'{"eventTime": 1}\n')
    SpoolTail(live, tmp_path).poll()
    (refused,) = client.get("/api/v2/rejected").json()["items"]
    assert refused["line"] == '{"eventTime": 1}'
    assert refused["reason"].startswith("eventTime: received 1, expected an ISO 8601 time")


@pytest.mark.each_database
def test_export_is_the_same_after_a_rebuild(live: Live, client: TestClient, build: Any) -> None:
    table = build.dataset("file|/wh/t", symlinks=[("hive://h", "db.t", "TABLE")])
    late = build.run("START", "r", "j", "07:00:00", reads=("hive|db.t",), parent=("p", "dag"))
    _take(live, build, {**build.run("COMPLETE", "r", "j", "08:00:00"), "outputs": [table]})
    _take(live, build, late)
    rebuilt = TestClient(make_app(Live(live.log)))
    assert rebuilt.get("/api/v2/export").content == client.get("/api/v2/export").content
    assert orjson.loads(rebuilt.get("/healthz").content)["runs"] == 2


@pytest.mark.each_database
def test_unwritable_log_returns_503_without_acknowledgment(
    live: Live, client: TestClient, build: Any
) -> None:
    with live.log.writing() as connection:
        connection.exec_driver_sql("DROP TABLE events")
    body = build.run("START", "r", "j", "08:00:00")
    assert client.post("/api/v1/lineage", json=body).status_code == 503
    assert client.get("/healthz").json()["runs"] == 0
