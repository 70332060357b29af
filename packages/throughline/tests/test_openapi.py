"""The OpenAPI document: whole, true, and nothing that it allows gives a 5xx."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from fastapi import FastAPI
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, Phase, given, settings
from jsonschema import Draft202012Validator
from schemathesis.checks import not_a_server_error
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from throughline.api import make_app
from throughline.api.access import Access
from throughline.api.document import document
from throughline.api.document.sample import sample_events
from throughline.log import EventLog, entry_of
from throughline.projection.live import Batch, Live

_STREAM = "/api/v2/events/stream"  # never ends


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FastAPI]:
    """An application over the sample lineage."""
    log = EventLog(f"sqlite:///{tmp_path_factory.mktemp('openapi') / 'log.db'}")
    live = Live(log)
    live.ingest(Batch([entry_of(raw) for raw in sample_events()]))
    yield make_app(live)
    log.close()


@pytest.fixture(scope="module")
def schema(app: FastAPI) -> Any:
    """What schemathesis makes of the document."""
    made = document(app)
    del made["paths"][_STREAM]
    loaded = schemathesis.openapi.from_dict(made)
    loaded.app = app
    return loaded


def _operations(made: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, item in made["paths"].items():
        for method, operation in item.items():
            yield f"{method.upper()} {path}", operation


def test_every_route_and_every_parameter_is_described(app: FastAPI) -> None:
    made = document(app)
    routes = [each for each in app.routes if isinstance(each, APIRoute) and each.include_in_schema]
    assert {route.path.replace(":segment", "") for route in routes} == made["paths"].keys()
    for name, operation in _operations(made):
        assert operation.get("description"), name
        for parameter in operation.get("parameters", ()):
            assert parameter["description"], (name, parameter["name"])


def test_every_field_of_every_answer_has_a_type_and_an_example(app: FastAPI) -> None:
    made = document(app)
    bare: list[str] = []
    for name, each in made["components"]["schemas"].items():
        bare += _bare(each, name)
    for name, operation in _operations(made):
        for code, response in operation["responses"].items():
            content = response.get("content", {}).get("application/json")
            if content:
                assert "example" in content, (name, code)
                bare += _bare(content["schema"], f"{name} {code}")
    assert bare == []


def _bare(schema: dict[str, Any], where: str) -> list[str]:
    """Where a schema tells neither a type nor an example; null is one beside another type."""
    if "$ref" in schema:
        return []
    if "anyOf" in schema:
        return [line for each in schema["anyOf"] for line in _bare(each, where)]
    if schema.get("type") == "object" and "properties" in schema:
        found = schema["properties"].items()
        return [line for key, each in found for line in _bare(each, f"{where}.{key}")]
    if schema.get("type") == "array":
        return _bare(schema["items"], f"{where}[]")
    return [] if schema.get("type") == "null" or schema.get("examples") else [where]


def test_every_example_is_what_its_schema_says(app: FastAPI) -> None:
    made = document(app)
    for name, operation in _operations(made):
        for response in operation["responses"].values():
            content = response.get("content", {}).get("application/json")
            if content:
                whole = {**content["schema"], "components": made["components"]}
                errors = Draft202012Validator(whole).iter_errors(content["example"])
                assert [error.message for error in errors] == [], name


def test_the_document_needs_the_key_like_everything_else(app: FastAPI) -> None:
    with TestClient(make_app(app.state.live, Access(api_key="secret"))) as client:
        assert client.get("/openapi.json").status_code == 401
        shown = client.get("/openapi.json", headers={"Authorization": "Bearer secret"}).json()
    assert shown["openapi"].startswith("3.1")
    assert shown["paths"].keys() == document(app)["paths"].keys()


_CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
_BOUNDED = settings(
    max_examples=6,
    derandomize=True,
    deadline=None,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.replay
def test_nothing_that_the_document_allows_gives_a_5xx_or_an_answer_that_it_does_not_tell(
    schema: Any,
) -> None:
    asked = 0
    for found in schema.get_all_operations():
        operation = found.ok()
        # A path and a header take any text: nothing can be wrong, and the search for it is long.
        can_be_wrong = operation.query or operation.body
        for mode in GenerationMode if can_be_wrong else [GenerationMode.POSITIVE]:

            @_BOUNDED
            @given(case=operation.as_strategy(generation_mode=mode))
            def ask(case: schemathesis.Case[Any]) -> None:
                nonlocal asked
                asked += 1
                case.call_and_validate(checks=_CHECKS)

            ask()
    assert asked > 400
