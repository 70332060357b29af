"""Freshness: find jobs that are late compared with their usual interval.

Lateness needs evidence of a schedule: Airflow's schedule of the DAG, nominal times on whole
minutes, or a rhythm on several days. Manual runs and backfills (Airflow's run type, or the tag
`ad-hoc` of the run) have no intervals, but a job is not late if it has just run. A run does not
count if an earlier one had a later nominal time. A DAG that waits for assets is late only if
another job wrote one of its inputs since it last started. A job is not late if other jobs took over
all of its outputs, as after a DAG was renamed.

The intervals are those between the nominal times of a job's newest runs if each has one of its own,
or else between their starts. Runs under one parent run (retries, mapped tasks) are one start. A job
is late if the time since its last start exceeds all of

- 1.5 times the median interval,
- the median plus three times the spread (the median absolute deviation, scaled to the standard
  deviation of a normal distribution), and
- 1.1 times the 90th percentile.

If Airflow reports the times of the schedule (a cron expression, a preset or an interval) and the
starts follow it, a job is late half an interval after the time that follows its last start. A DAG
needs one run for this, and its tasks and tables three.

With these limits, neither a slow morning nor, for a job that runs on weekdays, a weekend makes a
job late. After thirty intervals, the job has stopped instead. A job with the tag `ad-hoc` runs on
request: neither it nor the datasets that it writes have an interval. Nor do streaming runs.

`headwater.health.writers` applies this to the writes of datasets. `Generations.of_runs` caches a
value of the runs of a job, and `derived_of_writes` one of the runs that wrote a dataset, until
these change.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise
from math import ceil
from operator import attrgetter
from statistics import median
from typing import NamedTuple

from headwater import deadline
from headwater.events import JobRef
from headwater.graph.current import generations_of, once_an_event
from headwater.graph.levels import Level
from headwater.graph.nodes import Node
from headwater.health._schedule import (
    Start,
    has_schedule,
    means_ad_hoc,
    start_of_run,
    times_after,
    waits_for_assets,
)
from headwater.health.recovery import successors
from headwater.identity import DatasetName
from headwater.node_facets import tags_of
from headwater.projection import Run, RunKey, State
from headwater.projection.derived import (
    ancestry_of,
    began_at,
    descendants_of,
    parent_of,
    records_of,
)
from headwater.runs.summary import newest_run

LEAST_RUNS = 3
"""Starts that are evidence of a rhythm, unless the schedule was reported."""
_FOLLOWING = 10  # newest starts that must follow a stated schedule
_USUAL = 0.6  # share of them
_NEWEST = 31  # starts; older intervals are ignored
_STOPPED = 30  # intervals
_SCALE = 1.4826
PLACE = attrgetter("place")
"""The sort key of starts."""


class Rhythm(NamedTuple):
    """The last start of a job, or write of a dataset, and its usual interval, in microseconds."""

    last: int
    every: int
    """The median interval."""
    limit: int
    """The longest interval that is not late."""
    due: int
    """The time of the next start."""
    job: JobRef | None = None
    """The pipeline whose writes these are, if several write the dataset on their own schedules."""
    jobs: frozenset[JobRef] = frozenset()
    """The jobs whose writes these are, with their pipelines and queries; empty for a job."""

    def is_late(self, now: int) -> bool:
        """Return True if it should have started by now."""
        return self.limit < now - self.last <= max(self.limit, _STOPPED * self.every)

    def is_stopped(self, now: int) -> bool:
        """Return True if it has not started for so long that it seems to be switched off."""
        return now - self.last > max(self.limit, _STOPPED * self.every)


def rhythm_of(state: State, ref: JobRef, *, needs_reason: bool = True) -> Rhythm | None:
    """Return the rhythm of a job, or None if it is ad hoc or there is no evidence of a schedule.

    With `needs_reason`, also None for a job that waits for assets that were not written.
    """
    if is_ad_hoc(state, ref):
        return None
    rhythm = rhythm_of_runs(state, ref)
    return _with_reason(state, rhythm, [ref]) if needs_reason else rhythm


def rhythm_of_runs(state: State, ref: JobRef) -> Rhythm | None:
    """Return the rhythm of a job's runs, even if it runs on request; None without evidence."""
    generations = generations_of(state)
    return generations.of_runs(ref, "rhythm", lambda runs: rhythm_of_starts(_starts(state, runs)))


def rhythm_of_starts(begun: Iterable[Start]) -> Rhythm | None:
    """Return the rhythm of starts; None if there is no evidence of a schedule.

    The limits are those that the description of this module lists. Only the newest 31 scheduled
    starts count; the time of the last start is that of any start.
    """
    starts = list(_without_repeated(sorted(begun, key=PLACE)))
    scheduled = [start for start in starts if not start.is_manual]
    if stated := _stated_rhythm(starts, scheduled):
        return stated
    if len(scheduled) < LEAST_RUNS or not has_schedule(scheduled):
        return None
    newest = _times(scheduled[-_NEWEST:])
    intervals = [after - before for before, after in pairwise(newest)]
    if not median(intervals):
        return None
    every = median(intervals)
    spread = _SCALE * median(abs(interval - every) for interval in intervals)
    longest = sorted(intervals)[ceil(0.9 * len(intervals)) - 1]
    limit = int(max(1.5 * every, every + 3 * spread, 1.1 * longest))
    last = starts[-1].at  # after a manual run, too: the job is not late if it has just run
    return Rhythm(last, int(every), limit, due=last + int(every))


def _stated_rhythm(starts: list[Start], scheduled: list[Start]) -> Rhythm | None:
    """Return the rhythm of a schedule whose times are known, if the starts follow it.

    Tasks and tables of a DAG may need only some of its runs. Without several starts that follow the
    schedule, it is therefore known only that the DAG itself follows it.

    `starts` are all starts in order, and `scheduled` those that are not manual. Return None if the
    next times of one of the newest starts are unknown, or if less than 60 % of these starts follow
    the schedule: one follows if it is before the second time after the start before it.
    """
    newest = scheduled[-_FOLLOWING:]
    steps = [(before, times_after(before)) for before in newest]
    if not steps or any(times is None for _, times in steps):
        return None
    follows = [
        times is not None and after.at < times[1]
        for (_, times), after in zip(steps, newest[1:], strict=False)
    ]
    if len(scheduled) < LEAST_RUNS and not all(start.is_top for start in scheduled):
        return None
    if len(follows) > 1 and sum(follows) < _USUAL * len(follows):
        return None
    last = starts[-1].at
    times = times_after(newest[-1]._replace(at=last))
    if times is None:
        return None
    due, then = times
    gap = then - due
    return Rhythm(last, gap, due + gap // 2 - last, due)


def _without_repeated(starts: Iterable[Start]) -> Iterator[Start]:
    """Yield the starts whose nominal time is not before that of an earlier start.

    A backfill, or a cleared run of an earlier day, does not replace the run that is due.
    """
    newest = 0
    for start in starts:
        nominal = start.nominal if start.nominal and start.nominal <= start.at else None
        if nominal is None or nominal >= newest:
            yield start
            newest = max(newest, nominal or 0)


def _times(starts: list[Start]) -> list[int]:
    """Return the nominal times of starts if each has its own, otherwise the times of the starts.

    A scheduler that catches up starts the runs of many days within minutes.
    """
    nominal = sorted({start.nominal for start in starts if start.nominal is not None})
    return nominal if len(nominal) == len(starts) else [start.at for start in starts]


def is_ad_hoc(state: State, ref: JobRef) -> bool:
    """Return True if a job has the tag `ad-hoc`."""
    found = _ad_hoc(state)
    if ref not in found:
        found[ref] = any(map(means_ad_hoc, tags_of(state, Node.of_job(ref))))
    return found[ref]


@once_an_event
def _ad_hoc(state: State) -> dict[JobRef, bool]:
    del state
    return {}


def _with_reason(state: State, rhythm: Rhythm | None, jobs: Iterable[JobRef]) -> Rhythm | None:
    """Return a rhythm; None if it is over, and no job had a reason to start.

    `jobs` are those that would have to start: the job itself, or the writers of the dataset.
    """
    if rhythm is None or state.now - rhythm.last <= rhythm.limit:
        return rhythm
    return rhythm if any(has_reason(state, ref, rhythm) for ref in jobs) else None


def is_replaced(state: State, ref: JobRef) -> bool:
    """Return True if a job is overdue, and others took over all outputs since its last start.

    The state of such a job is unknown instead of late.
    """
    rhythm, run = rhythm_of_runs(state, ref), newest_run(state, ref)
    if rhythm is None or run is None or state.now - rhythm.last <= rhythm.limit:
        return False
    return _was_replaced(state, [run, *descendants_of(state, run)], rhythm.last)


def has_reason(state: State, ref: JobRef, rhythm: Rhythm) -> bool:
    """Return True unless other jobs took over, or it waits for assets and none was written since.

    "Since" means since the last start in `rhythm`. A job was replaced, for example renamed, if its
    successors wrote all of its outputs.
    """
    run = newest_run(state, ref)
    if run is None:
        return True
    family = [run, *descendants_of(state, run)]
    if _was_replaced(state, family, rhythm.last):
        return False
    if not any(map(waits_for_assets, ancestry_of(state, run))):
        return True
    inputs = {state.identity.primary(name) for member in family for name in member.inputs}
    own = {member.key.job for member in family}
    return any(
        (began_at(state, state.runs[key]) or 0) > rhythm.last and key.job not in own
        for name in inputs
        for record in records_of(state, name)
        for key in deadline.watched(record.writers)
    )


def _was_replaced(state: State, family: Iterable[Run], since: int) -> bool:
    """Return True if successors wrote all outputs of a run and those below it since its start.

    `family` is a run with those below it; `since` is in microseconds. False if they wrote nothing.
    """
    owner, primary = generations_of(state).levels.owner, state.identity.primary
    writers: dict[DatasetName, set[JobRef]] = defaultdict(set)
    for run in family:
        for name in run.outputs:
            writers[primary(name)].add(owner(run, Level.TASK).key.job)
    own = {ref for tasks in writers.values() for ref in tasks}
    return bool(writers) and all(
        not own.issuperset(successors(state, name, tasks, since)) for name, tasks in writers.items()
    )


def _starts(state: State, runs: Iterable[Run]) -> Iterable[Start]:
    """Return the starts of runs; those under one parent run are one start."""
    first: dict[RunKey, Start] = {}
    for run in runs:
        parent = parent_of(state, run) or run
        if start := start_of_run(state, run, parent):
            first[parent.key] = min(start, first.get(parent.key, start), key=PLACE)
    return first.values()
