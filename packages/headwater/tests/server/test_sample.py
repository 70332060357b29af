"""The sample: a separate, read-only lineage."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest
from fastapi.testclient import TestClient

from headwater.log import EventLog
from headwater.projection.live import Live
from headwater.server import sample
from headwater.server._options import ServerOptions
from headwater.server.app import make_app
from packages.headwater.tests.support.rides import rides


def test_sample_file_contains_the_generated_events() -> None:
    """With WRITE_DOCS=1, write the file."""
    text = b"".join(orjson.dumps(event) + b"\n" for event in rides(sample.NEWEST_END))
    path = Path(sample.__file__).with_name("sample.jsonl.gz")
    if os.environ.get("WRITE_DOCS"):
        path.write_bytes(gzip.compress(text, mtime=0))
    assert gzip.decompress(path.read_bytes()) == text


def test_sample_can_be_shifted_to_another_time() -> None:
    week = timedelta(days=7)
    shifted = sample.sample_events(sample.NEWEST_END + week)
    for event, later in zip(sample.sample_events(), shifted, strict=True):
        times = [datetime.fromisoformat(item.pop("eventTime")) for item in (event, later)]
        assert times[1] - times[0] == week
        assert later == event


@pytest.fixture
def client(tmp_path: Path, build: Any) -> Iterator[TestClient]:
    """Yield a client of a server with one job of its own."""
    log = EventLog(str(tmp_path / "log.db"))
    access = ServerOptions(frame_origins=("http://airflow.example.org",))
    with TestClient(make_app(Live(log), access)) as client:
        client.post("/api/v1/lineage", json=build.run("COMPLETE", "r", "mine", "08:00:00"))
        yield client
    log.close()


def _jobs(client: TestClient, base: str) -> set[str]:
    runs = client.get(f"{base}/api/v2/runs", params={"limit": 1_000}).raise_for_status().json()
    return {run["job"]["name"] for run in runs["items"]}


def test_sample_and_own_lineage_are_separate(client: TestClient) -> None:
    sample = _jobs(client, "/sample")
    assert "TrainForecastModelFlow" in sample
    assert "mine" not in sample
    assert _jobs(client, "") == {"mine"}
    assert client.get("/healthz").json()["jobs"] == 1


def test_sample_has_problems_and_a_past(client: TestClient) -> None:
    health = client.get("/sample/api/v2/health").json()
    findings = client.get("/sample/api/v2/findings").json()["items"]
    assert {"failed", "late", "lost", "quality"} <= {finding["kind"] for finding in findings}
    then = (datetime.fromisoformat(health["at"]) - timedelta(days=10)).isoformat()
    of_then, of_now = (_reads(client, **moment) for moment in ({"asOf": then}, {}))
    assert {name.rpartition(".")[2] for name in of_now - of_then} == {"weather_raw"}


def test_sample_is_the_same_after_a_restart(client: TestClient, tmp_path: Path) -> None:
    log = EventLog(str(tmp_path / "restarted.db"))
    restarted = TestClient(make_app(Live(log)))
    asked = "/sample/api/v2/health", "/sample/api/v2/runs?limit=50"
    for path in asked:
        assert restarted.get(path).json() == client.get(path).json()
    log.close()


def _reads(client: TestClient, **moment: str) -> set[str]:
    """Return the inputs of the training data."""
    asked: dict[str, Any] = {
        "node": "TrainForecastModelFlow.prepare_training_data",
        "down": 0,
        **moment,
    }
    response = client.get("/sample/api/v2/graph", params=asked).raise_for_status().json()
    return {node["name"] for node in response["nodes"] if node["type"] == "dataset"}


def test_sample_addresses_accept_encoded_slashes(
    client: TestClient,
) -> None:
    path = "/sample/api/v1/namespaces/hive%3A%2F%2Flake%3A9083/datasets/nyc_taxi.weather_raw"
    assert client.get(path).raise_for_status().json()["id"]["namespace"] == "hive://lake:9083"


@pytest.mark.parametrize("path", ["/sample/api/v1/lineage", "/sample/api/v2/keys", "/sample/"])
def test_sample_is_read_only(path: str, client: TestClient) -> None:
    refused = client.post(path, json={})
    assert refused.status_code == 405
    assert "is read-only" in refused.json()["message"]


def test_sample_needs_the_key_of_the_server(tmp_path: Path) -> None:
    log = EventLog(str(tmp_path / "log.db"))
    with TestClient(make_app(Live(log), ServerOptions(api_key="secret"))) as client:
        assert client.get("/sample/api/v2/health").status_code == 401
        with_key = {"Authorization": "Bearer secret"}
        assert client.get("/sample/api/v2/health", headers=with_key).status_code == 200
    log.close()


def test_sample_responses_have_one_frame_header(client: TestClient) -> None:
    policies = client.get("/sample/api/v2/health").headers.get_list("content-security-policy")
    assert len(policies) == 1
    assert "frame-ancestors http://airflow.example.org" in policies[0]
    assert client.get("/sample/api/v2/nothing").status_code == 404
    assert client.get("/sample/api/v2/events/stream").status_code == 404
