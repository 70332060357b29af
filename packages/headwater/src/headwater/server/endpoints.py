"""Endpoints of headwater itself: queries, single runs, stored events and health.

The class of a router decides what its routes share: `Queried` waits for a query slot, `Tagged` adds
an ETag, and `Remembered` answers 304 without running the query.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from typing import Annotated, Any, Literal, get_args

import orjson
from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse

from headwater import deadline
from headwater.collect.event_warnings import event_warnings
from headwater.errors import ConfigError, EventError
from headwater.events import (
    RunEvent,
    identity_of,
    load,
    parse_event,
    parse_time,
    to_micros,
)
from headwater.graph.current import generations_of
from headwater.http.access import access_of
from headwater.http.models import (
    EventInfo,
    Events,
    EventWarning,
    Healthz,
    RejectedLine,
    StuckFile,
)
from headwater.http.routes import (
    LiveState,
    Offset,
    PageSize,
    Queried,
    Remembered,
    Strict,
    Tagged,
    answer,
    get,
)
from headwater.http.state import Shared
from headwater.log.reading import containing, latest
from headwater.projection import RunKey, State
from headwater.query.models import Json, Page
from headwater.query.pages import cursor_of, paged, place_of
from headwater.query.parameters import Cursor, Limit
from headwater.query.registry import ApiQuery, ask, load_queries
from headwater.runs.models import RunAnswer
from headwater.runs.service import find_run, run_answer
from headwater.server._events import events_json, loaded
from headwater.wire import http_name

router = APIRouter(route_class=Strict)
_tagged = APIRouter(route_class=Tagged)
_remembered = APIRouter(route_class=Remembered)
_queried = APIRouter(route_class=Queried)

_REJECTED = ("rejected",)
_WARNINGS = ("events/warnings",)
_MOST_READ = 2_000
_MOST_CHARACTERS = 16 * 1024**2
_MOST_WARNINGS = 20
_FEW = 4  # rejected lines that are read at once


@_queried.get("/api/v1/events/lineage", response_model=Events)
def list_events(
    live: LiveState,
    limit: PageSize = 100,
    offset: Offset = 0,
    direction: Annotated[
        Literal["asc", "desc"], Query(alias="sortDirection", description="Of event times.")
    ] = "desc",
    after: Annotated[str | None, Query(description="Only events at or after this time.")] = None,
    before: Annotated[str | None, Query(description="Only events before this time.")] = None,
) -> Response:
    """Return events by event time, newest first; at or after `after`, and before `before`."""
    span = _micros("after", after), _micros("before", before)
    portions = events_json(live.log, limit, offset, span, ascending=direction == "asc")
    return StreamingResponse(portions, media_type="application/json")


@_queried.get("/api/v2/events", response_model=Page[Json])
def list_events_of_run(
    live: LiveState,
    run: Annotated[str, Query(description="Id of a run, or its id in its orchestrator.")],
    limit: Limit = 20,
    cursor: Cursor = None,
) -> Response:
    """Return the stored events of one run, by event time.

    A response reads at most 2,000 events that contain the id, and ends after 16 MB of events, so it
    may have fewer than `limit` items, or none: continue with `cursor` set to `next` until that is
    null.
    """
    with live.reading() as state:
        found = find_run(state, run)
    about, after = ("events", *found.key), (0, 0)
    if cursor is not None:
        time, seq = place_of(about, cursor, (int, int))
        after = (int(time), int(seq))
    span = found.first or 0, found.last or 0
    bodies: list[orjson.Fragment] = []
    events = containing(live.log, found.key.run_id, span, after, _MOST_READ)
    is_more, size, read = False, 0, 0
    for time, seq, text in deadline.watched(events):
        if is_more := len(bodies) == limit or size > _MOST_CHARACTERS:
            break
        after, read, size = (time, seq), read + 1, size + len(text)
        if _is_of(found.key, text):
            bodies.append(orjson.Fragment(text))
    return answer(paged(bodies, cursor_of(about, after) if is_more or read == _MOST_READ else None))


@_queried.get("/api/v2/events/warnings", response_model=Page[EventInfo])
def list_warnings(live: LiveState, limit: Limit = 100, cursor: Cursor = None) -> Response:
    """Return stored events with warnings, last received first.

    A response reads at most 2,000 events, so it may have fewer than `limit` items, or none:
    continue with `cursor` set to `next` until that is null. At most 20 warnings per event.
    """
    found: list[EventInfo] = []
    last = None if cursor is None else int(place_of(_WARNINGS, cursor, (int,))[0])
    events = latest(live.log, last, _MOST_READ)
    read = 0
    for seq, text in events:
        if len(found) == limit:
            break
        last, read = seq, read + 1
        if (body := loaded(text)) is None:
            continue
        if info := _info(body):
            found.append(info)
    else:
        last = last if read == _MOST_READ else None
    return answer(paged(found, None if last is None else cursor_of(_WARNINGS, (last,))))


def _endpoint(query: ApiQuery) -> Callable[..., Response]:
    """Return the endpoint of a registered query. FastAPI reads its signature and docstring."""

    def endpoint(live: LiveState, request: Request, **values: Any) -> Response:
        may_read_sql = access_of(request.scope).may_read_sql
        return answer(ask(live, query, values, may_read_sql=may_read_sql))

    kind = inspect.Parameter.KEYWORD_ONLY
    live = inspect.Parameter("live", kind, annotation=LiveState)
    request = inspect.Parameter("request", kind, annotation=Request)
    parameters = [_of_query(parameter) for parameter in query.parameters]
    endpoint.__signature__ = inspect.Signature([live, request, *parameters])  # type: ignore[attr-defined]
    endpoint.__name__ = f"get_{query.name}"
    endpoint.__doc__ = query.answer.__doc__
    return endpoint


def _of_query(parameter: inspect.Parameter) -> inspect.Parameter:
    """Return a parameter for FastAPI, with its HTTP name and description."""
    texts = [text for text in get_args(parameter.annotation)[1:] if isinstance(text, str)]
    query = Query(alias=http_name(parameter.name), description=texts[0] if texts else None)
    return parameter.replace(annotation=Annotated[parameter.annotation, query])


for _query in load_queries().values():
    _routes = _remembered if _query.load is None else _tagged  # `load` reads more than the log
    _routes.get(f"/api/v2/{_query.name}", response_model=_query.model)(_endpoint(_query))


@get(_remembered, "/api/v2/runs/{run_id:segment}")
def get_run(state: State, run_id: str) -> RunAnswer:
    """Return a run and its descendants with their parameters, code and dataset versions."""
    return run_answer(generations_of(state), run_id)


@router.get("/healthz", response_model=Healthz)
def healthz(state: Shared) -> Response:
    """Return the status, the size of the graph, unread spool bytes and damaged rows.

    The status is `degraded` while a spool file cannot be read or a row of the log is damaged;
    `/api/v2/stuck` and `/api/v2/doctor` list them. Events received while a query runs are counted
    after it.
    """
    live, tail = state.live, state.tail
    stuck = len(tail.stuck) if tail else 0
    damaged = len(live.unreadable)
    health: Healthz = {
        "status": "degraded" if stuck or damaged else "ok",
        "jobs": live.counts.jobs,
        "runs": live.counts.runs,
        "datasets": live.counts.datasets,
        "damagedRows": damaged,
    }
    if tail is not None:
        lag, unended = tail.lag()
        health["spool"] = {"lagBytes": lag, "unendedBytes": unended, "stuckFiles": stuck}
    return answer(health)


@router.get("/api/v2/rejected", response_model=Page[RejectedLine])
def list_rejected(live: LiveState, limit: Limit = 1_000, cursor: Cursor = None) -> Response:
    """Return the rejected lines of spool files with the reasons, oldest first.

    A response ends after 16 MB of lines, so it may have fewer than `limit` items: continue with
    `cursor` set to `next` until that is null.
    """
    after = 0 if cursor is None else int(place_of(_REJECTED, cursor, (int,))[0])
    rejected: list[RejectedLine] = []
    size = 0
    while lines := live.log.rejected_lines(after, _FEW):
        for line in lines:
            if len(rejected) == limit or size > _MOST_CHARACTERS:
                return answer(paged(rejected, cursor_of(_REJECTED, (after,))))
            rejected.append({"source": line.source, "reason": line.reason, "line": line.line})
            after, size = line.id, size + len(line.line)
    return answer(paged(rejected, None))


@router.get("/api/v2/stuck", response_model=Page[StuckFile])
def list_stuck(state: Shared) -> Response:
    """List the spool files that cannot be read, with the reason; other files are read."""
    return answer(paged([file._asdict() for file in state.tail.stuck] if state.tail else [], None))


def _is_of(key: RunKey, text: str) -> bool:
    """Return True if a text is an event of the run."""
    with suppress(EventError):
        event = parse_event(load(text), "")
        return isinstance(event, RunEvent) and (event.run_id, event.job) == key
    return False


def _info(body: Json) -> EventInfo | None:
    """Return an event without facets, with its first warnings; None if it has none.

    `body` is an event as it was stored; at most 20 warnings are listed.
    """
    warnings: list[EventWarning] = [
        {"path": warning.path, "received": warning.received, "expected": warning.expected}
        for warning in islice(event_warnings(body), _MOST_WARNINGS)
    ]
    if not warnings:
        return None
    info: EventInfo = {
        "hash": identity_of(body),
        "eventType": body.get("eventType"),
        "eventTime": body.get("eventTime"),
        "producer": body.get("producer"),
        "warnings": warnings,
    }
    if body.get("run"):
        info["run"] = _names_in(body["run"])
    if body.get("job"):
        info["job"] = _names_in(body["job"])
    if body.get("dataset"):
        info["dataset"] = _names_in(body["dataset"])
    return info


def _names_in(part: Json) -> Json:
    return {key: part[key] for key in ("runId", "namespace", "name") if key in part}


def _micros(parameter: str, text: str | None) -> int | None:
    """Return a time in microseconds; raise ConfigError with the name of the parameter."""
    try:
        return None if text is None else to_micros(parse_time(text))
    except (ValueError, OverflowError):
        expected = "a time such as 2026-11-21T08:30:00Z"
        raise ConfigError(f"{parameter}: received {text!r}, expected {expected}") from None


router.routes += [*_queried.routes, *_tagged.routes, *_remembered.routes]
