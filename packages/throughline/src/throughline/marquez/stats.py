"""GET /api/v1/stats: counts of events, jobs, datasets and sources by hour or day."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal
from zoneinfo import ZoneInfo

from fastapi import APIRouter, Query, Response

from throughline import deadline
from throughline.errors import ConfigError
from throughline.events import EventType, shown_time, to_micros
from throughline.http.admission import Queried
from throughline.http.routes import LiveState, answer
from throughline.marquez import models as marquez
from throughline.marquez.versions import times_of
from throughline.projection import Stamp, State

router = APIRouter(prefix="/api/v1/stats", route_class=Queried)

Period = Annotated[
    Literal["DAY", "WEEK", "day", "week"],
    Query(description="The hours of the last day, or the days of a week."),
]
Timezone = Annotated[str, Query(description="Time zone of the days, such as Europe/Paris.")]

_ENDS = {EventType.FAIL: "fail", EventType.COMPLETE: "complete", EventType.ABORT: "abort"}


@dataclass(slots=True)
class Source:
    """A source of the dataSource facets; its times are those of its datasets."""

    first: int
    last: int
    stamp: Stamp
    url: str


@router.get("/lineage-events", response_model=list[marquez.EventCounts])
def get_event_stats(live: LiveState, period: Period, timezone: Timezone = "UTC") -> Response:
    """Count the runs that started, completed, failed and were aborted; duplicates count once."""
    times: dict[str, list[int]] = {"fail": [], "start": [], "complete": [], "abort": []}
    with live.reading() as state:
        for run in deadline.watched(state.runs.values()):
            if run.started is not None:
                times["start"].append(run.started)
            if run.end is not None:
                times[_ENDS[run.end[1]]].append(run.end[0].time)
    return _counted(times, period, timezone)


@router.get("/jobs", response_model=list[marquez.Count])
def get_job_stats(live: LiveState, period: Period, timezone: Timezone = "UTC") -> Response:
    """Return the number of jobs at the end of each interval."""
    with live.reading() as state:
        return _growth((job.first for job in state.jobs.values()), period, timezone)


@router.get("/datasets", response_model=list[marquez.Count])
def get_dataset_stats(live: LiveState, period: Period, timezone: Timezone = "UTC") -> Response:
    """Return the number of datasets at the end of each interval."""
    with live.reading() as state:
        return _growth((times_of(state, name)[0] for name in state.identity), period, timezone)


@router.get("/sources", response_model=list[marquez.Count])
def get_source_stats(live: LiveState, period: Period, timezone: Timezone = "UTC") -> Response:
    """Return the number of sources at the end of each interval."""
    with live.reading() as state:
        return _growth((source.first for source in sources_of(state).values()), period, timezone)


def sources_of(state: State) -> dict[str, Source]:
    """Return all sources by name."""
    found: dict[str, Source] = {}
    for record in deadline.watched(state.datasets.values()):
        stamp, facet = record.facets.stamp_of("dataSource"), record.facets.get("dataSource")
        if stamp is None or not facet.get("name"):
            continue
        name, url = str(facet["name"]), str(facet.get("uri") or "")
        source = found.setdefault(name, Source(record.first, record.last, stamp, url))
        source.first = min(source.first, record.first)
        source.last = max(source.last, record.last)
        if stamp > source.stamp:
            source.stamp, source.url = stamp, url
    return found


def intervals(now: datetime, period: str, timezone: str) -> list[tuple[int, int]]:
    """Return the last 24 hours or the last 7 days of a time zone: start and end in microseconds."""
    if period.upper() == "DAY":
        last = now.replace(minute=0, second=0, microsecond=0)
        starts = [last - timedelta(hours=23 - hour) for hour in range(25)]
    else:
        today = now.astimezone(_zone(timezone)).replace(hour=0, minute=0, second=0, microsecond=0)
        # Local days have 23 to 25 hours, so they are counted before the conversion to UTC.
        starts = [today - timedelta(days=6 - day) for day in range(8)]
    micros = [to_micros(start.astimezone(UTC)) for start in starts]
    return list(zip(micros, micros[1:], strict=False))


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ConfigError(f"timezone: received {name!r}, expected one like Europe/Paris") from None


def _counted(
    times: Mapping[str, Iterable[int]], period: str, timezone: str, *, is_total: bool = False
) -> Response:
    """Count the times in each interval, with `is_total` also those before it."""
    by_name = {name: sorted(found) for name, found in times.items()}
    return answer(
        [
            {
                "startInterval": shown_time(start),
                "endInterval": shown_time(end),
                **{
                    name: bisect_left(found, end) - (0 if is_total else bisect_left(found, start))
                    for name, found in by_name.items()
                },
            }
            for start, end in intervals(datetime.now(UTC), period, timezone)
        ]
    )


def _growth(firsts: Iterable[int | None], period: str, timezone: str) -> Response:
    known = [first for first in deadline.watched(firsts) if first is not None]
    return _counted({"count": known}, period, timezone, is_total=True)
