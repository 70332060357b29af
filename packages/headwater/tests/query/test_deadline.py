"""Every query checks its deadline, and leaves no partial results when it is stopped."""

from __future__ import annotations

from contextvars import copy_context
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import orjson
import pytest
from fastapi.testclient import TestClient

from headwater import deadline
from headwater.errors import BusyError, DeadlineError
from headwater.events import Logged
from headwater.identity import DatasetName
from headwater.log import EventLog
from headwater.plugins.aliases._entry import make_alias
from headwater.projection import State, project
from headwater.projection.live import Batch, Live
from headwater.query.registry import Times, load_queries
from headwater.server._options import ServerOptions
from headwater.server.app import make_app
from packages.headwater.tests.support.moments import at

pytestmark = pytest.mark.replay

_COUNT = 40
_NODE = {"node": "dataset:db:d0"}
_ASKED: dict[str, list[dict[str, Any]]] = {
    "graph": [{"node": f"dataset:db:d{_COUNT}", "up": 100, "columns": True}],
    "node": [{"node": "dataset:db:hub"}, {"node": "job:demo:often"}],
    "tree": [{"node": f"dataset:db:d{_COUNT}", "control": True}, {**_NODE, "direction": "down"}],
    "columns": [{"node": f"dataset:db:d{_COUNT}"}, {**_NODE, "direction": "down"}],
    "column": [{"node": f"dataset:db:d{_COUNT}", "field": "x"}],
    "impact": [_NODE, {**_NODE, "field": "x"}],
    "path": [
        {"from_": "d0", "to": f"d{_COUNT}"},
        {"from_": "d0", "to": f"d{_COUNT}", "control": True},
    ],
    "provenance": [{"node": f"dataset:db:d{_COUNT}"}],
    "provenance/statement": [{"node": f"dataset:db:d{_COUNT}"}],
    "history": [{"node": "dataset:db:hub"}, {"node": "job:demo:often"}],
    "drift": [{}, {"node": "dataset:db:hub"}],
    "timeline": [{"node": f"dataset:db:d{_COUNT}", "up": 100}, {"node": "dataset:db:hub"}],
    "tags": [{}, {"node": f"dataset:db:d{_COUNT}"}],
    "tagged": [{"tag": "pii"}],
    "unused": [{}, {"days": 1}],
    "edges": [{}, {"level": "pipeline"}, {"kind": "control"}],
    "nodes": [{}],
    "diff": [{}],
    "runs": [{}, {"job": "often"}, {"effective": "task"}, {"own_id": "dag_41"}, {"facets": True}],
    "datasets": [{}, {"sort": "written"}],
    "jobs": [{}, {"sort": "started"}],
    "groups": [{}, {"by": "tag"}],
    "runtree": [{"run": "top"}, {"run": "dag_41"}],
    "search": [{"text": "d1"}, {"text": "dd11"}, {"text": "d1", "facets": True}],
    "newest": [{}],
    "aliases": [{}],
    "aliases/suggested": [{}],
    "export": [{}],
    "health": [{}],
    "findings": [{}],
    "problems": [{}],
    "pipelines": [{}],
    "map": [{}, {"by": "owner"}],
    "freshness/datasets": [{}],
    "completeness/pipelines": [{}],
    "freshness": [{}],
    "lateness": [{"node": f"dataset:db:d{_COUNT}"}, {"node": "job:demo:often"}],
    "completeness": [{}],
    "gate": [{"dataset": [f"d{_COUNT}"]}],
    "check": [{}],
    "version": [{"version": "d1@r0"}],
    "taints": [{}, {"node": f"dataset:db:d{_COUNT}"}],
    "incident": [{"subject": "d1@r0"}, {"subject": "r0"}],
    "why": [{"from_": "dataset:db:hub", "to": "job:demo:often"}],
}
_EACH = [(name, asked) for name, all_ in _ASKED.items() for asked in all_]


def _events(build: Any) -> list[Any]:
    """Return a chain of datasets, a job with many runs on one, and a run above them."""
    named = {"tags": {"tags": [{"key": "run_id", "value": "dag_41"}]}}
    events = [build.run("COMPLETE", "top", "top", "07:00:00", kind="AIRFLOW/DAG", facets=named)]
    for n in range(_COUNT):
        event = build.run(
            "COMPLETE", f"r{n}", f"j{n}", f"08:00:{n:02}", parent=("top", "top"),
            kind="AIRFLOW/TASK", reads=(f"db|d{n}",),
        )  # fmt: skip
        columns = {"x": {"inputFields": [{"namespace": "db", "name": f"d{n}", "field": "x"}]}}
        tags = {"tags": [{"key": "pii", "value": "true", "field": "x"}]}
        dataset = build.dataset(f"db|d{n + 1}", columnLineage={"fields": columns}, tags=tags)
        event["outputs"] = [dataset]
        after = {"job": {"namespace": "demo", "name": "top"}, "run": {"runId": "top"}}
        event["run"]["facets"]["jobDependencies"] = {"upstream": [after]}
        often = build.run("FAIL", f"o{n}", "often", f"09:{n:02}:00")
        fields = [{"name": f"f{n}", "type": "int"}]
        often["outputs"] = [build.dataset("db|hub", schema={"fields": fields})]
        events += [event, often]
    return events


@pytest.fixture(scope="module")
def events(build: Any) -> list[Logged]:
    """Return the events of the runs and as many events with aliases."""
    names = [DatasetName("db", f"d{number}") for number in range(_COUNT)]
    joined = [make_alias(n, n._replace(name=f"{n.name}_"), 1) for n in names]
    entries = [*(build.entry(body) for body in _events(build)), *joined]
    return [entry.event for entry in entries]


def _state(events: list[Logged]) -> State:
    return at(project(events), "2025-11-23T00:00:00Z")


@pytest.fixture(scope="module")
def uninterrupted(events: list[Logged]) -> State:
    """Return a state in which no query was stopped."""
    return _state(events)


def _answer(state: State, build: Any, name: str, asked: dict[str, Any]) -> bytes:
    query = load_queries()[name]
    states = [build.state(), state] if query.times is Times.BETWEEN else [state]
    return orjson.dumps(query.answer(*states, **asked), default=list)


def _stop(ticks: int, state: State, build: Any, name: str, asked: dict[str, Any]) -> None:
    """Send a query whose deadline passes after `ticks` readings of the clock."""
    looks = iter(range(1_000_000))

    def hasty() -> None:
        deadline.start(ticks, lambda: next(looks))  # each reading of the clock adds a second
        _answer(state, build, name, asked)

    message = f"longer than {ticks} s|repeat the query, which continues"
    with pytest.raises((BusyError, DeadlineError), match=message):
        copy_context().run(hasty)


@pytest.mark.parametrize(("name", "asked"), _EACH)
def test_query_stops_at_the_deadline_and_can_be_repeated(
    name: str, asked: dict[str, Any], events: list[Logged], uninterrupted: State, build: Any
) -> None:
    expected = _answer(uninterrupted, build, name, asked)
    for ticks in (_COUNT // 2, _COUNT - 5):
        state = _state(events)
        _stop(ticks, state, build, name, asked)
        assert _answer(state, build, name, asked) == expected


_MARQUEZ = (
    *(f"stats/{what}?period=DAY" for what in ("lineage-events", "jobs", "datasets", "sources")),
    *("search?q=d", "sources", "tags", "lineage?nodeId=dataset:db:d20"),
    f"column-lineage?nodeId=dataset:db:d{_COUNT}&depth=100",
    f"runlineage/upstream?runId=r{_COUNT - 1}&depth=100",
)


@pytest.mark.parametrize("path", _MARQUEZ)
def test_marquez_queries_stop_at_the_deadline_with_a_400(
    path: str, build: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    live = Live(EventLog(str(tmp_path / "log.db")))
    live.ingest(Batch([build.entry(body) for body in _events(build)]))
    looks = iter(range(1_000_000))
    with TestClient(make_app(live, ServerOptions(longest_query=_COUNT // 2))) as client:
        with monkeypatch.context() as patched:
            patched.setattr(deadline, "time", SimpleNamespace(monotonic=lambda: next(looks)))
            stopped = client.get(f"/api/v1/{path}")
        assert (stopped.status_code, "longer than 20 s" in stopped.text) == (400, True)
        assert client.get(f"/api/v1/{path}").status_code == 200
    live.log.close()


def test_walk_of_a_graph_stops_at_the_deadline() -> None:
    looks, waiting, walked = iter(range(9)), [0], list[int]()

    def walk() -> None:
        deadline.start(3, lambda: next(looks))
        for item in deadline.popped(waiting):
            assert item < 9, "the walk has no end, and nothing stopped it"
            walked.append(item)
            waiting.append(item + 1)

    with pytest.raises(DeadlineError):
        copy_context().run(walk)
    assert (walked, waiting) == ([0, 1, 2], [3])


def test_every_query_is_covered_by_the_deadline_test() -> None:
    assert _ASKED.keys() == load_queries().keys()
