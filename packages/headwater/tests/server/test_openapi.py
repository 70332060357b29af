"""The OpenAPI document: complete and correct; no documented request causes a 5xx."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import orjson
import pytest
from fastapi import FastAPI, Request, Response
from fastapi.responses import StreamingResponse
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, Phase, given, settings
from jsonschema import Draft202012Validator

from headwater.log import EventLog, entry_of
from headwater.projection.live import Batch, Live
from headwater.server._options import ServerOptions
from headwater.server.app import make_app
from headwater.server.openapi import document
from packages.headwater.tests.support.sample import sample, sample_events
from packages.headwater.tests.support.sample_queries import asked

_STREAM = "/api/v2/events/stream"  # never ends


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FastAPI]:
    """Yield an application with the sample lineage."""
    log = EventLog(f"sqlite:///{tmp_path_factory.mktemp('openapi') / 'log.db'}")
    live = Live(log)
    live.ingest(Batch([entry_of(raw) for raw in sample_events()]))
    yield make_app(live)
    log.close()


@pytest.fixture(scope="module")
def schema(app: FastAPI) -> Any:
    """Return the schemathesis schema of the document."""
    import schemathesis  # slow to import

    spec = document(app)
    del spec["paths"][_STREAM]
    loaded = schemathesis.openapi.from_dict(spec)
    loaded.app = app
    return loaded


def _operations(spec: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, item in spec["paths"].items():
        for method, operation in item.items():
            yield f"{method.upper()} {path}", operation


def test_every_route_and_every_parameter_is_described(app: FastAPI) -> None:
    spec = document(app)
    routes = [item for item in app.routes if isinstance(item, APIRoute) and item.include_in_schema]
    assert {route.path.replace(":segment", "") for route in routes} == spec["paths"].keys()
    for name, operation in _operations(spec):
        assert operation.get("description"), name
        for parameter in operation.get("parameters", ()):
            assert parameter["description"], (name, parameter["name"])


def test_every_field_of_every_response_has_a_type(app: FastAPI) -> None:
    spec = document(app)
    untyped: list[str] = []
    for name, schema in spec["components"]["schemas"].items():
        untyped += _untyped(schema, name)
    for name, operation in _operations(spec):
        for code, response in operation["responses"].items():
            content = response.get("content", {}).get("application/json")
            if content:
                untyped += _untyped(content["schema"], f"{name} {code}")
    assert set(untyped) == _AS_REPORTED


_AS_REPORTED = {
    "EventInfo.eventType",
    "EventInfo.eventTime",
    "EventInfo.producer",
    "Error.errors[]",
}
"""Fields that pass on what a producer sent, whatever its type; and the errors of each event."""


def _untyped(schema: dict[str, Any], where: str) -> list[str]:
    """Return where a schema has no type."""
    if "$ref" in schema:
        return []
    if "anyOf" in schema:
        return [line for option in schema["anyOf"] for line in _untyped(option, where)]
    if schema.get("type") == "object" and "properties" in schema:
        fields = schema["properties"].items()
        return [line for key, field in fields for line in _untyped(field, f"{where}.{key}")]
    if schema.get("type") == "array":
        return _untyped(schema["items"], f"{where}[]")
    return [] if schema.get("type") else [where]


def test_every_response_to_the_sample_queries_matches_its_schema(tmp_path: Path) -> None:
    live = sample(f"sqlite:///{tmp_path / 'log.db'}")
    app = make_app(live)
    spec = document(app)
    routes = {
        route.path.replace(":segment}", "}"): route
        for route in app.routes
        if isinstance(route, APIRoute) and "GET" in route.methods
    }
    queries = asked(live)
    documented = {path for path, item in spec["paths"].items() if "get" in item}
    assert documented - queries.keys() == {_STREAM}
    for path, parameters in queries.items():
        content = spec["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]
        validator = Draft202012Validator({**content["schema"], "components": spec["components"]})
        for values in parameters:
            errors = list(validator.iter_errors(_call(routes[path], live, values)))
            assert [error.message for error in errors] == [], (path, values)
    live.log.close()


def _call(route: APIRoute, live: Live, values: dict[str, Any]) -> Any:
    tail = values.pop("tail", None)
    state = SimpleNamespace(live=live, tail=tail)
    given = {"live": live, "request": Request({"type": "http"}), "state": state}
    for name, parameter in inspect.signature(route.endpoint).parameters.items():
        default = given.get(name, parameter.default)
        if default is not inspect.Parameter.empty:
            values.setdefault(name, default)
    return orjson.loads(asyncio.run(_body(route.endpoint(**values))))


async def _body(response: Response) -> bytes:
    if isinstance(response, StreamingResponse):
        return b"".join([part async for part in response.body_iterator])  # type: ignore[misc]
    return bytes(response.body)


def test_openapi_document_needs_the_key(app: FastAPI) -> None:
    with TestClient(make_app(app.state.live, ServerOptions(api_key="secret"))) as client:
        assert client.get("/openapi.json").status_code == 401
        shown = client.get("/openapi.json", headers={"Authorization": "Bearer secret"}).json()
    assert shown["openapi"].startswith("3.1")
    assert shown["paths"].keys() == document(app)["paths"].keys()


_BOUNDED = settings(
    max_examples=4,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.replay
def test_every_documented_request_gets_a_documented_response(
    schema: Any,
) -> None:
    from schemathesis.checks import not_a_server_error
    from schemathesis.generation import GenerationMode
    from schemathesis.specs.openapi import checks

    conformance = (
        checks.status_code_conformance,
        checks.content_type_conformance,
        checks.response_schema_conformance,
    )
    asked = 0
    for found in schema.get_all_operations():
        operation = found.ok()
        # Paths and headers accept any text, so a search for invalid values would only take time.
        can_be_wrong = operation.query or operation.body
        for mode in GenerationMode if can_be_wrong else [GenerationMode.POSITIVE]:

            @_BOUNDED
            @given(case=operation.as_strategy(generation_mode=mode))
            def ask(case: Any) -> None:
                nonlocal asked
                asked += 1
                case.call_and_validate(checks=[not_a_server_error, *conformance])

            ask()
    assert asked > 400
