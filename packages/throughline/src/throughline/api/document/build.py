"""Make the document: FastAPI's, with schemas, examples and every error of each route."""

from __future__ import annotations

import inspect
import re
from typing import Any

import orjson
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from throughline.api.document.asked import asked
from throughline.api.document.learned import Learner, shortened
from throughline.api.document.sample import sample
from throughline.api.http import Tagged

_SEGMENT = re.compile(r":segment}")
_JSON = "application/json"
_ERRORS = {
    400: (
        "a parameter or the body cannot be used",
        "depth: received 'x', expected a valid integer",
    ),
    401: ("no API key, where one is needed", "Authorization: Bearer <API key> is needed"),
    403: (
        "the key lacks the scope, or a page of another origin asks",
        "the key 'spark' has the scope write; this needs read",
    ),
    404: ("nothing has that name", "Dataset 'shop.order' not found."),
    405: ("the route has no such method", "HTTP 405 Method Not Allowed"),
    408: (
        "the body did not arrive in time",
        "the body did not arrive in full within 60 s: send less at once, or raise"
        " THROUGHLINE_BODY_SECONDS",
    ),
    409: ("it cannot be done as things stand", "the name 'spark' is taken"),
    413: (
        "the body is larger than the server takes",
        "$: received more than 67108864 bytes, expected at most 67108864 bytes, unzipped",
    ),
    421: (
        "a name that is not of this host, on a server without keys",
        "Host: received 'evil.example', expected one of localhost",
    ),
    422: (
        "an event cannot be placed",
        "run.runId: received nothing, expected a non-empty string",
    ),
    503: (
        "overloaded, or no response from the store; retry later",
        "cannot read the database: disk I/O error",
    ),
}
_ALWAYS = (401, 403, 421, 503)
_NODES = {"node", "nodeId", "run", "runId", "job", "from", "dataset", "asOf"}
"""Parameters that name something, which may not be there."""

_PARTS = {
    "namespace": "A namespace, percent-encoded: `s3%3A%2F%2Flake`.",
    "job": "The name of a job, or Marquez's `parent.child` form of it, percent-encoded.",
    "dataset": "Any name of a dataset, percent-encoded.",
    "version": "The id of a version; of a dataset also what its version facet says.",
    "run_id": "The id of a run.",
    "source": "The name of a source, percent-encoded.",
    "backend": "The name of a backend.",
    "name": "The name of a key.",
    "level": "How fine: pipeline, task or query.",
    "limit": "How many at most.",
    "offset": "How many to leave out.",
}
"""Parameters that mean the same everywhere."""

_TAG = '"6ea5c6e8b1e7ea6e4a0d4bd9e7f9a1c3"'
_IF_NONE_MATCH = {
    "name": "If-None-Match",
    "in": "header",
    "required": False,
    "description": "ETags of answers that the client has, or `*`: of the same answer only a 304.",
    "schema": {"type": "string", "examples": [_TAG]},
}
_ETAG = {"description": "Another one for another answer.", "schema": {"type": "string"}}

_REFERENCE = {"$ref": "#/components/schemas/Error"}
_ERROR = {
    "type": "object",
    "properties": {
        "code": {"type": "integer", "description": "the status", "examples": [404]},
        "message": {"type": "string", "examples": ["Dataset 'shop.order' not found."]},
        "nearest": {"type": "array", "items": {"type": "string", "examples": ["shop.orders"]}},
        "errors": {
            "type": "array",
            "items": {"examples": ["depth: received 'x', expected a valid integer"]},
        },
        "path": {"type": "string", "examples": ["run.runId"]},
        "received": {"type": "string", "examples": ["nothing"]},
        "expected": {"type": "string", "examples": ["a non-empty string"]},
    },
    "required": ["code", "message"],
}


def document(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI 3.1 document of an application."""
    made = get_openapi(
        title=app.title,
        version=app.version,
        description="`/api/v1` is Marquez's read API and takes events, `/api/v2` goes beyond it.",
        routes=app.routes,
    )
    routes = {
        (_SEGMENT.sub("}", route.path), method.lower()): route
        for route in app.routes
        if isinstance(route, APIRoute)
        for method in route.methods
    }
    learner = Learner()
    answers = _answers(routes)
    for each in answers.values():
        learner.see(each)
    made["paths"] = {_SEGMENT.sub("}", path): item for path, item in made["paths"].items()}
    for path, item in made["paths"].items():
        for method, operation in item.items():
            _complete(operation, routes[path, method], learner)
            if (path, method) in answers:
                operation["responses"]["200"]["content"] = {
                    _JSON: {
                        "schema": learner.schema(answers[path, method]),
                        "example": shortened(answers[path, method][0]),
                    }
                }
    made["components"]["schemas"] = {"Error": _ERROR, **learner.components(), **_kept(made)}
    made["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    made["security"] = [{"key": []}, {}]
    return made


def _answers(routes: dict[tuple[str, str], APIRoute]) -> dict[tuple[str, str], list[Any]]:
    """What the routes answer to the sample, by path and method."""
    live = sample()
    try:
        return {
            (path, "get"): [_ask(routes[path, "get"], live, values) for values in questions]
            for path, questions in asked(live).items()
        }
    finally:
        live.log.close()


def _ask(route: APIRoute, live: Any, values: dict[str, Any]) -> Any:
    known = {
        name: parameter.default
        for name, parameter in inspect.signature(route.endpoint).parameters.items()
        if parameter.default is not inspect.Parameter.empty
    }
    return orjson.loads(route.endpoint(live=live, **{**known, **values}).body)


def _complete(operation: dict[str, Any], route: APIRoute, learner: Learner) -> None:
    """Schemas of the answers that a route names itself, and every way in which it can refuse."""
    for parameter in operation.get("parameters", ()):
        parameter.setdefault("description", _PARTS.get(parameter["name"], ""))
    responses = operation["responses"]
    if isinstance(route, Tagged):
        operation.setdefault("parameters", []).append(_IF_NONE_MATCH)
        responses["200"]["headers"] = {"ETag": _ETAG}
        responses["304"] = {"description": "as the client has it", "headers": {"ETag": _ETAG}}
    if "ValidationError" in str(responses.get("422")):
        del responses["422"]  # FastAPI's own, which is a 400 here
    contents = {code: each.get("content", {}).get(_JSON, {}) for code, each in responses.items()}
    examples = [content["example"] for content in contents.values() if "example" in content]
    for code, content in contents.items():
        if "example" in content:
            schema = learner.schema(examples)
            content["schema"] = {"anyOf": [schema, _REFERENCE]} if code == "422" else schema
    for code, content in contents.items():
        if content == {"schema": {}}:  # FastAPI's, where nothing is known: the answer may be empty
            del responses[code]["content"]
    for code in sorted(_refusals(operation, route)):
        if "content" not in responses.setdefault(str(code), {}):
            about, message = _ERRORS[code]
            example = {"code": code, "message": message}
            responses[str(code)] = {
                "description": about,
                "content": {_JSON: {"schema": _REFERENCE, "example": example}},
            }


def _refusals(operation: dict[str, Any], route: APIRoute) -> set[int]:
    named = {each["name"] for each in operation.get("parameters", [])}
    found = {*_ALWAYS, *(int(code) for code in operation["responses"] if code >= "400")}
    if "requestBody" in operation:
        found |= {400, 408, 413}
    if named - {"If-None-Match"}:
        found.add(400)
    if "{" in route.path or named & _NODES:
        found.add(404)
    return found


def _kept(made: dict[str, Any]) -> dict[str, Any]:
    """The schemas of bodies that FastAPI made, without those of its own errors."""
    schemas = made.get("components", {}).get("schemas", {})
    made.setdefault("components", {})
    return {name: each for name, each in schemas.items() if "ValidationError" not in name}
