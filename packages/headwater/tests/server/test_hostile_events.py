"""No event and no header makes a GET request fail with a 5xx."""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlencode

import httpx
import orjson
import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater.log import EventLog
from headwater.plugins.sql.dialects import dialect_of
from headwater.projection.live import Live
from headwater.server._options import ServerOptions
from headwater.server.app import make_app
from packages.headwater.tests.support.asgi import asgi_client

from .test_api_junk import _full

_FACET = {"_producer": "https://example.org", "_schemaURL": "https://example.org/x.json"}
_URLS = ("http://[bad", "http://[::1", "https://h:99999/x", "//", "http://", "http://h/\x00", "x:y")
_TIMES = (
    *("0001-01-01T00:00:00Z", "0001-01-01T00:00:00+14:00", "0001-01-02T03:04:05.678901-11:00"),
    *("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59-14:00", "2025-11-21", "24:00", "0"),
)
_HOSTILE: tuple[Any, ...] = (
    *_URLS,
    *_TIMES,
    *(None, True, False, 0, -1, 1.5, 2**31, 2**63, -(2**63), 10**30, 1e308, float("nan")),
    *("", " ", "\x00", "\ud800", "\x1b]52;c;eA==\x07", "a\r\nb", "\u202ex", "²", "٣", "NaN", "-0"),
    *([], {}, [[]], [None], {"a": None}, ["START"], [{}], [[["x"]]], {"": {"": []}}, "x" * 5_000),
    *({"namespace": 1, "name": 2}, [{"namespace": "", "name": ""}], [{"name": ["a"]}]),
)


def _event(build: Any, number: int) -> dict[str, Any]:
    """Return an event with every facet that the server reads."""
    event = _full(build, number)
    event["producer"] = "https://example.org/tests"
    event["schemaURL"] = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
    event["run"]["facets"] |= {
        "airflow": {
            "taskInstance": {"log_url": "https://h/dags/d/runs/r/tasks/t?try_number=1"},
            "dag": {"dag_id": "dag"},
            "task": {"task_id": "t"},
        },
        "airflowDagRun": {"dagRun": {"dag_id": "dag", "run_id": "r"}},
        "metaflow_task": {"pathspec": "F/1/s/2", "url": "https://h/F/1/s/2"},
        "errorMessage": {"message": "m", "programmingLanguage": "x", "stackTrace": "s"},
        "executionParameters": {"parameters": [{"key": "k", "name": "n", "value": "v"}]},
        "processing_engine": {"name": "spark", "version": "4"},
        "tags": {"tags": [{"key": "k", "value": "v", "source": "s"}]},
        "externalQuery": {"externalQueryId": "q", "source": "s"},
    }
    event["job"]["facets"] |= {
        "sql": {"query": "select 1", "dialect": "ansi"},
        "ownership": {"owners": [{"name": "n", "type": "t"}]},
        "tags": {"tags": [{"key": "k", "value": "v"}]},
        "sourceCode": {"language": "python", "sourceCode": "1"},
    }
    (table,) = event["outputs"]
    table["facets"] |= {
        "columnLineage": {
            "fields": {
                "a": {
                    "inputFields": [
                        {
                            "namespace": "db",
                            "name": "a",
                            "field": "b",
                            "transformations": [{"type": "DIRECT", "subtype": "IDENTITY"}],
                        }
                    ],
                    "transformationType": "IDENTITY",
                }
            },
            "dataset": [{"namespace": "db", "name": "a", "field": "c"}],
        },
        "ownership": {"owners": [{"name": "n", "type": "t"}]},
        "documentation": {"description": "d"},
        "tags": {"tags": [{"key": "k", "value": "v", "field": "a"}]},
        "storage": {"storageLayer": "iceberg", "fileFormat": "parquet"},
        "datasetType": {"datasetType": "TABLE"},
    }
    (source,) = event["inputs"]
    source["inputFacets"] = {
        "dataQualityMetrics": {"rowCount": 1, "columnMetrics": {"a": {"nullCount": 0, "min": 1}}},
        "dataQualityAssertions": {
            "assertions": [{"assertion": "not_null", "success": False, "column": "a"}]
        },
        "inputStatistics": {"rowCount": 1, "size": 2, "fileCount": 3},
    }
    return event


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    if isinstance(value, list):
        value = dict(enumerate(value))
    for key, item in value.items() if isinstance(value, dict) else ():
        yield from _paths(item, (*path, key))


def _with(event: dict[str, Any], path: tuple[Any, ...], value: Any) -> None:
    """Set the value at a path, unless a parent was replaced."""
    target: Any = event
    for key in path[:-1]:
        inside = isinstance(target, dict) and key in target
        inside = inside or (isinstance(target, list) and isinstance(key, int) and key < len(target))
        if not inside:
            return
        target = target[key]
    if isinstance(target, dict) or (
        isinstance(target, list) and isinstance(path[-1], int) and path[-1] < len(target)
    ):
        target[path[-1]] = value


_NO_PARAMETERS = {"/api/v2/events/stream"}  # endless


def _urls(spec: dict[str, Any], nodes: list[str], runs: list[str]) -> Iterator[str]:
    """Return every GET request of the API for nodes and runs."""
    for path, operations in spec["paths"].items():
        if "get" not in operations or path in _NO_PARAMETERS:
            continue
        parameters = operations["get"].get("parameters", [])
        for node in nodes:
            for run in runs:
                yield _url(path, parameters, node, run)


def _url(path: str, parameters: list[Any], node: str, run: str) -> str:
    kind, namespace, name = (*node.split(":", 2), "", "")[:3]
    values = {
        "nodeId": node,
        "node": node,
        "from": node,
        "to": node,
        "dataset": node,
        "run": run,
        "runId": run,
        "run_id": run,
        "type": "run",
        "q": name[:20],
        "text": name[:20],
        "namespace": namespace,
        "job": name,
        "field": "a",
        "period": "DAY",
        "key": "k",
        "source": namespace,
        "version": "1",
        "tag": "k",
        "subject": run,
    }
    if path.endswith("/diff"):
        values |= {"from": "2025-11-20T00:00:00Z", "to": "2025-11-23T00:00:00Z"}
    query: dict[str, str] = {}
    if path.endswith("/timeline"):
        query = {"from": _TIMES[0], "to": "9999-12-31T23:59:59Z"}
    for parameter in parameters:
        name_ = parameter["name"]
        if parameter["in"] == "path":
            path = path.replace(f"{{{name_}}}", quote(values.get(name_, "x"), safe="") or "-")
        elif parameter.get("required"):
            query[name_] = values[name_]
    return f"{path}?{urlencode(query)}" if query else path


_PLACES = st.integers(0, 10_000)
_CHANGES = st.lists(st.tuples(_PLACES, st.sampled_from(_HOSTILE)), min_size=1, max_size=3)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """Yield a server with the events of all examples."""
    log = EventLog(str(tmp_path_factory.mktemp("hostile") / "log.db"))
    with asgi_client(make_app(Live(log))) as client:
        yield client
    log.close()


class _Spec(dict[str, Any]):
    """The OpenAPI document, which a failed example does not print."""

    def __repr__(self) -> str:
        return "spec"


@pytest.fixture(scope="module")
def spec(hostile: httpx.Client) -> dict[str, Any]:
    """Return the OpenAPI document."""
    return _Spec(hostile.get("/openapi.json").json())


@pytest.mark.replay
@settings(max_examples=10, suppress_health_check=list(HealthCheck))
@given(changes=st.lists(_CHANGES, min_size=1, max_size=12))
def test_hostile_event_never_breaks_a_get_request(
    hostile: httpx.Client, build: Any, spec: dict[str, Any], changes: list[list[tuple[int, Any]]]
) -> None:
    for number, change in enumerate(changes):
        event = copy.deepcopy(_event(build, number))
        places = list(_paths(event))
        for place, value in change:
            _with(event, places[place % len(places)], copy.deepcopy(value))
        answer = hostile.post("/api/v1/lineage", content=json.dumps(event).encode())
        assert answer.status_code in (201, 400, 422), (answer.text, event)
    _ask_everything(hostile, spec)


@pytest.mark.parametrize("name", ["//", "..", "parser", "sqlglot", "this", "\0", "\ud800"])
def test_name_from_an_event_never_selects_a_module_as_dialect(name: str) -> None:
    modules = {*sys.modules}
    assert dialect_of(name, name) is None
    assert {*sys.modules} == modules


@pytest.mark.replay
@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("run", "facets", "airflow", "taskInstance", "log_url"), "http://[bad"),
        (("run", "facets", "metaflow_task", "url"), "http://[bad"),
        (("eventType",), ["START"]),
        *((("eventTime",), time) for time in (_TIMES[0], *_TIMES[2:4])),
    ],
)
def test_requests_succeed_after_hostile_value(
    live: Live, build: Any, spec: dict[str, Any], path: tuple[Any, ...], value: Any
) -> None:
    with asgi_client(make_app(live)) as client:
        for number in (1, 2, 3):
            event = _event(build, number)
            event["run"]["facets"].pop("airflow" if "metaflow_task" in path else "metaflow_task")
            _with(event, path, value)
            assert client.post("/api/v1/lineage", content=orjson.dumps(event)).status_code == 201
        _ask_everything(client, spec, most=4)


def _ask_everything(client: httpx.Client, spec: dict[str, Any], most: int = 8) -> None:
    """Send every GET request for up to `most` nodes, the usual ones first."""
    nodes = [node["id"] for node in client.get("/api/v2/nodes?limit=1000").json()["items"]]
    usual = ["job:demo:dag.t", "job:demo:dag", "dataset:hive:db.t", "dataset:db:a"]
    nodes = [*usual, *(node for node in nodes if node not in usual)][:most]
    for url in _urls(spec, nodes, ["r1"]):
        answer = client.get(url)
        assert answer.status_code < 500, (url, answer.text)


@pytest.fixture(scope="module")
def clients(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, TestClient]]:
    """Yield a client per API key of a server."""
    live = Live(EventLog(str(tmp_path_factory.mktemp("empty") / "log.db")))
    apps = {key: make_app(live, ServerOptions(api_key=key)) for key in ("", "secret")}
    yield {key: TestClient(app, raise_server_exceptions=False) for key, app in apps.items()}
    live.log.close()


@pytest.mark.parametrize(
    "header",
    [
        "Authorization",
        "Host",
        "Origin",
        "Last-Event-ID",
        "If-None-Match",
        "Accept",
        "Accept-Encoding",
    ],
)
@pytest.mark.parametrize("key", ["", "secret"])
def test_invalid_header_causes_no_server_error(
    clients: dict[str, TestClient], header: str, key: str
) -> None:
    values = ["Basic é", "Bearer é", "Basic ====", "é", "[", "http://[", 'W/"', "\t", "9" * 5_000]
    for value in values:
        headers = {header.encode(): value.encode("latin-1")}
        for path in ("/api/v2/nodes", "/healthz", "/api/v1/namespaces"):
            assert clients[key].get(path, headers=headers).status_code < 500, (path, value)
