"""GET /api/v1/stats: counts of events, jobs, datasets and sources by hour or day."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal
from zoneinfo import ZoneInfo

from fastapi import APIRouter, Query

from headwater import deadline
from headwater.errors import ConfigError
from headwater.events import EventType, shown_time, to_micros
from headwater.http.routes import Queried, get
from headwater.plugins.marquez import models as marquez
from headwater.plugins.marquez._versions import times_of
from headwater.projection import Stamp, State

router = APIRouter(prefix="/api/v1/stats", route_class=Queried)

Period = Annotated[
    Literal["DAY", "WEEK", "day", "week"],
    Query(description="The hours of the last day, or the days of a week."),
]
Timezone = Annotated[str, Query(description="Time zone of the days, such as Europe/Paris.")]


@dataclass(slots=True)
class Source:
    """A source of the dataSource facets; its times are those of its datasets."""

    first: int
    last: int
    stamp: Stamp
    url: str


@get(router, "/lineage-events")
def get_event_stats(
    state: State, period: Period, timezone: Timezone = "UTC"
) -> list[marquez.EventCounts]:
    """Count the runs that started, completed, failed and were aborted; duplicates count once."""
    times: dict[EventType, list[int]] = {type_: [] for type_ in EventType}
    for run in deadline.watched(state.runs.values()):
        if run.started is not None:
            times[EventType.START].append(run.started)
        if run.end is not None:
            times[run.end[1]].append(run.end[0].time)
    for found in times.values():
        found.sort()
    return [
        {
            **_interval(start, end),
            "fail": _number(times[EventType.FAIL], start, end),
            "start": _number(times[EventType.START], start, end),
            "complete": _number(times[EventType.COMPLETE], start, end),
            "abort": _number(times[EventType.ABORT], start, end),
        }
        for start, end in intervals(datetime.now(UTC), period, timezone)
    ]


@get(router, "/jobs")
def get_job_stats(state: State, period: Period, timezone: Timezone = "UTC") -> list[marquez.Count]:
    """Return the number of jobs at the end of each interval."""
    return _growth((job.first for job in state.jobs.values()), period, timezone)


@get(router, "/datasets")
def get_dataset_stats(
    state: State, period: Period, timezone: Timezone = "UTC"
) -> list[marquez.Count]:
    """Return the number of datasets at the end of each interval."""
    return _growth((times_of(state, name)[0] for name in state.identity), period, timezone)


@get(router, "/sources")
def get_source_stats(
    state: State, period: Period, timezone: Timezone = "UTC"
) -> list[marquez.Count]:
    """Return the number of sources at the end of each interval."""
    return _growth((source.first for source in sources_of(state).values()), period, timezone)


def sources_of(state: State) -> dict[str, Source]:
    """Return all sources by name.

    A source is a `dataSource` facet of a dataset; the newest one of a name has the URL.
    """
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
    """Return the last 24 hours or the last 7 days of a time zone: start and end in microseconds.

    The last interval is the present hour or day. `period` is day or week in any case. Hours are
    those of UTC, so the time zone matters for a week only: an unknown one raises ConfigError.
    """
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
    """Return a time zone. Raises ConfigError if it is unknown."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ConfigError(f"timezone: received {name!r}, expected one like Europe/Paris") from None


def _growth(firsts: Iterable[int | None], period: str, timezone: str) -> list[marquez.Count]:
    """Return the number of items that existed at the end of each interval.

    `firsts` are the first mentions of items in microseconds; None is ignored.
    """
    times = sorted(first for first in deadline.watched(firsts) if first is not None)
    return [
        {**_interval(start, end), "count": bisect_left(times, end)}
        for start, end in intervals(datetime.now(UTC), period, timezone)
    ]


def _interval(start: int, end: int) -> marquez.Interval:
    """Return an interval in Marquez's form, given microseconds."""
    return {"startInterval": shown_time(start), "endInterval": shown_time(end)}


def _number(times: list[int], start: int, end: int) -> int:
    """Return the number of sorted times in an interval."""
    return bisect_left(times, end) - bisect_left(times, start)
