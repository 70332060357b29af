"""GET /api/v1/stats: how much there was and came, hour by hour of a day or day by day of a week."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
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
from throughline.marquez.sources import sources_of
from throughline.projection import State

router = APIRouter(prefix="/api/v1/stats", route_class=Queried)

Period = Annotated[
    Literal["DAY", "WEEK", "day", "week"],
    Query(description="The hours of the last day, or the days of a week."),
]
Timezone = Annotated[str, Query(description="Where a day begins and ends, such as Europe/Paris.")]

_ENDS = {EventType.FAIL: "fail", EventType.COMPLETE: "complete", EventType.ABORT: "abort"}


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
    sorted_times = {name: sorted(found) for name, found in times.items()}
    return answer(
        [
            {
                "startInterval": shown_time(start),
                "endInterval": shown_time(end),
                **{
                    name: bisect_left(found, end) - bisect_left(found, start)
                    for name, found in sorted_times.items()
                },
            }
            for start, end in intervals(datetime.now(UTC), period, timezone)
        ]
    )


@router.get("/jobs", response_model=list[marquez.Count])
def get_job_stats(live: LiveState, period: Period, timezone: Timezone = "UTC") -> Response:
    """Return the number of jobs at the end of each interval."""
    with live.reading() as state:
        return _growth((job.first for job in state.jobs.values()), period, timezone)


@router.get("/datasets", response_model=list[marquez.Count])
def get_dataset_stats(live: LiveState, period: Period, timezone: Timezone = "UTC") -> Response:
    """Return the number of datasets at the end of each interval."""
    with live.reading() as state:
        return _growth(_firsts(state), period, timezone)


@router.get("/sources", response_model=list[marquez.Count])
def get_source_stats(live: LiveState, period: Period, timezone: Timezone = "UTC") -> Response:
    """Return the number of sources at the end of each interval."""
    with live.reading() as state:
        return _growth((each.first for each in sources_of(state).values()), period, timezone)


def intervals(now: datetime, period: str, timezone: str) -> list[tuple[int, int]]:
    """Start and end, in microseconds, of the last 24 hours or of the last 7 days of a place."""
    if period.upper() == "DAY":
        last = now.replace(minute=0, second=0, microsecond=0)
        starts = [last - timedelta(hours=23 - each) for each in range(25)]
    else:
        today = now.astimezone(_zone(timezone)).replace(hour=0, minute=0, second=0, microsecond=0)
        # Days of a place have 23 to 25 hours: its own clock counts them, then UTC tells when.
        starts = [today - timedelta(days=6 - each) for each in range(8)]
    micros = [to_micros(each.astimezone(UTC)) for each in starts]
    return list(zip(micros, micros[1:], strict=False))


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ConfigError(f"timezone: received {name!r}, expected one like Europe/Paris") from None


def _growth(firsts: Iterable[int | None], period: str, timezone: str) -> Response:
    times = sorted(first for first in deadline.watched(firsts) if first is not None)
    return answer(
        [
            {
                "startInterval": shown_time(start),
                "endInterval": shown_time(end),
                "count": bisect_right(times, end - 1),
            }
            for start, end in intervals(datetime.now(UTC), period, timezone)
        ]
    )


def _firsts(state: State) -> Iterable[int]:
    for primary in state.identity:
        names = state.identity.names(primary)
        found = [state.datasets[name].first for name in names if name in state.datasets]
        yield min(found)
