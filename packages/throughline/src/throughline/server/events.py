"""Stored events, and their warnings."""

from __future__ import annotations

from contextlib import suppress
from itertools import islice
from typing import Annotated, Any, Literal

import orjson
from fastapi import APIRouter, Query, Response

from throughline import deadline
from throughline.errors import ConfigError, EventError
from throughline.events import (
    RunEvent,
    event_warnings,
    identity_of,
    load,
    parse_event,
    parse_time,
    to_micros,
)
from throughline.http.admission import Queried
from throughline.http.models import EventInfo, EventWarning
from throughline.http.routes import Cursor, Limit, LiveState, Offset, PageLimit, answer
from throughline.marquez import models as marquez
from throughline.projection import RunKey
from throughline.query.models import Json, Page
from throughline.query.pages import cursor_of, paged, place_of
from throughline.runs.service import find_run

router = APIRouter(route_class=Queried)

_WARNINGS = ("events/warnings",)
_MOST_READ = 2_000
_MOST_WARNINGS = 20


@router.get("/api/v1/events/lineage", response_model=marquez.Events)
def list_events(
    live: LiveState,
    limit: Limit = 100,
    offset: Offset = 0,
    direction: Annotated[
        Literal["asc", "desc"], Query(alias="sortDirection", description="Of event times.")
    ] = "desc",
    after: Annotated[str | None, Query(description="Only events at or after this time.")] = None,
    before: Annotated[str | None, Query(description="Only events before this time.")] = None,
) -> Response:
    """Return events by event time, newest first; at or after `after`, and before `before`."""
    span = _micros("after", after), _micros("before", before)
    total, bodies = live.log.newest(limit, offset, span, ascending=direction == "asc")
    events = [orjson.Fragment(body) for body in bodies if _loaded(body) is not None]
    return answer({"totalCount": total, "events": events})


@router.get("/api/v2/events", response_model=Page[Json])
def list_events_of_run(
    live: LiveState,
    run: Annotated[str, Query(description="Id of a run, or its id in its orchestrator.")],
    limit: PageLimit = 20,
    cursor: Cursor = None,
) -> Response:
    """Return the stored events of one run, by event time.

    A response reads at most 2,000 events that contain the id, so it may have fewer than `limit`
    items, or none: continue with `cursor` set to `next` until that is null.
    """
    with live.reading() as state:
        found = find_run(state, run)
    about, after = ("events", *found.key), (0, 0)
    if cursor is not None:
        time, seq = place_of(about, cursor, (int, int))
        after = (int(time), int(seq))
    span = found.first or 0, found.last or 0
    bodies: list[orjson.Fragment] = []
    events = live.log.holding(found.key.run_id, span, after, _MOST_READ)
    is_more = len(events) == _MOST_READ
    for time, seq, text in deadline.watched(events):
        if len(bodies) == limit:
            is_more = True
            break
        after = (time, seq)
        if _is_of(found.key, text):
            bodies.append(orjson.Fragment(text))
    return answer(paged(bodies, cursor_of(about, after) if is_more else None))


@router.get("/api/v2/events/warnings", response_model=Page[EventInfo])
def list_warnings(
    live: LiveState,
    limit: PageLimit = 100,
    cursor: Cursor = None,
) -> Response:
    """Return stored events with warnings, last received first.

    A response reads at most 2,000 events, so it may have fewer than `limit` items, or none:
    continue with `cursor` set to `next` until that is null. At most 20 warnings per event.
    """
    found: list[EventInfo] = []
    last = None if cursor is None else int(place_of(_WARNINGS, cursor, (int,))[0])
    events = live.log.latest(last, _MOST_READ)
    for seq, text in events:
        if len(found) == limit:
            break
        last = seq
        if (body := _loaded(text)) is None:
            continue
        if info := _info(body):
            found.append(info)
    else:
        last = last if len(events) == _MOST_READ else None
    return answer(paged(found, None if last is None else cursor_of(_WARNINGS, (last,))))


def _loaded(text: str) -> dict[str, Any] | None:
    """Return the body of an event; None for a damaged row, which `doctor` reports."""
    with suppress(EventError):
        body = load(text)
        return body if isinstance(body, dict) else None
    return None


def _is_of(key: RunKey, text: str) -> bool:
    """Return True if a text is an event of the run."""
    with suppress(EventError):
        event = parse_event(load(text), "")
        return isinstance(event, RunEvent) and (event.run_id, event.job) == key
    return False


def _info(body: Json) -> EventInfo | None:
    """Return an event without facets, with its first warnings; None if it has none."""
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
    try:
        return None if text is None else to_micros(parse_time(text))
    except (ValueError, OverflowError):
        expected = "a time such as 2026-11-21T08:30:00Z"
        raise ConfigError(f"{parameter}: received {text!r}, expected {expected}") from None
