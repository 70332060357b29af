"""GET /openapi.json: FastAPI's document, with ETags, errors and percent-encoded path segments."""

from __future__ import annotations

import re
from typing import get_args

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from pydantic import TypeAdapter

from headwater.http.models import Error
from headwater.http.routes import Tagged, answer
from headwater.query.models import Json
from headwater.query.parameters import Cursor, Depth, Limit
from headwater.server._state import server_state

router = APIRouter()

_SEGMENT = ":segment}"
_ERRORS = {
    400: "A parameter or the body is invalid.",
    401: "An API key is needed.",
    403: "The key lacks the scope, or a page of another origin sent the request.",
    404: "Nothing has that name.",
    408: "The body did not arrive in time.",
    413: "The request body or the response is too large.",
    421: "The Host header names another host; a server without keys only accepts its own.",
    503: "The server is overloaded, or the store does not respond; retry later.",
}
_ALWAYS = {401, 403, 421, 503}
_NODES = {"path", "node", "nodeId", "run", "runId", "job", "from", "dataset", "asOf"}
"""Parameters that name something, which may not exist."""

_PARAMETERS = {
    "namespace": "A namespace, percent-encoded: `s3%3A%2F%2Flake`.",
    "job": "Name of a job, or Marquez's `parent.child` form of it, percent-encoded.",
    "dataset": "Any name of a dataset, percent-encoded.",
    "version": "Id of a version; of a dataset also the version in its version facet.",
    "run_id": "Id of a run.",
    "source": "Name of a source, percent-encoded.",
    "backend": "Name of a backend.",
    "name": "Name of a key.",
    "level": "Granularity: pipeline, task or query.",
    "limit": get_args(Limit)[-1],
    "cursor": get_args(Cursor)[-1],
    "depth": get_args(Depth)[-1],
    "offset": "Number of items to skip.",
}
"""Descriptions of parameters that mean the same on every route."""

_IF_NONE_MATCH = {
    "name": "If-None-Match",
    "in": "header",
    "required": False,
    "description": "ETags of responses that the client has, or `*`. A match is answered with 304.",
    "schema": {"type": "string"},
}
_ETAG = {"ETag": {"description": "Hash of the response.", "schema": {"type": "string"}}}
_ERROR = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}


@router.get("/openapi.json", include_in_schema=False)
def get_document(request: Request) -> Response:
    """Return the OpenAPI document; it is built at the first request."""
    state = server_state(request)
    if state.document is None:
        state.document = document(request.app)
    return answer(state.document)


def document(app: FastAPI) -> Json:
    """Return the OpenAPI 3.1 document of an application.

    FastAPI's document describes its own validation errors and a converter in the paths. Both are
    replaced by what clients see.
    """
    description = "`/api/v1` is Marquez's API and receives events; `/api/v2` extends it."
    routes = [route for route in app.routes if isinstance(route, APIRoute)]
    whole = get_openapi(
        title=app.title, version=app.version, description=description, routes=routes
    )
    whole["paths"] = {path.replace(_SEGMENT, "}"): item for path, item in whole["paths"].items()}
    for route in routes:
        path = route.path.replace(_SEGMENT, "}")
        for method in route.methods if route.include_in_schema else ():
            _complete(whole["paths"][path][method.lower()], route)
    components = whole.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    schemas["Error"] = TypeAdapter(Error).json_schema()
    components["securitySchemes"] = {
        "key": {"type": "http", "scheme": "bearer"},
        "password": {
            "type": "http",
            "scheme": "basic",
            "description": "For browsers: any user name, and a key as the password.",
        },
    }
    whole["security"] = [{"key": []}, {"password": []}, {}]
    return whole


def _complete(operation: Json, route: APIRoute) -> None:
    """Add descriptions of parameters, ETags and every error of a route.

    `operation` is the description of a route, which is changed in place.
    """
    responses, parameters = operation["responses"], operation.setdefault("parameters", [])
    for parameter in parameters:
        parameter.setdefault("description", _PARAMETERS.get(parameter["name"], ""))
    if "ValidationError" in str(responses.get("422")):
        del responses["422"]  # FastAPI's own; here, it is a 400
    for code, response in responses.items():
        if response.get("content") == {"application/json": {"schema": {}}}:
            del responses[code]["content"]  # FastAPI's default, for responses without a model
    for code in _errors(operation, route):
        responses.setdefault(str(code), {"description": _ERRORS[code], "content": _ERROR})
    if isinstance(route, Tagged) and "get" in map(str.lower, route.methods):
        parameters.append(_IF_NONE_MATCH)
        responses["200"]["headers"] = _ETAG
        responses["304"] = {"description": "The client has this response.", "headers": _ETAG}


def _errors(operation: Json, route: APIRoute) -> set[int]:
    """Return the status codes with which a route may answer besides success.

    Its parameters decide: these or a body may be invalid, and a name in them may be unknown.
    """
    names = {parameter["name"] for parameter in operation["parameters"]}
    codes = set(_ALWAYS)
    if "requestBody" in operation:
        codes |= {400, 408, 413}
    if route.path == "/api/v1/lineage":
        codes.add(413)
    if names or route.path.startswith("/api/v2/"):
        codes.add(400)
    if re.search(r"{", route.path) or names & _NODES:
        codes.add(404)
    return codes
