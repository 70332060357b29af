"""Delivery to stand-ins of Marquez and OpenMetadata on real servers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from headwater.errors import EventError, UnavailableError
from headwater.events import parse_time
from headwater.plugins.delivery._store import delivery_statuses
from headwater.plugins.delivery.backends import Marquez, OpenMetadata
from headwater.plugins.delivery.forwarder import Forwarder
from headwater.plugins.delivery.models import MarquezSettings, OpenMetadataSettings
from headwater.plugins.delivery.rewrite._marquez import MARQUEZ
from headwater.posting import Backoff
from headwater.projection.live import Batch, Live
from packages.headwater.tests.support.recording_backend import pipeline, sent
from packages.headwater.tests.support.sinks import Answer, Said, Sink, serving

Json = dict[str, Any]

_ID = "0198a000-0000-7000-8000-00000000000"
_QUICK = Backoff(first=0.001, most=0.01)


class MarquezServer:
    """Runs and jobs as Marquez stores them.

    The last received event determines the state. A job's name is prefixed with its parent's.

    A test below compares it with the recorded responses.
    """

    def __init__(self) -> None:
        self.runs: dict[str, Json] = {}
        self.jobs: dict[str, tuple[str, str]] = {}
        """The namespace and full name of each run's job, also of the parents that it invents."""

    def answer(self, body: Json, _nth: int) -> Answer:
        """Accept an event, or reject it as Marquez does."""
        if body.get("eventType") is None:
            return 500
        facets = [*_facets(body["run"]), *_facets(body["job"])]
        for dataset in (*(body.get("inputs") or ()), *(body.get("outputs") or ())):
            facets += _facets(dataset)
        if "producer" not in body or any(
            "_producer" not in facet or "_schemaURL" not in facet for facet in facets
        ):
            return 422
        namespace, name = body["job"]["namespace"], body["job"]["name"]
        if parent := (body["run"].get("facets") or {}).get("parent"):
            above = self._parent(namespace, name, parent)
            name = f"{above}.{name.removeprefix(f'{above}.')}"
        self.jobs.setdefault(body["run"]["runId"], (namespace, name))
        run = self.runs.setdefault(body["run"]["runId"], {"startedAt": None, "endedAt": None})
        state = {"COMPLETE": "COMPLETED", "FAIL": "FAILED", "ABORT": "ABORTED"}
        kind = body["eventType"].upper()
        run["state"] = state.get(kind, "RUNNING")
        run["endedAt" if kind in state else "startedAt"] = _second(body["eventTime"])
        return 201

    def _parent(self, namespace: str, child: str, facet: Json) -> str:
        """Return the full name of the parent job, a placeholder unless the facet has it."""
        run_id, above, name = facet["run"]["runId"], facet["job"]["namespace"], facet["job"]["name"]
        if name == child:
            name = name.rpartition(".")[0] or name
        if self.jobs.get(run_id, (above, name)) != (above, name):
            run_id = f"{run_id} of {above} {name}"
        return self.jobs.setdefault(run_id, (namespace, name))[1]


def _second(text: str) -> datetime:
    return parse_time(text).replace(microsecond=0)


def _facets(holder: Json) -> Iterable[Json]:
    return (holder.get("facets") or {}).values()


class OpenMetadataServer:
    """Edges between known tables by OpenMetadata's rules (OpenLineageMapper)."""

    def __init__(self, *tables: str) -> None:
        self.tables = set(tables)
        self.edges: set[tuple[str, str]] = set()
        self.columns: set[tuple[str, str]] = set()

    def answer(self, body: Json, _nth: int) -> Answer:
        """Accept an event; always return 200."""
        if body["eventType"] != "COMPLETE" or not (body["inputs"] and body["outputs"]):
            return Said(200, {"status": "success", "lineageEdgesCreated": 0})
        names = [item["name"] for item in (*body["inputs"], *body["outputs"])]
        missing = [{"name": name} for name in names if name not in self.tables]
        created = {
            (read["name"], written["name"])
            for read in body["inputs"]
            for written in body["outputs"]
            if {read["name"], written["name"]} <= self.tables
        }
        self.edges |= created
        for written in body["outputs"]:
            lineage = written.get("outputFacets", {}).get("columnLineage", {}).get("fields", {})
            self.columns |= {(f, i["field"]) for f in lineage for i in lineage[f]["inputFields"]}
        if missing and not created:
            message = f"No lineage edges created: {len(missing)} dataset(s) could not be resolved"
            return Said(
                200, {"status": "failure", "message": message, "unresolvedDatasets": missing}
            )
        return Said(200, {"status": "success", "lineageEdgesCreated": len(created)})


@contextmanager
def _marquez(
    live: Live, answer: Callable[[Json, int], Answer], timeout: float = 30
) -> Iterator[Forwarder]:
    with serving(Sink(answer)) as sink:
        backend = Marquez(MarquezSettings(name="x", url=sink.url, timeout=timeout))
        forwarder = Forwarder("marquez", backend, live, _QUICK)
        yield forwarder
        forwarder.stop()


@contextmanager
def _openmetadata(live: Live, server: OpenMetadataServer) -> Iterator[tuple[Forwarder, Sink]]:
    with serving(Sink(server.answer)) as sink:
        backend = OpenMetadata(OpenMetadataSettings(name="x", url=sink.url))
        forwarder = Forwarder("openmetadata", backend, live, _QUICK)
        yield forwarder, sink
        forwarder.stop()


def _ingest(live: Live, build: Any, *events: Json) -> None:
    live.ingest(Batch([build.entry(event) for event in events]))


@pytest.mark.parametrize(
    "scenario",
    ["04-fail-abort-other", "11-late-and-repeated-events", "12-refused-and-not-found"],
)
def test_stand_in_responds_like_the_recorded_marquez(
    scenario: str, recorded: Path, build: Any
) -> None:
    folder, server = recorded / "marquez-answers" / scenario, MarquezServer()
    lines = (folder / "events.jsonl").read_text().splitlines()
    for line, post in zip(lines, json.loads((folder / "posts.json").read_text()), strict=True):
        try:
            build.entry(event := json.loads(line))
        except (EventError, json.JSONDecodeError):
            continue  # it is never delivered
        assert server.answer(event, 0) == post["status"], line
    checked = 0
    for asked in json.loads((folder / "answers" / "index.json").read_text()):
        run = server.runs.get(asked["path"].removeprefix("/api/v1/jobs/runs/"))
        if run and asked["status"] == 200:
            answer = json.loads((folder / "answers" / asked["file"]).read_text())
            times = {
                name: answer[name] and _second(answer[name]) for name in ("startedAt", "endedAt")
            }
            assert run == {"state": answer["state"], **times}, asked["path"]
            checked += 1
    assert checked > 4


@pytest.mark.parametrize(
    "scenario", ["02-parent-facet", "10-foreach-three-runs", "18-spark-create-table-as-select"]
)
def test_stand_in_has_the_recorded_jobs_and_runs_of_marquez(scenario: str, recorded: Path) -> None:
    folder, server = recorded / "marquez-answers" / scenario, MarquezServer()
    for line in (folder / "events.jsonl").read_text().splitlines():
        assert server.answer(json.loads(line), 0) == 201
    answers = {
        unquote(asked["path"]): json.loads((folder / "answers" / asked["file"]).read_text())
        for asked in json.loads((folder / "answers" / "index.json").read_text())
        if asked["file"]
    }
    jobs = answers["/api/v1/jobs?limit=100"]["jobs"]
    assert {(job["namespace"], job["name"]) for job in jobs} == set(server.jobs.values())
    for namespace, name in set(server.jobs.values()):
        runs = answers[f"/api/v1/namespaces/{namespace}/jobs/{name}/runs"]["runs"]
        assert len(runs) == list(server.jobs.values()).count((namespace, name))


def test_marquez_creates_no_placeholder_for_the_pipeline() -> None:
    """Marquez creates placeholders for events without the full name of the parent."""
    direct, delivered = MarquezServer(), MarquezServer()
    stage = next(event for event in pipeline() if event["job"]["name"] == "weather_stage")
    events = [*pipeline(), {**stage, "run": {"runId": _ID + "1", "facets": {}}}]
    for server, bodies in ((direct, events), (delivered, sent(MARQUEZ, events))):
        for body in bodies:
            assert server.answer(body, 0) == 201
    run_ids = {event["run"]["runId"] for event in events}
    assert run_ids < direct.jobs.keys()
    assert delivered.jobs.keys() == run_ids
    jobs = {event["job"]["name"] for event in events}
    # weather_stage ran below its task and by itself
    assert len(set(delivered.jobs.values())) == len(jobs) + 1 < len(set(direct.jobs.values()))
    flow = "train_forecast_model.run_flow.TrainForecastModelFlow"
    assert ("nyc_taxi", f"{flow}.TrainForecastModelFlow.train") in delivered.jobs.values()


@pytest.mark.server
@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 1, 0)])
def test_marquez_finds_parents_without_and_with_late_events(
    order: tuple[int, ...], live: Live, build: Any
) -> None:
    events = [
        build.run("START", _ID + "1", "dag.task", "08:00:00", parent=(_ID + "0", "dag")),
        build.run("START", _ID + "2", "app", "08:01:00", parent=(_ID + "1", "dag.task")),
        build.run("START", _ID + "3", "app.query", "08:02:00", parent=(_ID + "2", "app")),
    ]
    server = MarquezServer()
    with _marquez(live, server.answer) as forwarder:
        _ingest(live, build, *(events[at] for at in order))
        forwarder.drain()
        assert not forwarder.rejected
    names = {run[-1]: name for run, (_, name) in server.jobs.items()}
    assert names == {
        "0": "dag",
        "1": "dag.task",
        "2": "dag.task.app",
        "3": "dag.task.app.app.query",
    }


@pytest.mark.server
@pytest.mark.parametrize("order", ["in order", "start last", "running last", "backwards"])
@pytest.mark.parametrize("is_late", [False, True])
def test_marquez_run_does_not_depend_on_order(
    live: Live, build: Any, order: str, is_late: bool
) -> None:
    start, running, end = (
        build.run(kind, "0198a000-0000-7000-8000-000000000001", "f.j", time, writes=("x|out",))
        for kind, time in (("START", "08:00:00"), ("RUNNING", "08:02:00"), ("FAIL", "08:05:00"))
    )
    events = {
        "in order": [start, running, end],
        "start last": [running, end, start],
        "running last": [start, end, running],
        "backwards": [end, running, start],
    }[order]
    server = MarquezServer()
    with _marquez(live, server.answer) as forwarder:
        for event in events:
            _ingest(live, build, event)
            if is_late:
                forwarder.drain()
        forwarder.drain()
        assert not forwarder.rejected
    (run,) = server.runs.values()
    started, ended = (_second(item["eventTime"]) for item in (start, end))
    assert run == {"state": "FAILED", "startedAt": started, "endedAt": ended}


@pytest.mark.server
def test_events_that_marquez_rejects_are_rewritten(live: Live, build: Any) -> None:
    event = build.run("COMPLETE", "not a uuid", "f.j", "08:00:00", reads=("x|in",))
    del event["eventType"]
    event["inputs"][0]["facets"] = {"schema": {"fields": [{"name": "a", "type": None}]}}
    server = MarquezServer()
    with _marquez(live, server.answer) as forwarder:
        _ingest(live, build, event)
        assert forwarder.drain() == 1
        assert not forwarder.rejected


@pytest.mark.server
@pytest.mark.parametrize(
    "trouble", [401, 429, 500, 503, "cut", "closed", (429, {"Retry-After": "0"})]
)
def test_busy_server_gets_complete_events_in_order(live: Live, build: Any, trouble: Answer) -> None:
    server, answers = MarquezServer(), [trouble, 201, trouble]

    def answer(body: Json, nth: int) -> Answer:
        said = answers[nth] if nth < len(answers) else 201
        return server.answer(body, nth) if said == 201 else said

    with _marquez(live, answer) as forwarder:
        for run in ("a", "b", "c"):
            _ingest(live, build, build.run("COMPLETE", run, "f.j", "08:00:00"))
        assert forwarder.drain_patiently() in (2, 3)
        assert not forwarder.rejected
    assert len(server.runs) == 3


@pytest.mark.server
def test_openmetadata_has_edges_of_incremental_runs(live: Live, build: Any) -> None:
    arn = "arn:aws:glue:eu-west-1:123456789012"
    server = OpenMetadataServer("shop.raw", "shop.mart")
    reads = build.run("START", "r", "f.j", "08:00:00", reads=(f"{arn}|table/shop/raw",))
    writes = build.run("RUNNING", "r", "f.j", "08:01:00", writes=(f"{arn}|table/shop/mart",))
    source = {"namespace": arn, "name": "table/shop/raw", "field": "id"}
    lineage = {"fields": {"key": {"inputFields": [source]}}}
    writes["outputs"][0]["facets"]["columnLineage"] = lineage
    with _openmetadata(live, server) as (forwarder, sink):
        _ingest(live, build, reads, build.run("COMPLETE", "r", "f.j", "08:02:00"))
        forwarder.drain()
        assert not sink.requests
        _ingest(live, build, writes)
        forwarder.drain()
        assert [body["eventType"] for body in sink.requests] == ["COMPLETE"]
        assert sink.headers[0]["path"] == "/api/v1/openlineage/lineage"
    assert server.edges == {("shop.raw", "shop.mart")}
    assert server.columns == {("key", "id")}


@pytest.mark.server
def test_openmetadata_reports_missing_tables(live: Live, build: Any) -> None:
    server = OpenMetadataServer("shop.raw")
    event = build.run(
        "COMPLETE",
        "r",
        "f.j",
        "08:00:00",
        reads=("hive://h|shop.raw",),
        writes=("hive://h|shop.x",),
    )
    with _openmetadata(live, server) as (forwarder, _):
        _ingest(live, build, event)
        forwarder.drain()
        (standing,) = delivery_statuses(live.log)
        (letter,) = standing["newestDeadLetters"]
        assert letter["reason"].endswith("could not be resolved; missing tables: shop.x")
        server.tables.add("shop.x")
        forwarder._deliveries.retry()
        assert forwarder.drain() == 1
    assert server.edges == {("shop.raw", "shop.x")}


@pytest.mark.server
def test_hanging_server_times_out(live: Live, build: Any) -> None:
    with _marquez(live, lambda _body, _nth: "slow", timeout=0.05) as forwarder:
        _ingest(live, build, build.run("COMPLETE", "r", "f.j", "08:00:00"))
        with pytest.raises(UnavailableError, match="timed out"):
            forwarder.drain()
