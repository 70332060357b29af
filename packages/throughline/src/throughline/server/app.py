"""The application: routes, access control, and errors in Marquez's format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import version
from types import ModuleType
from typing import Any

from anyio import CapacityLimiter
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from throughline.alerts import endpoints as alerts
from throughline.aliases import endpoints as aliases
from throughline.config import expected
from throughline.delivery import endpoints as deliver
from throughline.errors import ThroughlineError
from throughline.http.admission import Admission
from throughline.http.failures import failure
from throughline.http.routes import RawPath, answer
from throughline.keys import endpoints as keys
from throughline.marquez import (
    datasets,
    jobs,
    lineage,
    namespaces,
    runlineage,
    runs,
    search,
    sources,
    stats,
)
from throughline.projection.live import Live
from throughline.server import events, health, intake, openapi, page, stream
from throughline.server import query_endpoints as v2
from throughline.server.access import Access, Guard
from throughline.server.bodies import Bodies, BodyLimits, BodyReader
from throughline.server.sample import PREFIX, PRESENT, Sample
from throughline.trust import endpoints as trust

_RESOURCES = (
    intake,
    lineage,
    runlineage,
    namespaces,
    jobs,
    runs,
    datasets,
    sources,
    search,
    events,
    stats,
    stream,
    deliver,
    alerts,
    v2,
    trust,
    health,
    keys,
    aliases,
    openapi,
    page,
)


def make_app(
    live: Live,
    access: Access | None = None,
    spool_lag: Callable[[], tuple[int, int]] | None = None,
    longest_query: float = 30,
    program: str = "throughline",
    bodies: BodyLimits | None = None,
    stuck_files: Callable[[], Sequence[Mapping[str, str]]] | None = None,
    running_queries: int = 4,
    waiting_queries: int = 100,
    most_streams: int = 250,
) -> FastAPI:
    """Return the ASGI application over a live log.

    `access` controls access, and `bodies` limits request bodies. `spool_lag` returns the unread
    bytes of the spool and how many of them are in lines without an end. `stuck_files` returns the
    spool files that cannot be read, with the reason. `longest_query` is the time limit of a query
    in seconds. `running_queries` run at once and `waiting_queries` wait; further ones get a 503, as
    do more than `most_streams` clients of the event stream. `program` is the name of this command
    line in the page's commands.
    """
    reader = BodyReader(bodies or BodyLimits())
    admission = Admission(running_queries, waiting_queries)
    app = _of(live, reader, longest_query, admission, _RESOURCES)
    app.state.program = program
    app.state.present = ""
    app.state.spool_lag = spool_lag
    app.state.stuck_files = stuck_files
    app.state.most_streams = most_streams
    # The sample receives no events, so it needs no stream.
    resources = [resource for resource in _RESOURCES if resource is not stream]

    def make_sample(sample: Live) -> FastAPI:
        sample_app = _of(sample, reader, longest_query, admission, resources)
        sample_app.state.program = program
        sample_app.state.present = PRESENT.isoformat()
        return sample_app

    app.mount(PREFIX, Sample(make_sample))
    app.add_middleware(Bodies, reader=reader)
    app.add_middleware(Guard, access=access or Access(), log=live.log)
    return app


def _of(
    live: Live,
    reader: BodyReader,
    longest_query: float,
    admission: Admission,
    resources: Iterable[ModuleType],
) -> FastAPI:
    """Return an application with routes and error handlers, without access control."""
    app = FastAPI(title="throughline", version=version("throughline"), openapi_url=None)
    app.state.live = live
    app.state.spool_lag = app.state.stuck_files = None
    app.state.bodies = reader
    app.state.longest_query = longest_query
    app.state.admission = admission
    app.state.is_closing = False
    app.state.streams = 0
    app.state.stream_readers = CapacityLimiter(4)  # threads; the others serve requests
    app.state.document = None
    for resource in resources:
        app.router.routes += resource.router.routes  # include_router would build them again
    app.add_exception_handler(ThroughlineError, _on_error)
    app.add_exception_handler(RequestValidationError, _on_invalid)
    app.add_exception_handler(HTTPException, _on_http)
    app.add_middleware(RawPath)
    return app


def _on_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, ThroughlineError)
    return failure(error)


def _on_invalid(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    lines = [_described(item) for item in error.errors()]
    return answer({"code": 400, "message": "; ".join(lines), "errors": lines}, 400)


def _described(item: dict[str, Any]) -> str:
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
