"""Replays what Marquez was asked, and every event of the shared collection."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from fastapi.testclient import TestClient

from throughline.api import make_app
from throughline.errors import EventError
from throughline.projection.live import Live
from throughline.spec import load


@pytest.fixture
def client(live: Live) -> Iterator[TestClient]:
    live.start()
    with TestClient(make_app(live), raise_server_exceptions=False) as client:
        yield client
    live.stop()


class Replay:
    """One scenario: its events posted, its recorded answers beside ours."""

    def __init__(self, folder: Path, client: TestClient) -> None:
        self._client = client
        self._answers = folder / "answers"
        self._index = orjson.loads((self._answers / "index.json").read_bytes())
        for line in (folder / "events.jsonl").read_bytes().splitlines():
            assert client.post("/api/v1/lineage", content=line).status_code == 201

    def pairs(self, part: str) -> list[tuple[str, Any, Any]]:
        """(path, Marquez's answer, ours) of the paths with that part."""
        found = []
        for item in self._index:
            if part in item["path"] and item["status"] == 200 and item["file"]:
                theirs = orjson.loads((self._answers / item["file"]).read_bytes())
                found.append((item["path"], theirs, self._client.get(item["path"]).json()))
        assert found
        return found


def test_one_run_looks_as_in_marquez(shared: Path, client: TestClient) -> None:
    replay = Replay(shared / "marquez-answers/01-start-complete", client)
    for path, theirs, ours in replay.pairs("/jobs/daily_revenue"):
        if path.endswith("daily_revenue"):
            assert theirs.keys() <= ours.keys()
            same = set(theirs) - {"latestRun", "latestRuns", "currentVersion", "facets", "tags"}
            assert {k: ours[k] for k in same} == {k: theirs[k] for k in same}
            assert ours["facets"] == theirs["facets"]
            run, expected = ours["latestRun"], theirs["latestRun"]
            assert run["startedAt"] == "2025-03-10T08:00:00Z"  # Marquez: moved by each RUNNING
            for key in ("id", "createdAt", "updatedAt", "state", "endedAt"):
                assert run[key] == expected[key]
            assert run["facets"].keys() == expected["facets"].keys()
            (output,) = run["outputDatasetVersions"]
            assert output["facets"] == expected["outputDatasetVersions"][0]["facets"]
    for path, theirs, ours in replay.pairs("/datasets/shop.public."):
        if "physicalName" in theirs and "/versions/" not in path:
            for key in ("id", "type", "physicalName", "sourceName", "description", "createdAt"):
                assert ours[key] == theirs[key]
            assert _by_name(ours["fields"]) == _by_name(theirs["fields"])
            assert ours["facets"] == theirs["facets"]
    for path, theirs, ours in replay.pairs("/lineage?nodeId"):
        if path.startswith("/api/v1/lineage"):
            assert _graph(ours) == _graph(theirs)
    for _, theirs, ours in replay.pairs("/search?q"):
        assert {r["nodeId"] for r in ours["results"]} == {r["nodeId"] for r in theirs["results"]}


@pytest.mark.parametrize(
    "scenario",
    [
        "03-column-lineage-chain",
        "13-airflow-consumer-scenario",
        "21-column-lineage-dags",
    ],
)
def test_columns_look_as_in_marquez(scenario: str, shared: Path, client: TestClient) -> None:
    replay = Replay(shared / "marquez-answers" / scenario, client)
    compared = 0
    for path, theirs, ours in replay.pairs("/column-lineage"):
        if "withDownstream=true" in path and not theirs["graph"]:
            continue  # Marquez forgets what is downstream of a column that comes from nowhere
        if "%23" in path:
            continue  # a version's id, which Marquez made
        expected = {each["id"]: each for each in theirs["graph"]}
        found = {each["id"]: each for each in ours["graph"]}
        if "datasetField" in path and "withDownstream=true" in path:
            assert found.keys() <= expected.keys(), path  # Marquez adds siblings of the field
            continue
        assert found.keys() == expected.keys(), path
        for id_, node in expected.items():
            assert _ends(found[id_]) == _ends(node), path
            ours_told, told = _told(found[id_]["data"]), _told(node["data"])
            if not told["fieldType"]:  # Marquez tells no type of a column without inputs
                ours_told["fieldType"] = ""
            assert ours_told == told, path
            compared += 1
    assert compared


def _ends(node: dict[str, Any]) -> dict[str, Any]:
    return {
        way: sorted((edge["origin"], edge["destination"]) for edge in node[way])
        for way in ("inEdges", "outEdges")
    }


def _told(data: dict[str, Any]) -> dict[str, Any]:
    inputs = [{**each, "datasetVersion": None} for each in data["inputFields"]]
    by_name = sorted(inputs, key=lambda each: (each["dataset"], each["field"]))
    return {**data, "datasetVersion": None, "inputFields": by_name}


def test_parents_look_as_in_marquez_but_names_stay_the_producers(
    shared: Path, client: TestClient
) -> None:
    replay = Replay(shared / "marquez-answers/02-parent-facet", client)
    for path, theirs, ours in replay.pairs("/namespaces/parents/jobs/"):
        if "silent_dag" in path or "versions" in path:
            continue  # Marquez ignores the namespace of the parent
        if path.endswith("/runs"):
            assert ours["totalCount"] == theirs["totalCount"]
            continue
        for key in ("simpleName", "parentJobName", "inputs", "outputs", "createdAt", "updatedAt"):
            assert ours[key] == theirs[key], (path, key)
        for key in ("id", "state", "startedAt", "endedAt", "durationMs"):
            assert ours["latestRun"][key] == theirs["latestRun"][key]
    edges = client.get("/api/v2/edges?level=pipeline").json()
    assert {(e["job"]["name"], e["direction"], e["dataset"]["name"]) for e in edges} == {
        ("dag", "reads", "p.src"),
        ("dag", "writes", "p.stage"),
        ("dag", "reads", "p.stage"),
        ("dag", "writes", "p.dst"),
        ("silent_dag", "reads", "p.dst"),
    }


def test_symlinks_are_one_dataset_where_marquez_lists_several(
    shared: Path, client: TestClient
) -> None:
    replay = Replay(shared / "marquez-answers/07-symlinks", client)
    ids = {
        "dataset:s3://lake:sales/2025": "dataset:arn:aws:glue:eu-west-1:1234:table/db/sales",
        "dataset:s3://lake:late/x": "dataset:warehouse:late_table",
    }
    compared = 0
    for path, theirs, ours in replay.pairs("/api/v1/lineage?nodeId"):
        if "depth=20" in path:
            assert _graph(ours) == _graph(theirs, ids)
            compared += 1
    assert compared > 8
    arn = "/api/v1/namespaces/arn%3Aaws%3Aglue%3Aeu-west-1%3A1234/datasets/table%2Fdb%2Fsales"
    path_ = "/api/v1/namespaces/s3%3A%2F%2Flake/datasets/sales%2F2025"
    assert client.get(arn).json() == client.get(path_).json()


def _by_name(fields: list[dict[str, Any]]) -> dict[str, Any]:
    return {field["name"]: field for field in fields}


def _graph(answer: dict[str, Any], ids: dict[str, str] | None = None) -> dict[str, Any]:
    def shown(id_: str) -> str:
        return (ids or {}).get(id_, id_)

    return {
        shown(node["id"]): (
            node["type"],
            {shown(edge["origin"]) for edge in node["inEdges"]},
            {shown(edge["destination"]) for edge in node["outEdges"]},
        )
        for node in answer["graph"]
    }


def _bodies(file: Path) -> list[bytes]:
    raw = file.read_bytes()
    try:
        body = load(raw)
    except EventError:
        return raw.splitlines()
    if isinstance(body, dict) and "eventTime" not in body:
        lists = [value for value in body.values() if isinstance(value, list)]
        if lists:
            return [orjson.dumps(item) for item in lists[0]]
    return [raw]


def test_every_event_of_the_collection_is_taken_or_refused_with_a_reason(
    shared: Path, client: TestClient
) -> None:
    folder = shared / "openlineage-events"
    refused: list[str] = []
    for file in sorted(p for p in folder.rglob("*.json*") if p.is_file()):
        for raw in _bodies(file):
            if not raw.strip():
                continue
            answer = client.post("/api/v1/lineage", content=raw)
            assert answer.status_code < 500, (file, answer.text)
            if answer.status_code != 201:
                refused.append(f"{file.relative_to(folder)}: {answer.text}")
    trusted = [line for line in refused if line.startswith(("captured", "this-stack"))]
    # The one event without a run id comes from an old version of a file made to be refused.
    assert [line.split(": {")[0].rsplit("__", 1)[-1] for line in trusted] == ["fail_event.json"]
    for path in ("/api/v1/jobs?limit=500", "/api/v1/namespaces", "/api/v2/export", "/"):
        assert client.get(path).status_code == 200
    for level in ("query", "task", "pipeline"):
        assert client.get(f"/api/v2/edges?level={level}").status_code == 200
        assert client.get(f"/api/v2/edges?level={level}&kind=control").status_code == 200
