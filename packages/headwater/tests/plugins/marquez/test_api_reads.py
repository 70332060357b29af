"""Marquez's read API beyond jobs, runs and datasets: versions, sources, tags, stats and more."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient

from headwater.events import from_micros
from headwater.plugins.marquez import _graphs
from headwater.plugins.marquez._stats import intervals
from headwater.projection.live import Batch, Live
from headwater.server.app import make_app
from packages.headwater.tests.lineage.test_neighborhood import two_services
from packages.headwater.tests.support.explicit import DB, EXAMPLES


@pytest.fixture
def client(live: Live) -> Iterator[TestClient]:
    with TestClient(make_app(live), raise_server_exceptions=False) as client:
        yield client


def _take(live: Live, build: Any, *bodies: Any) -> None:
    live.ingest(Batch([build.entry(body) for body in bodies]))


def _schema(*names: str) -> dict[str, Any]:
    return {"schema": {"fields": [{"name": name, "type": "int"} for name in names]}}


def _writes(build: Any, run: str, time: str, name: str, **facets: Any) -> dict[str, Any]:
    body: dict[str, Any] = build.run("COMPLETE", run, "j", time)
    return {**body, "outputs": [build.dataset(name, **facets)]}


def test_dataset_version_has_the_schema_its_run_wrote(
    live: Live, client: TestClient, build: Any
) -> None:
    events = (
        _writes(build, "r1", "08:00:00", "db|t", **_schema("a")),
        _writes(build, "r2", "09:00:00", "db|t", **_schema("a", "b")),
        _writes(build, "r3", "10:00:00", "db|t"),
    )
    _take(live, build, *reversed(events))
    versions = client.get("/api/v1/namespaces/db/datasets/t/versions").json()["versions"]
    assert [[f["name"] for f in v["fields"]] for v in versions] == [["a", "b"], ["a", "b"], ["a"]]
    assert [list(v["facets"]) for v in versions] == [[], ["schema"], ["schema"]]
    assert versions[0]["currentSchemaVersion"] == versions[1]["currentSchemaVersion"]
    assert versions[1]["currentSchemaVersion"] != versions[2]["currentSchemaVersion"]
    one = client.get(f"/api/v1/namespaces/db/datasets/t/versions/{versions[2]['version']}")
    assert one.json() == versions[2]
    gone = client.get("/api/v1/namespaces/db/datasets/t/versions/nope")
    assert (gone.status_code, gone.json()["message"]) == (404, "Dataset version 'nope' not found.")


def test_equal_facets_are_kept_once_but_never_mixed_up(
    live: Live, client: TestClient, build: Any
) -> None:
    _take(
        live,
        build,
        _writes(build, "r1", "08:00:00", "db|t", odd={"rows": 1}),
        _writes(build, "r2", "09:00:00", "db|t", odd={"rows": 1.0}),
        _writes(build, "r3", "10:00:00", "db|t", odd={"rows": True}),
    )
    versions = client.get("/api/v1/namespaces/db/datasets/t/versions").json()["versions"]
    assert [str(v["facets"]["odd"]["rows"]) for v in versions] == ["True", "1.0", "1"]


def test_run_reads_the_version_written_before_its_start(
    live: Live, client: TestClient, build: Any
) -> None:
    _take(
        live,
        build,
        build.run("COMPLETE", "w1", "writer", "08:00:00", writes=("db|t",)),
        build.run("COMPLETE", "w2", "writer", "10:00:00", writes=("db|t",)),
        build.run(
            "COMPLETE", "x", "reader", "09:00:00", reads=("db|t", "db|raw"), writes=("db|u",)
        ),
    )
    read = client.get("/api/v1/jobs/runs/x").json()["inputDatasetVersions"]
    by_name = {item["datasetVersionId"]["name"]: item["datasetVersionId"] for item in read}
    page = client.get("/api/v1/namespaces/db/datasets/t/versions").json()["versions"]
    assert [v["createdByRun"]["id"] for v in page] == ["w2", "w1"]
    assert by_name["t"]["version"] == page[1]["version"]
    (raw,) = client.get("/api/v1/namespaces/db/datasets/raw/versions").json()["versions"]
    assert (raw["version"], raw["createdByRun"]) == (by_name["raw"]["version"], None)


def test_job_has_a_version_per_distinct_finished_run(
    live: Live, client: TestClient, build: Any
) -> None:
    _take(
        live,
        build,
        build.run("COMPLETE", "r1", "j", "08:00:00", reads=("db|a", "db|b"), writes=("db|t",)),
        build.run("COMPLETE", "r2", "j", "09:00:00", reads=("db|a",), writes=("db|t",)),
        build.run("COMPLETE", "r3", "j", "10:00:00", reads=("db|a",), writes=("db|t",)),
        build.run("START", "r4", "j", "11:00:00", reads=("db|c",)),
    )
    response = client.get("/api/v1/namespaces/demo/jobs/j/versions").json()
    assert response["totalCount"] == 2
    newest, oldest = response["versions"]
    assert [input_["name"] for input_ in oldest["inputs"]] == ["a", "b"]
    assert newest["createdAt"] == "2025-11-21T09:00:00Z"
    assert newest["latestRun"]["id"] == "r3"
    job = client.get("/api/v1/namespaces/demo/jobs/j").json()
    assert job["currentVersion"] == newest["version"]
    assert job["latestRun"]["jobVersion"] is None
    one = client.get(f"/api/v1/namespaces/demo/jobs/j/versions/{oldest['version']}").json()
    assert one == oldest
    assert client.get("/api/v1/namespaces/demo/jobs/j/versions/nope").status_code == 404


def test_upstream_runs_wrote_the_versions_that_were_read(
    live: Live, client: TestClient, build: Any
) -> None:
    _take(
        live,
        build,
        build.run("COMPLETE", "a", "load", "08:00:00", reads=("db|raw",), writes=("db|t",)),
        build.run("COMPLETE", "b", "make", "09:00:00", reads=("db|t",), writes=("db|u",)),
        build.run("COMPLETE", "c", "use", "10:00:00", reads=("db|u", "db|t"), writes=("db|v",)),
        build.run("COMPLETE", "late", "load", "11:00:00", writes=("db|t",)),
    )
    result = client.get("/api/v1/runlineage/upstream?runId=c").json()["runs"]
    assert [run["run"]["id"] for run in result] == ["c", "a", "b"]
    made_by = {
        (run["run"]["id"], item["name"]): item["producedByRunId"]
        for run in result
        for item in run["inputs"]
    }
    assert made_by == {("c", "u"): "b", ("c", "t"): "a", ("b", "t"): "a", ("a", "raw"): None}
    near = client.get("/api/v1/runlineage/upstream?runId=c&depth=0").json()["runs"]
    assert [run["run"]["id"] for run in near] == ["c"]
    assert client.get("/api/v1/runlineage/upstream?runId=nope").status_code == 404


def test_upstream_run_may_start_at_the_same_instant(
    live: Live, client: TestClient, build: Any
) -> None:
    task = ("task", "dag.task")
    _take(
        live,
        build,
        build.run("COMPLETE", "load", "load", "08:00:00", writes=("db|t",)),
        build.run("COMPLETE", "use", "use", "08:00:00", reads=("db|t",), writes=("db|u",)),
        build.run("COMPLETE", "again", "use", "08:00:00", reads=("db|u",), writes=("db|u",)),
        build.run("COMPLETE", "task", "dag.task", "08:00:00", reads=("db|v",)),
        build.run("COMPLETE", "query", "query", "08:00:00", writes=("db|v",), parent=task),
    )

    def upstream(run: str) -> list[str]:
        runs = client.get(f"/api/v1/runlineage/upstream?runId={run}").json()["runs"]
        return [item["run"]["id"] for item in runs]

    assert upstream("again") == ["again", "use", "load"]
    assert upstream("task") == ["task"]


def test_tags_of_jobs_datasets_and_fields_come_from_their_facets(
    live: Live, client: TestClient, build: Any
) -> None:
    tags = [
        {"key": "pii", "value": "true", "field": "mail", "source": "S"},
        {"key": "tier", "value": "gold", "source": "S"},
    ]
    body = _writes(build, "r", "08:00:00", "db|t", **_schema("mail"), tags={"tags": tags})
    body["job"]["facets"]["tags"] = {"tags": [{"key": "nightly"}]}
    _take(live, build, body)
    table = client.get("/api/v1/namespaces/db/datasets/t").json()
    assert (table["tags"], table["fields"][0]["tags"]) == (["tier:gold"], ["pii"])
    assert client.get("/api/v1/namespaces/demo/jobs/j").json()["tags"] == ["nightly"]
    names = [tag["name"] for tag in client.get("/api/v1/tags").json()["tags"]]
    assert names == ["nightly", "pii", "tier:gold"]


def test_sources_are_those_of_datasource_facets(live: Live, client: TestClient, build: Any) -> None:
    old = {"dataSource": {"name": "shop", "uri": "postgres://old/shop"}}
    new = {"dataSource": {"name": "shop", "uri": "postgres://new/shop"}}
    _take(
        live,
        build,
        _writes(build, "r2", "09:00:00", "db|u", **new),
        _writes(build, "r1", "08:00:00", "db|t", **old),
        _writes(build, "r3", "10:00:00", "db|plain"),
    )
    (source,) = client.get("/api/v1/sources").json()["sources"]
    assert source == {
        "type": "POSTGRESQL",
        "name": "shop",
        "createdAt": "2025-11-21T08:00:00Z",
        "updatedAt": "2025-11-21T09:00:00Z",
        "connectionUrl": "postgres://new/shop",
        "description": None,
    }
    assert client.get("/api/v1/sources/shop").json() == source
    assert client.get("/api/v1/sources/nope").status_code == 404
    assert client.get("/api/v1/namespaces/db/datasets/plain").json()["sourceName"] == "default"


def test_symlink_namespace_lists_its_datasets(live: Live, client: TestClient, build: Any) -> None:
    link = [("hive://lake", "db.t", "TABLE")]
    _take(live, build, _writes(build, "r", "08:00:00", "s3://b|t", symlinks=link))
    path = "/api/v1/namespaces/hive%3A%2F%2Flake"
    assert client.get(path).status_code == 200
    (table,) = client.get(f"{path}/datasets").json()["datasets"]
    assert (table["name"], table["physicalName"]) == ("db.t", "t")


@pytest.mark.each_database
def test_events_include_after_and_exclude_before(
    live: Live, client: TestClient, build: Any
) -> None:
    _take(live, build, *(build.run("START", f"r{h}", "j", f"{h:02}:00:00") for h in range(8, 12)))
    span = "after=2025-11-21T09:00:00Z&before=2025-11-21T11:00:00Z"
    response = client.get(f"/api/v1/events/lineage?{span}&limit=1").json()
    assert response["totalCount"] == 2
    assert response["events"][0]["run"]["runId"] == "r10"
    assert client.get("/api/v1/events/lineage?before=nonsense").status_code == 400


def test_search_is_narrowed_by_kind_and_namespace_and_sorted(
    live: Live, client: TestClient, build: Any
) -> None:
    _take(
        live,
        build,
        build.run("START", "r1", "trips", "09:00:00", reads=("db|trips",)),
        build.run("START", "r2", "a_trip", "08:00:00"),
    )
    result = client.get("/api/v1/search?q=trip").json()["results"]
    assert [item["nodeId"] for item in result] == [
        "job:demo:a_trip",
        "dataset:db:trips",
        "job:demo:trips",
    ]
    newest = client.get("/api/v1/search?q=trip&filter=JOB&sort=UPDATE_AT").json()["results"]
    assert [item["name"] for item in newest] == ["trips", "a_trip"]
    assert client.get("/api/v1/search?q=trip&namespace=db").json()["totalCount"] == 1
    assert client.get("/api/v1/search?q=trip&filter=odd").status_code == 400


@pytest.mark.each_database
def test_stats_count_received_events_per_hour(live: Live, client: TestClient, build: Any) -> None:
    now = datetime.now(UTC)
    start = build.run("START", "r", "j", "08:00:00", writes=("db|t",))
    end = build.run("FAIL", "r", "j", "08:00:00")
    old = build.run("COMPLETE", "old", "other", "08:00:00")
    start["eventTime"] = (now - timedelta(hours=3)).isoformat()
    end["eventTime"] = now.isoformat()
    _take(live, build, start, end, old)
    hours = client.get("/api/v1/stats/lineage-events?period=DAY").json()
    assert len(hours) == 24
    assert sum(hour["start"] for hour in hours) == sum(hour["fail"] for hour in hours) == 1
    jobs = [hour["count"] for hour in client.get("/api/v1/stats/jobs?period=DAY").json()]
    assert (jobs[0], jobs[-1]) == (1, 2)
    days = client.get("/api/v1/stats/datasets?period=WEEK&timezone=Europe/Paris").json()
    assert (len(days), days[-1]["count"]) == (7, 1)
    assert client.get("/api/v1/stats/sources?period=DAY").json()[-1]["count"] == 0
    for wrong in ("period=YEAR", "period=WEEK&timezone=Nowhere/Land", "period=WEEK&timezone=../x"):
        assert client.get(f"/api/v1/stats/jobs?{wrong}").status_code == 400


def test_days_follow_the_clock_changes_of_a_time_zone() -> None:
    result = intervals(datetime(2025, 3, 31, 12, tzinfo=UTC), "WEEK", "Europe/Paris")
    hours = [(from_micros(end) - from_micros(start)) / timedelta(hours=1) for start, end in result]
    assert hours == [24, 24, 24, 24, 24, 23, 24]
    assert from_micros(result[-1][0]) == datetime(2025, 3, 30, 22, tzinfo=UTC)


@pytest.mark.parametrize("name", ["f.own", "f.other"])
def test_run_that_is_its_own_parent_uses_its_event_times(
    name: str, live: Live, client: TestClient, build: Any
) -> None:
    run = build.run("COMPLETE", "r", "f.own", "08:00:00", parent=("r", name), root=("top", "f"))
    _take(live, build, run)
    jobs = client.get("/api/v1/jobs").json()["jobs"]
    assert {job["name"] for job in jobs} == {
        "f.own": {"f.own"},
        "f.other": {"f", "f.own", "f.other"},
    }[name]
    for job in jobs:
        runs = client.get(f"/api/v1/namespaces/demo/jobs/{job['name']}/runs").json()["runs"]
        for shown in (job, *runs):
            assert {shown["createdAt"], shown["updatedAt"]} == {"2025-11-21T08:00:00Z"}, job


def test_column_lineage_of_an_unknown_column_is_404(
    live: Live, client: TestClient, build: Any
) -> None:
    run = build.run("COMPLETE", "r", "j", "08:00:00", reads=("db|t",), writes=("db|u",))
    source = {"namespace": "db", "name": "t", "field": "source"}
    run["outputs"][0]["facets"] = {
        **_schema("alone"),
        "columnLineage": {"fields": {"made": {"inputFields": [source]}}},
    }
    _take(live, build, run)

    def get(column: str) -> Any:
        return client.get(f"/api/v1/column-lineage?nodeId=datasetField:{column}")

    edges = [len(get(column).json()["graph"]) for column in ("db:u:made", "db:t:source")]
    assert edges == [2, 0]
    assert get("db:u:alone").json() == {"graph": []}
    answer = get("db:u:mode")
    assert answer.status_code == 404
    assert answer.json()["message"] == (
        "neither a schema nor column lineage of u has a column 'mode'; reported: alone, made"
    )


def _producers(client: TestClient, name: str, **params: str) -> list[str]:
    query = {"nodeId": f"dataset:db:{name}", **params}
    graph = client.get("/api/v1/lineage", params=query).json()["graph"]
    (node,) = [item for item in graph if item["id"] == query["nodeId"]]
    return [edge["origin"] for edge in node["inEdges"]]


def test_lineage_shows_producer_whose_newest_run_did_not_write(
    live: Live, client: TestClient, build: Any
) -> None:
    _take(live, build, *two_services(build))
    for params in ({}, {"level": "task"}):
        for service in ("yellow", "green"):
            assert _producers(client, f"{service}_forecast", **params) == ["job:demo:Flow.write"]


def test_lineage_at_a_level_has_the_nodes_of_the_tree(
    live: Live, client: TestClient, build: Any
) -> None:
    _take(live, build, *two_services(build), *EXAMPLES["4 dataset to dataset"].events)
    params = {"nodeId": "dataset:db:yellow_forecast", "level": "task"}
    graph = client.get("/api/v1/lineage", params=params).json()["graph"]
    assert not [item["id"] for item in graph if "green" in item["id"]]
    (train,) = [item for item in graph if item["id"] == "job:demo:Flow.train"]
    assert [edge["origin"] for edge in train["inEdges"]] == ["dataset:db:yellow_raw"]
    params = {"nodeId": f"dataset:{DB}:view", "level": "task"}
    view = client.get("/api/v1/lineage", params=params).json()["graph"][-1]
    assert [edge["origin"].rpartition(":")[2] for edge in view["inEdges"]] == [
        "customers", "orders",
    ]  # fmt: skip


def test_large_lineage_is_rejected_before_all_of_it_is_built(
    live: Live, client: TestClient, build: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain = [
        build.run("COMPLETE", f"r{number}", f"j{number}", f"08:00:{number:02}",
                  reads=(f"db|t{number}",), writes=(f"db|t{number + 1}",))
        for number in range(30)
    ]  # fmt: skip
    _take(live, build, *chain)
    url = "/api/v1/lineage?nodeId=dataset:db:t0&depth={}"
    whole, part = (client.get(url.format(depth)) for depth in (40, 3))
    assert len(whole.json()["graph"]) == 61
    monkeypatch.setattr(_graphs, "_MOST_BYTES", len(part.content))
    built, shown = list[Any](), _graphs._shown

    def count(*args: Any) -> Any:
        built.append(args)
        return shown(*args)

    monkeypatch.setattr(_graphs, "_shown", count)
    refused = client.get(url.format(40))
    assert (refused.status_code, refused.json()["code"]) == (413, 413)
    assert "request a smaller depth" in refused.json()["message"]
    assert len(built) < 30
    assert client.get(url.format(3)).content == part.content
