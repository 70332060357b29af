"""Common parts of the endpoints: routes, parameters, JSON responses, errors.

Queries use the classes of routes below. Each adds a behavior to the one before: `Documented`,
`Strict`, `Queried`, `Tagged`, `Remembered`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Coroutine
from functools import cached_property
from hashlib import blake2b
from typing import Annotated, Any, TypeVar
from urllib.parse import unquote

import orjson
from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.datastructures import DefaultPlaceholder
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from fastapi.utils import create_model_field
from starlette.convertors import Convertor, register_url_convertor
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headwater import deadline, errors, memory
from headwater.http.access import access_of
from headwater.http.state import state_of
from headwater.projection.live import Live
from headwater.wire import UNCOUNTED

Function = TypeVar("Function", bound=Callable[..., Any])
_MOST_LEVELS = 250  # orjson writes 254
_CUT = f"… (nested more than {_MOST_LEVELS} levels deep)"
_PART = 256 * 1024
_PRIVATE = "private, no-cache"
_TAG = re.compile(r'"[^"]*"')
_GONE = 499  # nginx's code for a closed connection; no client receives it
_RETRY_AFTER = 5
"""Seconds after which a client may retry when the store does not respond."""


class _Segment(Convertor[str]):
    """A path segment, decoded only after the route was matched."""

    regex = "[^/]+"

    def convert(self, value: str) -> str:
        return unquote(value)

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("segment", _Segment())


class RawPath:
    """Match routes on the path as sent: `s3%3A%2F%2Flake` is one segment, not three."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Replace the decoded path by the raw one, in place: outer middleware needs the route."""
        if scope["type"] == "http" and scope["path"].startswith("/api/") and scope.get("raw_path"):
            scope["path"] = scope["raw_path"].split(b"?", 1)[0].decode("ascii", "replace")
        await self._app(scope, receive, send)


class Plain(APIRoute):
    """A route that only calls its function with the request.

    FastAPI's dependency resolution costs as much as ingesting an event. The function must return a
    response.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **documented: Any) -> None:
        super().__init__(path, endpoint, **documented)
        self.app = self._call

    async def _call(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self.endpoint(Request(scope, receive))
        await response(scope, receive, send)


class Documented(APIRoute):
    """A route that builds the model of its response only when the API is documented.

    Endpoints return encoded responses, so only `/openapi.json` needs the models. Building them
    would take a third of the server's startup time.

    `response_model` is the type of the answer for the documentation; FastAPI must not apply it.
    """

    def __init__(
        self, path: str, endpoint: Callable[..., Any], *, response_model: Any, **documented: Any
    ) -> None:
        super().__init__(path, endpoint, response_model=None, **documented)
        is_given = not isinstance(response_model, DefaultPlaceholder)
        self.response_model = response_model if is_given else None
        del self.response_field  # so that the property below is used

    @cached_property
    def response_field(self) -> Any:  # type: ignore[override]
        """Return the model that documents the response."""
        if self.response_model is None:
            return None
        name = f"Response_{self.unique_id}"
        return create_model_field(name=name, type_=self.response_model, mode="serialization")


class Strict(Documented):
    """A route that rejects unknown query parameters in /api/v2; Marquez's API allows them."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return a handler that first checks the names of the query parameters."""
        handle = super().get_route_handler()
        names = [parameter.alias for parameter in self.dependant.query_params]
        allowed = f"Input should be {', '.join(map(repr, names)) or 'none'}"

        async def checked(request: Request) -> Response:
            if unknown := [name for name in request.query_params if name not in names]:
                about = {"type": "unknown", "loc": ("query parameter",), "msg": allowed}
                raise RequestValidationError([{**about, "input": name} for name in unknown])
            return await handle(request)

        return checked if self.path.startswith("/api/v2/") else handle


class Queried(Strict):
    """A route that reads the projection: it needs a slot, and its deadline starts on arrival."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return a handler that first waits for a slot."""
        handle = super().get_route_handler()

        async def admitted(request: Request) -> Response:
            state = state_of(request)
            deadline.start(state.longest_query)
            async with state.admission.slot() as has_waited:
                if has_waited and request.method == "GET" and await request.is_disconnected():
                    return Response(status_code=_GONE)
                return await handle(request)

        return admitted


class Tagged(Queried):
    """A query route whose responses carry an ETag; an unchanged response is a 304.

    The tag is a hash of the response. The id of the last event would not be enough, because a run
    becomes stale and a job late without any event.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return a handler that adds the tag to responses, except to partial ones.

        An answer is partial if counting was cut short; the client repeats the request to get the
        rest.
        """
        handle = super().get_route_handler()

        async def handle_tagged(request: Request) -> Response:
            response = await handle(request)
            if getattr(response, "is_partial", False):  # the next answer may be more complete
                response.headers["Cache-Control"] = "no-store"
                return response
            return tagged(request, response, _PRIVATE)

        return handle_tagged


class Remembered(Tagged):
    """A tagged route whose responses depend only on the log and the time.

    A client that has the newest response gets a 304 without any computation, until the next event
    or the next minute. What depends on the time, such as which jobs are late, is therefore up
    to a minute old in a response that a client keeps.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return a handler that first compares the ETags that the client sent.

        A tag is only kept for the path, the parameters and the permission to read SQL. The version
        is read before the query runs: an event in the meantime makes the tag invalid.
        """
        handle = super().get_route_handler()

        async def handle_remembered(request: Request) -> Response:
            """Answer 304 without running the query again if the client has the remembered tag."""
            state, scope = state_of(request), request.scope
            key = scope["path"], scope["query_string"], access_of(scope).may_read_sql
            version = state.known_tags.version(state.live)
            tag = state.known_tags.get(key, version)
            if tag is not None and _has(request, tag):
                return Response(status_code=304, headers=_headers(tag, _PRIVATE))
            response = await handle(request)
            if response.status_code in (200, 304) and "etag" in response.headers:
                tag = response.headers["etag"].removeprefix("W/")
                state.known_tags.put(key, version, tag)
            return response

        return handle_remembered


def _headers(tag: str, cache_control: str) -> dict[str, str]:
    return {"ETag": f"W/{tag}", "Cache-Control": cache_control}


def tagged(request: Request, response: Response, cache_control: str) -> Response:
    """Add an ETag and Cache-Control to a response; return a 304 if the client has it.

    The tag is a hash of the body. It is weak, because the compressed response has it too.

    `cache_control` is the value of that header. Only a successful response becomes a 304.
    """
    tag = f'"{blake2b(response.body, digest_size=16).hexdigest()}"'
    headers = _headers(tag, cache_control)
    if response.status_code == 200 and _has(request, tag):
        return Response(status_code=304, headers=headers)
    response.headers.update(headers)
    return response


def _has(request: Request, tag: str) -> bool:
    """Return True if If-None-Match contains a tag; weak comparison ignores `W/`."""
    tags = ",".join(request.headers.getlist("if-none-match"))
    return tags.strip() == "*" or tag in _TAG.findall(tags)


async def _live(request: Request) -> Live:
    """Return the log and its projection."""
    return state_of(request).live


LiveState = Annotated[Live, Depends(_live)]
PageSize = Annotated[int, Query(ge=0, le=1_000)]  # Marquez allows 0
LARGEST = 2**63 - 1  # integer of a database
Offset = Annotated[int, Query(ge=0, le=LARGEST)]


def get(router: APIRouter, path: str) -> Callable[[Function], Function]:
    """Register a function of the state and of parameters as a GET endpoint.

    Its return type is the model of the response.

    The class of `router` adds what its routes share, such as an ETag. The first parameter of the
    function is the present state; the others become parameters of the path and the query. FastAPI
    reads them from the signature of the endpoint, which is set to that of the function with the log
    and its projection (`live`) in place of the state.
    """

    def register(function: Function) -> Function:
        """Add an endpoint that calls a function with the state and answers with its result."""

        def endpoint(live: Live, **values: Any) -> Response:
            with live.reading() as state:
                return answer(function(state, **values))

        signature = inspect.signature(function, eval_str=True)
        live, *parameters = signature.parameters.values()
        keyword = inspect.Parameter.KEYWORD_ONLY
        parameters = [parameter.replace(kind=keyword) for parameter in parameters]
        live = live.replace(name="live", kind=keyword, annotation=LiveState)
        endpoint.__signature__ = inspect.Signature([live, *parameters])  # type: ignore[attr-defined]
        endpoint.__name__, endpoint.__doc__ = function.__name__, function.__doc__
        router.get(path, response_model=signature.return_annotation)(endpoint)
        return function

    return register


class _Answer(Response):
    """A response that is sent in parts, so that it is in memory only until the client reads it."""

    is_partial = False
    """True if the next answer to the same query may be more complete."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response; wait for the client between the parts."""

        async def send_parts(message: Message) -> None:
            body = message.get("body", b"")
            for begin in range(0, len(body) - _PART, _PART):
                part = body[begin : begin + _PART]
                await send({"type": message["type"], "body": part, "more_body": True})
            last = body[max((len(body) - 1) // _PART, 0) * _PART :]
            await send({**message, "body": last} if body else message)

        await super().__call__(scope, receive, send_parts)


def answer(payload: Any, status: int = 200) -> Response:
    """Return a JSON response.

    Raises:
        BusyError: the answers to other queries use the memory.
        ConfigError: the response alone needs more than the limit.

    `payload` is the answer as TypedDicts, lists and values. Its memory counts for the account of
    the running query until the client has read the response.
    """
    response = _Answer(_encoded(payload), status_code=status, media_type="application/json")
    response.is_partial = isinstance(payload, dict) and bool(payload.get(UNCOUNTED))
    memory.hold(response, len(response.body))
    return response


def _encoded(payload: Any) -> bytes:
    """Return the JSON of a response; charge for each item of its lists before the next one."""
    if isinstance(payload, dict):
        payload = {key: _fragments(value) for key, value in payload.items()}
    body = encoded(payload)
    memory.charge(len(body))
    return body


def _fragments(value: Any) -> Any:
    """Return a list with its items encoded, several at a time, in parts of about `_PART` bytes.

    Encoding a few items at a time limits the memory that is needed before the account is charged:
    the query fails in time if its answer is too large. The size of the items so far determines how
    many come next.
    """
    if not isinstance(value, list):
        return value
    parts = []
    begin, count, size = 0, 1, 1
    while begin < len(value):
        part = encoded(value[begin : begin + count])[1:-1]
        memory.charge(len(part))
        parts.append(orjson.Fragment(part))
        begin, size = begin + count, size + len(part)
        count = max(_PART * begin // size, 1)
    return parts


def fragment(payload: Any) -> orjson.Fragment:
    """Return an encoded part of a response."""
    return orjson.Fragment(encoded(payload))


def encoded(payload: Any) -> bytes:
    """Return the JSON of a response; values nested too deeply are replaced by `_CUT`.

    A facet may use all levels that the encoder supports, and the response adds more.
    """
    try:
        return orjson.dumps(payload, default=_tuple)
    except TypeError as error:
        if "Recursion limit" not in str(error):  # orjson has no type for this error
            raise
    return orjson.dumps(_cut(payload), default=_tuple)


def _cut(payload: Any) -> Any:
    """Return a copy that is at most _MOST_LEVELS deep, without recursion.

    `payload` is not changed: containers are copied level by level.
    """
    top = [payload]
    level: list[Any] = [top]
    for _ in range(_MOST_LEVELS + 1):
        below = []
        for holder in level:
            for key, value in _nested(holder):
                holder[key] = value.copy() if isinstance(value, dict) else list(value)
                below.append(holder[key])
        level = below
    for holder in level:
        for key, _value in _nested(holder):
            holder[key] = _CUT
    return top[0]


def _nested(holder: Any) -> list[tuple[Any, Any]]:
    """Return the keys and values of an object or array that are themselves containers."""
    items = holder.items() if isinstance(holder, dict) else enumerate(holder)
    return [(key, value) for key, value in items if isinstance(value, dict | list | tuple)]


def failure(error: errors.HeadwaterError) -> Response:
    """Return the response to a failed request.

    The class of the error determines the status; 400 is the default. Its message is meant for
    users.
    """
    if isinstance(error, errors.NotFoundError):
        name = {"ambiguous": error.name} if isinstance(error, errors.AmbiguousError) else {}
        return _failed({"code": 404, "message": str(error), "nearest": error.nearest, **name}, 404)
    if isinstance(error, errors.EventError):
        is_large = isinstance(error, errors.TooLargeError)
        status = 413 if is_large else 400 if isinstance(error, errors.BodyError) else 422
        return _failed({"code": status, "message": str(error), **_places(error)}, status)
    if isinstance(error, errors.LogError | errors.BusyError):
        return unavailable(error)
    statuses = {errors.SlowBodyError: 408, errors.LargeAnswerError: 413}
    status = statuses.get(type(error), 400)
    return _failed({"code": status, "message": str(error)}, status)


def _failed(payload: Any, status: int) -> Response:
    return Response(encoded(payload), status_code=status, media_type="application/json")


def _places(error: errors.EventError) -> dict[str, str]:
    """Return the path in an event, the value received there and the value expected."""
    return {"path": error.path, "received": error.received, "expected": error.expected}


def unavailable(error: errors.HeadwaterError) -> Response:
    """Return a 503: nothing was done, and the client may retry."""
    response = _failed({"code": 503, "message": str(error)}, 503)
    response.headers["Retry-After"] = str(_RETRY_AFTER)
    return response


def _tuple(value: Any) -> list[Any]:
    """Return a tuple as a list, for the encoder; raise TypeError for other types."""
    if isinstance(value, tuple):
        return list(value)
    raise TypeError(f"no JSON for {type(value).__name__}")
