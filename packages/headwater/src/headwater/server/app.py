"""The application: routes, access control, and errors in Marquez's format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.metadata import version
from typing import Any

from anyio import CapacityLimiter
from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware

from headwater.aliases import endpoints as aliases
from headwater.collect.spool import SpoolTail
from headwater.config import expected
from headwater.errors import HeadwaterError
from headwater.http.admission import Admission
from headwater.http.routes import RawPath, answer, failure
from headwater.keys import endpoints as keys
from headwater.plugins import load_all
from headwater.projection.live import Live
from headwater.server import _intake as intake
from headwater.server import _metrics as metrics
from headwater.server import _page as page
from headwater.server import _stream as stream
from headwater.server import endpoints, openapi
from headwater.server._access import Guard
from headwater.server._bodies import Bodies, BodyReader
from headwater.server._hiding import Hiding
from headwater.server._options import ServerOptions
from headwater.server.sample import PREFIX, PRESENT, Sample

_OWN = (intake, endpoints, keys, aliases, openapi)
_GZIP_LEVEL = 4  # 9, the default, takes four times as long for responses that are 10 % smaller
_ROUTERS = [*(module.router for module in _OWN), *load_all("routers"), page.router]


def make_app(
    live: Live, options: ServerOptions | None = None, tail: SpoolTail | None = None
) -> FastAPI:
    """Return the ASGI application over a live log; `tail` reads its spool folder, if any."""
    options = options or ServerOptions()
    reader = BodyReader(options)
    admission = Admission(options.running_queries, options.waiting_queries, options.answer_memory)

    def make_sample(sample: Live) -> FastAPI:
        # The sample receives no events, so it needs neither a stream nor metrics.
        sample_app = _of(sample, options, reader, admission, _ROUTERS)
        sample_app.state.present = PRESENT.isoformat()
        return sample_app

    app = _of(live, options, reader, admission, [stream.router, metrics.router, *_ROUTERS])
    app.state.tail = tail
    app.mount(PREFIX, Sample(make_sample))
    app.add_middleware(Hiding)
    app.add_middleware(GZipMiddleware, compresslevel=_GZIP_LEVEL)  # except event streams
    app.add_middleware(Bodies, reader=reader)
    app.add_middleware(Guard, options=options, log=live.log)
    app.add_middleware(metrics.Timed, counts=app.state.request_counts)
    return app


def _of(
    live: Live,
    options: ServerOptions,
    reader: BodyReader,
    admission: Admission,
    routers: Iterable[APIRouter],
) -> FastAPI:
    """Return an application with routes and error handlers, without access control."""
    app = FastAPI(title="headwater", version=version("headwater"), openapi_url=None)
    app.state.live = live
    app.state.options = options
    app.state.tail = None
    app.state.bodies = reader
    app.state.admission = admission
    app.state.request_counts = metrics.RequestCounts()
    app.state.node_states = metrics.NodeStates()
    app.state.present = ""
    app.state.is_closing = False
    app.state.streams = 0
    app.state.stream_readers = CapacityLimiter(4)  # threads; the others serve requests
    app.state.document = None
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
    assert isinstance(error, HTTPException)
    if error.status_code == 404 and (response := page.not_found(request)):
        return response
    body = {"code": error.status_code, "message": f"HTTP {error.status_code} {error.detail}"}
    response = answer(body, error.status_code)
    response.headers.update(error.headers or {})  # Allow, with a 405
    return response
