from __future__ import annotations

import asyncio
import gzip
import re
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import orjson
import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient

from headwater.projection.live import Live
from headwater.server._options import ServerOptions
from headwater.server.app import make_app

_ARN = "arn:aws:glue:eu-west-1:1"


@pytest.fixture
def client(live: Live) -> Iterator[TestClient]:
    live.start()
    with TestClient(make_app(live), raise_server_exceptions=False) as client:
        yield client
    live.stop()


def _post(client: TestClient, *bodies: Any) -> None:
    for body in bodies:
        assert client.post("/api/v1/lineage", json=body).status_code == 201


@pytest.mark.each_database
def test_acknowledged_event_is_visible(client: TestClient, build: Any) -> None:
    _post(client, build.run("COMPLETE", "r", "j", "08:00:00", reads=("db|a",)))
    job = client.get("/api/v1/namespaces/demo/jobs/j").json()
    assert job["latestRun"]["state"] == "COMPLETED"
    assert job["inputs"] == [{"namespace": "db", "name": "a"}]


@pytest.mark.each_database
def test_array_stores_its_valid_events(client: TestClient, build: Any) -> None:
    good = build.run("START", "r", "j", "08:00:00")
    answer = client.post("/api/v1/lineage", json=[good, {"eventTime": "x"}, good])
    assert answer.status_code == 422
    body = answer.json()
    assert (body["stored"], body["duplicates"], body["rejected"]) == (1, 1, 1)
    assert body["errors"][0] | {"expected": ""} == {
        "index": 1,
        "path": "eventTime",
        "received": "'x'",
        "expected": "",
    }
    assert client.post("/api/v1/lineage", json=[good]).status_code == 201


@pytest.mark.parametrize(
    ("encoding", "zip_"), [("gzip", gzip.compress), ("deflate", zlib.compress)]
)
def test_gzip_body_is_accepted_and_invalid_gzip_rejected(
    encoding: str, zip_: Callable[[bytes], bytes], client: TestClient, build: Any
) -> None:
    raw = orjson.dumps(build.run("START", "r", "j", "08:00:00"))
    headers = {"Content-Encoding": encoding}
    zipped = zip_(raw)
    assert client.post("/api/v1/lineage", content=zipped, headers=headers).status_code == 201
    for broken in (raw, zipped[:-4], b""):
        answer = client.post("/api/v1/lineage", content=broken, headers=headers)
        assert answer.status_code == 400, broken
    answer = client.post("/api/v1/lineage", content=raw, headers={"Content-Encoding": "br"})
    assert (answer.status_code, answer.json()["expected"]) == (400, "gzip, deflate or none")


@pytest.mark.parametrize("wrap", [list, lambda events: {"events": events}])
def test_batch_response_lists_failed_events_with_reasons(
    wrap: Callable[[list[Any]], Any], client: TestClient, build: Any
) -> None:
    good, bad = build.run("START", "r", "j", "08:00:00"), {"eventTime": "x"}

    def post(*events: Any) -> tuple[int, Any]:
        answer = client.post("/api/v1/lineage/batch", json=wrap(list(events)))
        return answer.status_code, answer.json()

    status, body = post(good, bad)
    assert (status, body["status"]) == (207, "partial_success")
    assert body["summary"] == {
        "received": 2,
        "successful": 1,
        "failed": 1,
        "retriable": 0,
        "non_retriable": 1,
    }
    (failed,) = body["failed_events"]
    assert (failed["index"], failed["retriable"]) == (1, False)
    assert failed["reason"].startswith("eventTime: received 'x', expected")
    assert [item["status"] for _, item in (post(good), post(bad))] == ["success", "failure"]
    assert [post(good)[0], post(bad)[0], post()[0]] == [200, 422, 200]


@pytest.mark.parametrize("raw", [b"3", b'{"events": {}}', b'{"event": []}'])
def test_invalid_batch_is_rejected(raw: bytes, client: TestClient) -> None:
    answer = client.post("/api/v1/lineage/batch", content=raw)
    assert answer.status_code == 422
    assert "an array of events" in answer.json()["expected"]


def test_body_above_the_size_limit_is_rejected_also_when_decompressed(
    live: Live, build: Any
) -> None:
    raw = orjson.dumps(build.run("START", "r", "j", "08:00:00", writes=("db|" + "a" * 500,)))
    with TestClient(make_app(live, ServerOptions(largest_body=len(raw) - 1))) as client:
        for body, headers in ((raw, {}), (gzip.compress(raw), {"Content-Encoding": "gzip"})):
            answer = client.post("/api/v1/lineage", content=body, headers=headers)
            assert answer.status_code == 413
            assert answer.json()["expected"] == f"at most {len(raw) - 1} bytes, unzipped"
    with TestClient(make_app(live, ServerOptions(largest_body=len(raw)))) as client:
        assert client.post("/api/v1/lineage", content=raw).status_code == 201


@pytest.mark.parametrize(
    ("raw", "status", "path"),
    [
        (b"", 400, "$"),
        (b"{", 400, "$"),
        (b"\xff\xfe", 400, "$"),
        (b"3", 422, "$"),
        (b"{}", 422, "eventTime"),
        (b'{"eventTime":"2026-01-01T00:00:00Z","run":{"runId":"r"}}', 422, "job"),
        (b'{"eventTime":"2026-01-01T00:00:00Z","run":1,"job":{}}', 422, "job.namespace"),
        (b'{"eventTime":"9999-12-31T23:59:59-23:59"}', 422, "eventTime"),
        (b'{"a":"\\ud800"}', 422, "$"),
    ],
)
def test_invalid_body_error_has_path_value_and_expectation(
    raw: bytes, status: int, path: str, client: TestClient
) -> None:
    answer = client.post("/api/v1/lineage", content=raw)
    assert (answer.status_code, answer.json()["path"]) == (status, path)
    assert answer.json()["received"]
    assert answer.json()["expected"]


@pytest.mark.parametrize(
    ("namespace", "name"),
    [
        (_ARN, "table/db/trips"),
        ("s3://lake", "a/b c?d=1#e%2F.parquet"),
        ("file", "/a/jobs/b"),
        ("https://host:8080/x", "y:z"),
        ("ü", "名"),
    ],
)
def test_names_with_slashes_and_colons_are_found(
    namespace: str, name: str, client: TestClient, build: Any
) -> None:
    run = build.run("COMPLETE", "r", f"{name}/job", "08:00:00")
    run["job"]["namespace"] = namespace
    run["outputs"] = [{"namespace": namespace, "name": name}]
    _post(client, run)
    from urllib.parse import quote

    ns, ds, job = (quote(text, safe="") for text in (namespace, name, f"{name}/job"))
    result = client.get(f"/api/v1/namespaces/{ns}/datasets/{ds}")
    assert result.json()["id"] == {"namespace": namespace, "name": name}
    assert client.get(f"/api/v1/namespaces/{ns}/jobs/{job}/runs").json()["totalCount"] == 1
    assert client.get(f"/api/v1/namespaces/{ns}").json()["name"] == namespace
    answer = client.get(
        "/api/v1/lineage", params={"nodeId": f"dataset:{namespace}:{name}", "depth": 0}
    )
    assert [node["id"] for node in answer.json()["graph"]] == [
        f"dataset:{namespace}:{name}",
        f"job:{namespace}:{name}/job",
    ]


def test_edges_of_a_level_match_the_contract(client: TestClient, build: Any) -> None:
    table = build.dataset("file|/wh/t", symlinks=[("hive://h", "db.t", "TABLE")])
    run = build.run("COMPLETE", "r", "dag.t", "08:00:00", parent=("d", "dag"), kind="AIRFLOW/TASK")
    _post(client, {**run, "outputs": [table]})
    edges = client.get("/api/v2/edges", params={"level": "pipeline", "kind": "data"}).json()[
        "items"
    ]
    assert edges == [
        {
            "job": {"namespace": "demo", "name": "dag"},
            "dataset": {
                "namespace": "hive://h",
                "name": "db.t",
                "aliases": [{"namespace": "file", "name": "/wh/t"}],
            },
            "direction": "writes",
        }
    ]
    assert client.get("/api/v2/edges?kind=control").json() == {"items": [], "next": None}
    assert client.get("/api/v2/tree?node=job:demo:dag").json()["level"] == "pipeline"
    wrong = client.get("/api/v2/edges?level=galaxy")
    assert (wrong.status_code, wrong.json()["message"]) == (
        400,
        "level: received 'galaxy', expected 'pipeline', 'task' or 'query'",
    )


def test_unknown_resource_is_404_and_invalid_parameter_is_400(client: TestClient) -> None:
    for path in (
        "/api/v1/nope",
        "/api/v1/namespaces/nope",
        "/api/v1/namespaces/nope/datasets",
        "/api/v1/namespaces/nope/jobs/x",
        "/api/v1/jobs/runs/x",
        "/api/v1/lineage?nodeId=nonsense",
        "/api/v1/lineage?nodeId=job:a:b",
        "/api/v2/tree?node=x",
    ):
        assert client.get(path).status_code == 404, path
        assert client.get(path).json()["code"] == 404
    for path in (
        "/api/v1/lineage",
        "/api/v1/search",
        "/api/v1/search?q=",
        "/api/v1/jobs?limit=-1",
        "/api/v1/jobs?lastRunStates=ODD",
        "/api/v2/tree?node=x&direction=left",
        "/api/v1/events/lineage?sortDirection=x",
    ):
        assert client.get(path).status_code == 400, path
    assert client.get("/api/v1/namespaces/nope/jobs").json() == {"totalCount": 0, "jobs": []}


def test_unknown_query_parameter_is_rejected_in_v2_and_ignored_in_v1(client: TestClient) -> None:
    app = client.app
    assert isinstance(app, FastAPI)
    for route in app.routes:
        if not (isinstance(route, APIRoute) and route.path.startswith("/api/")):
            continue
        path = re.sub("{.*?}", "x", route.path)
        for method in route.methods:
            answer = client.request(method, f"{path}?depht=3", content=b"{}")
            is_strict = path.startswith("/api/v2/")
            assert ("'depht'" in answer.text) is is_strict, (method, path, answer.text)
    answer = client.get("/api/v2/tree?node=x&depht=3&nod=y")
    allowed = "'node', 'direction', 'depth', 'level', 'evidence', 'control', 'asOf', 'knownAt'"
    assert (answer.status_code, answer.json()["errors"]) == (400, [
        f"query parameter: received 'depht', expected {allowed} (did you mean 'depth'?)",
        f"query parameter: received 'nod', expected {allowed} (did you mean 'node'?)",
    ])  # fmt: skip


def test_job_is_found_by_its_marquez_name(client: TestClient, build: Any) -> None:
    _post(client, build.run("COMPLETE", "r", "load", "08:00:00", parent=("d", "dag")))
    assert client.get("/api/v1/namespaces/demo/jobs/dag.load").json()["name"] == "load"


@pytest.mark.each_database
def test_events_are_returned_as_sent(client: TestClient, build: Any) -> None:
    events = [build.run("START", "r", "j", f"0{hour}:00:00") for hour in (7, 8, 9)]
    _post(client, events[1], events[0], events[2])
    answer = client.get("/api/v1/events/lineage?limit=2&offset=1&sortDirection=asc").json()
    assert answer == {"totalCount": 3, "events": events[1:]}


def test_health_counts_a_dataset_with_two_names_once(client: TestClient, build: Any) -> None:
    table = build.dataset("file|/wh/t", symlinks=[("hive://h", "db.t", "TABLE")])
    event = build.run("COMPLETE", "1", "load", "08:00:00")
    event["outputs"] = [table, build.dataset("hive://h|db.t")]
    _post(client, event)
    assert client.get("/healthz").json()["datasets"] == 1


def test_with_an_api_key_only_the_health_is_open(live: Live) -> None:
    client = TestClient(make_app(live, ServerOptions(api_key="right")))
    assert client.get("/healthz").status_code == 200
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "right"}):
        assert client.get("/api/v1/jobs", headers=headers).status_code == 401
        assert client.post("/api/v1/lineage", json={}, headers=headers).status_code == 401
    good = {"Authorization": "Bearer right"}
    assert client.get("/api/v1/jobs", headers=good).status_code == 200


def test_browser_login_uses_the_api_key_as_password(live: Live) -> None:
    client = TestClient(make_app(live, ServerOptions(api_key="right")))
    assert client.get("/").headers["WWW-Authenticate"].startswith("Basic ")
    assert client.get("/", auth=("anybody", "right")).status_code == 200
    assert client.get("/", auth=("right", "wrong")).status_code == 401
    assert client.get("/", headers={"Authorization": "Basic %%%"}).status_code == 401


def test_large_responses_are_compressed_outside_the_event_loop(
    client: TestClient, build: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_in_loop: list[bool] = []
    compressobj = zlib.compressobj

    def watched(*arguments: Any) -> Any:
        is_in_loop.append(asyncio._get_running_loop() is not None)
        return compressobj(*arguments)

    monkeypatch.setattr("starlette.middleware.gzip.zlib.compressobj", watched)
    text = "".join(chr(0x4E00 + number % 20_000) for number in range(100_000))
    event = build.run("COMPLETE", "r", "j", "08:00:00")
    event["job"]["facets"]["documentation"] = {"description": text}
    _post(client, event)
    answer = client.get("/api/v2/node", params={"node": "j"}, headers={"Accept-Encoding": "gzip"})
    assert answer.headers["Content-Encoding"] == "gzip"
    assert len(answer.content) > 200_000
    assert is_in_loop == [False]
