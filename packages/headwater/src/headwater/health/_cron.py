"""The times of a schedule: cron expressions and presets, and fixed intervals, as Airflow reports.

The times of a cron expression are local times. If the time zone was not reported, its offset is
that with which the newest nominal time fits the expression. Without a nominal time, only the
longest gap between two times is known.

"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from functools import lru_cache
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

_PRESETS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@quarterly": "0 0 1 */3 *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_RANGES = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))  # Sunday is 0 and 7
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
_NAMES: tuple[dict[str, int], ...] = (
    {},
    {},
    {},
    {name: number for number, name in enumerate(_MONTHS, 1)},
    {name: number for number, name in enumerate(_DAYS)},
)
"""Words for the values of each of the five fields."""
_END = r"[a-z]{3}|[0-9]{1,4}"
_PART = re.compile(rf"(\*|{_END})(?:-({_END}))?(?:/([0-9]{{1,4}}))?")  # first, last and step
_INTERVAL = re.compile(
    r"(?:([0-9]{1,9}) days?, )?([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]{1,6})?"
)
_MOST_DAYS = 400  # searched for the next times: more than a year
_OFFSETS = sorted(
    (timedelta(minutes=minutes) for minutes in range(-12 * 60, 14 * 60 + 1, 15)), key=abs
)
"""All offsets from UTC that time zones have, in steps of 15 minutes, the least first."""


@dataclass(frozen=True)
class Cron:
    """A cron expression with five fields."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    is_either_day: bool
    """True if the day of the month or that of the week is enough, because neither is `*`."""

    def is_on(self, day: date) -> bool:
        """Return True if the expression has times on a day."""
        in_month, in_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        fits = in_month or in_week if self.is_either_day else in_month and in_week
        return fits and day.month in self.months

    def fits(self, moment: datetime) -> bool:
        """Return True if a local time is one of the expression."""
        return self.is_on(moment.date()) and (
            moment.hour in self.hours and moment.minute in self.minutes
        )

    def after(self, moment: datetime, zone: tzinfo) -> Iterator[datetime]:
        """Yield the times after a moment, for more than a year.

        The hours and minutes are those of `zone`; the yielded times are in UTC.
        """
        first = moment.astimezone(zone).date()
        for day in map(first.__add__, map(timedelta, range(_MOST_DAYS))):
            for hour in sorted(self.hours) if self.is_on(day) else ():
                for minute in sorted(self.minutes):
                    found = datetime.combine(day, time(hour, minute), zone).astimezone(UTC)
                    if found > moment:
                        yield found

    @property
    def longest_gap(self) -> timedelta | None:
        """Return the longest time between two of its times in a year; None if there are too few.

        It bounds the time of the next start if the time zone is unknown. It is the longest of the
        gaps within a day and of those from the last time of a day to the first of the next one.
        """
        times = sorted(time(hour, minute) for hour in self.hours for minute in self.minutes)
        start = date(2024, 1, 1)  # a leap year: 29 February counts
        days = [day for n in range(_MOST_DAYS) if self.is_on(day := start + timedelta(days=n))]
        ends = ((datetime.combine(d, times[0]), datetime.combine(d, times[-1])) for d in days)
        between = [after[0] - before[1] for before, after in pairwise(ends)]
        on_one_day = [datetime.combine(start, moment) for moment in times]
        within = [after - before for before, after in pairwise(on_one_day)]
        return max((*between, *within), default=None) if between else None


@lru_cache(maxsize=1024)
def cron_of(schedule: str) -> Cron | None:
    """Return the cron expression of a schedule; None if it is not a supported one.

    Names of months and days, lists, ranges, steps and `?` are supported; six fields and `L`, `W` or
    `#` are not.
    """
    fields = _PRESETS.get(schedule.strip().lower(), schedule).lower().split()
    if len(fields) != len(_RANGES):
        return None
    values = [_values(*about) for about in zip(fields, _RANGES, _NAMES, strict=True)]
    if not all(values):
        return None
    minutes, hours, days, months, weekdays = map(frozenset, values)
    is_either = not any(field.startswith(("*", "?")) for field in (fields[2], fields[4]))
    return Cron(minutes, hours, days, months, frozenset(day % 7 for day in weekdays), is_either)


def _values(field: str, limits: tuple[int, int], names: dict[str, int]) -> set[int]:
    """Return the values of a field; empty if it is not supported.

    `limits` are the least and the greatest value of the field; `names` are words for values. A step
    without a range, as in `5/15`, reaches to the greatest value.
    """
    least, most = limits
    found: set[int] = set()
    for part in field.replace("?", "*").split(","):
        match = _PART.fullmatch(part)
        first = names.get(match[1], match[1]) if match else ""
        last = names.get(match[2], match[2]) if match and match[2] else None
        if match is None or not all(str(end).isdigit() for end in (last or 0, first) if end != "*"):
            return set()
        step = int(match[3] or 1)
        start = least if first == "*" else int(first)
        if first == "*" or (last is None and match[3]):
            end = most
        else:
            end = int(first if last is None else last)
        if not (least <= start <= end <= most and step):
            return set()
        found.update(range(start, end + 1, step))
    return found


def next_times(
    schedule: str, after: datetime, zone: str | None, nominal: datetime | None
) -> tuple[datetime, datetime] | None:
    """Return the next two times of a schedule after a time; None if the schedule is not supported.

    `schedule` is a cron expression, a preset such as `@daily` or an interval as Python prints it
    (`1 day, 0:00:00`). `zone` is the name of its time zone and `nominal` the nominal time of a run,
    each None if not reported. If the zone remains unknown, return the latest possible times:
    `after` plus one and two of the longest gaps of the expression.
    """
    if interval := _INTERVAL.fullmatch(schedule.strip()):
        days, hours, minutes, seconds = (int(part or 0) for part in interval.groups())
        step = timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
        return (after + step, after + 2 * step) if step else None
    cron = cron_of(schedule)
    if cron is None:
        return None
    known = _zone(cron, zone, nominal)
    if known is None:
        gap = cron.longest_gap
        return (after + gap, after + 2 * gap) if gap else None
    times = list(islice(cron.after(after, known), 2))
    return (times[0], times[1]) if len(times) == 2 else None


def _zone(cron: Cron, name: str | None, nominal: datetime | None) -> tzinfo | None:
    """Return the time zone of a cron expression; None if it is unknown.

    A zone with a wrong name counts as not reported. Then it is the least offset from UTC with which
    the nominal time is one of the expression.
    """
    if name is not None:
        try:
            return ZoneInfo(name)
        except (ValueError, OSError, KeyError):
            pass
    if nominal is None:
        return None
    fitting = (offset for offset in _OFFSETS if cron.fits(nominal.astimezone(UTC) + offset))
    offset = next(fitting, None)
    return None if offset is None else timezone(offset)
