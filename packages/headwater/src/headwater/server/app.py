"""The application: routes, access control, and errors in Marquez's format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from importlib.metadata import version
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware

from headwater.collect.spool import SpoolTail
from headwater.config import expected
from headwater.errors import HeadwaterError
from headwater.http.admission import Admission
from headwater.http.routes import RawPath, answer, failure
from headwater.keys import endpoints as keys
from headwater.plugin import load_all
from headwater.projection.live import Live
from headwater.server import _intake as intake
from headwater.server import _metrics as metrics
from headwater.server import _stream as stream
from headwater.server import endpoints, openapi
from headwater.server._access import Guard
from headwater.server._bodies import Bodies, BodyReader
from headwater.server._hiding import Hiding
from headwater.server._options import ServerOptions
from headwater.server._state import ServerState
from headwater.server.sample import PREFIX, PRESENT, Sample

_OWN = (intake, endpoints, keys, openapi)
_UNKNOWN_PATHS: list[Callable[[Request], Response | None]] = load_all("unknown_paths")
_GZIP_LEVEL = 4  # 9, the default, takes four times as long for responses that are 10 % smaller
_ROUTERS = [*(module.router for module in _OWN), *load_all("routers")]


def make_app(
    live: Live, options: ServerOptions | None = None, tail: SpoolTail | None = None
) -> FastAPI:
    """Return the ASGI application over a live log; `tail` reads its spool folder, if any.

    Middleware is called in the reverse order of `add_middleware`: times are measured first, then
    access is checked, the body read, and the response compressed and filtered. The sample has its
    own state.
    """
    options = options or ServerOptions()
    admission = Admission(options.running_queries, options.waiting_queries, options.answer_memory)
    state_with = partial(
        ServerState,
        admission=admission,
        longest_query=options.longest_query,
        program=options.program,
        options=options,
        bodies=BodyReader(options),
    )

    def make_sample(sample: Live) -> FastAPI:
        # The sample receives no events, so it needs neither a stream nor metrics.
        return _of(state_with(live=sample, present=PRESENT.isoformat()), _ROUTERS)

    state = state_with(live=live, tail=tail)
    app = _of(state, [stream.router, metrics.router, *_ROUTERS])
    app.mount(PREFIX, Sample(make_sample))
    app.add_middleware(Hiding)
    app.add_middleware(GZipMiddleware, compresslevel=_GZIP_LEVEL)  # except event streams
    app.add_middleware(Bodies, reader=state.bodies)
    app.add_middleware(Guard, options=options, log=live.log)
    app.add_middleware(metrics.Timed, counts=state.request_counts)
    return app


def _of(state: ServerState, routers: Iterable[APIRouter]) -> FastAPI:
    """Return an application with routes and error handlers, without access control."""
    app = FastAPI(title="headwater", version=version("headwater"), openapi_url=None)
    app.state = state  # type: ignore[assignment]  # instead of attributes without types
    for router in routers:
        app.router.routes += router.routes  # include_router would rebuild them
    app.add_exception_handler(HeadwaterError, _on_error)
    app.add_exception_handler(RequestValidationError, _on_invalid)
    app.add_exception_handler(HTTPException, _on_http)
    app.add_middleware(RawPath)
    return app


def _on_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HeadwaterError)
    return failure(error)


def _on_invalid(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    lines = [_described(item) for item in error.errors()]
    return answer({"code": 400, "message": "; ".join(lines), "errors": lines}, 400)


def _described(item: Mapping[str, Any]) -> str:
    """Describe an invalid parameter: its name, the value received and what is allowed."""
    received = "nothing" if item["type"] == "missing" else repr(item["input"])
    return f"{item['loc'][-1]}: received {received}, {expected(item)}"


def _on_http(request: Request, error: Exception) -> Response:
    """Return an error in Marquez's format; a plugin may answer an unknown path."""
    assert isinstance(error, HTTPException)
    if error.status_code == 404:
        for respond in _UNKNOWN_PATHS:
            if (response := respond(request)) is not None:
                return response
    body = {"code": error.status_code, "message": f"HTTP {error.status_code} {error.detail}"}
    response = answer(body, error.status_code)
    response.headers.update(error.headers or {})  # Allow, with a 405
    return response
