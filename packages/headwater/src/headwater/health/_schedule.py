"""Evidence of a schedule in the starts of runs.

A job without such evidence is never late. The *nominal* time of a run is the time that it is
scheduled for, such as midnight, as opposed to that at which it began.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from headwater.events import from_micros, parse_time, to_micros
from headwater.events.facets import AirflowDagRun, NominalTime, Tags
from headwater.health._cron import next_times
from headwater.projection import Run, State
from headwater.projection.derived import began_at, is_streaming

AD_HOC = "ad-hoc"
"""Tag of a job or a run that is started without a schedule."""
_MINUTE = 60_000_000  # microseconds
_LEAST_TIMES = 3
_LEAST_DAYS = 3
_REGULAR = 0.6  # share of intervals that are about the usual one
_TOLERANCE = 0.5  # of the usual interval
_FEW = 7  # starts, whose intervals may be about equal by chance
_TOLERANCE_OF_FEW = 0.1
_UNSCHEDULED_TYPES = {"manual", "operator_triggered", "backfill", "backfill_job"}  # of Airflow
_UNSCHEDULED = {"none", "never", "null", "@once", "@continuous", "never, external triggers only"}
_ASSETS = re.compile(r"\b(asset|dataset)", re.IGNORECASE)


class Start(NamedTuple):
    """The start of a run or of its parent run, in microseconds."""

    at: int
    is_manual: bool
    """True if somebody started it by hand."""
    nominal: int | None
    """The nominal time, if it is on a whole minute, as those of schedulers are."""
    schedule: str | None
    """The schedule of the DAG, as Airflow reports it."""
    zone: str | None = None
    """The time zone of the schedule."""
    is_top: bool = False
    """True if the run is not part of another one."""

    @property
    def place(self) -> tuple[int, bool, int, str]:
        """The sort key."""
        return self.at, self.is_manual, self.nominal or 0, self.schedule or ""


def start_of_run(state: State, run: Run, above: Run) -> Start | None:
    """Return the start of a run that counts for a schedule; None if it is unknown or a stream.

    `above` is the run under which starts count as one: its parent, its root, or the run itself.
    Facets that only one of the two has count for both.
    """
    begun = began_at(state, run)
    if begun is None or is_streaming(state, run):
        return None
    dag = _dag_run(run) or _dag_run(above)
    tags = (tag for part in (run, above) for tag in part.facets.parsed(Tags).tags)
    tagged = any(means_ad_hoc(tag.label) for tag in tags)
    is_manual = tagged or bool(dag and dag.run_type in _UNSCHEDULED_TYPES)
    nominal = _nominal(run)
    if nominal is None:
        nominal = _nominal(above)
    schedule, zone = (dag.schedule, dag.zone) if dag else (None, None)
    return Start(begun, is_manual, nominal, schedule, zone, is_top=run is above)


def times_after(start: Start) -> tuple[int, int] | None:
    """Return the next two times of the stated schedule after a start.

    None if they are unknown or after the year 9999.
    """
    if start.schedule is None:
        return None
    nominal = None if start.nominal is None else from_micros(start.nominal)
    try:
        times = next_times(start.schedule, from_micros(start.at), start.zone, nominal)
    except OverflowError:
        return None
    return (to_micros(times[0]), to_micros(times[1])) if times else None


def means_ad_hoc(tag: str) -> bool:
    """Return True for the tag `ad-hoc` in any spelling, such as `Ad_Hoc`."""
    return tag.lower().replace("_", "-") == AD_HOC


def states_schedule(run: Run) -> bool:
    """Return True if Airflow reported the schedule of the DAG with a run."""
    dag = _dag_run(run)
    return dag is not None and dag.schedule is not None


def waits_for_assets(run: Run) -> bool:
    """Return True if a run belongs to a DAG whose schedule is the writing of assets."""
    dag = _dag_run(run)
    return bool(dag and dag.schedule and _ASSETS.search(dag.schedule))


def has_schedule(starts: Sequence[Start]) -> bool:
    """Return True if starts have a schedule: a stated one, nominal times, or regular days.

    `starts` are ordered by time and not empty. A reported schedule decides, even if it is `None` or
    `@once`. Otherwise, three nominal times or starts on three days that are about regular are
    needed: 60 % of the intervals within half of their median.
    """
    stated = starts[-1].schedule
    if stated is not None:
        return stated.strip().lower() not in _UNSCHEDULED
    nominal = sorted({start.nominal for start in starts if start.nominal is not None})
    if len(nominal) >= _LEAST_TIMES and _regular(nominal)[0]:
        return True
    tolerance = _TOLERANCE_OF_FEW if len(starts) <= _FEW else _TOLERANCE
    is_regular, members = _regular([start.at for start in starts], tolerance)
    days = {_day(at) for at in members}
    return is_regular and len(days) >= _LEAST_DAYS


def _regular(times: list[int], tolerance: float = _TOLERANCE) -> tuple[bool, set[int]]:
    """Return True if most intervals are near the median, and the times that these separate.

    `times` are at least two, in microseconds and in order. `tolerance` is a share of the median.
    """
    steps = list(pairwise(times))
    usual = median(after - before for before, after in steps)
    alike = [step for step in steps if abs(step[1] - step[0] - usual) <= tolerance * usual]
    return len(alike) >= _REGULAR * len(steps), {time for step in alike for time in step}


def _day(at: int) -> object:
    """Return the day (UTC) of a time in microseconds."""
    moment: datetime = from_micros(at)
    return moment.date()


def _dag_run(run: Run) -> AirflowDagRun | None:
    """Return the DAG run of Airflow that a run belongs to; None if it reports none."""
    for key in ("airflowDagRun", "airflow"):
        if run.facets.stamp_of(key):
            return AirflowDagRun.parse(run.facets.get(key))
    return None


def _nominal(run: Run) -> int | None:
    """Return the nominal time of a run, in microseconds; None unless it is on a whole minute.

    A scheduler sets whole minutes. Other times are those of runs that were started by hand.
    """
    text = run.facets.parsed(NominalTime).nominalStartTime
    if text is None:
        return None
    try:
        at = to_micros(parse_time(text))
    except (ValueError, OverflowError):
        return None
    return at if at % _MINUTE == 0 else None
