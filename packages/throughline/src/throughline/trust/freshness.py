"""Freshness: find jobs that are late compared with their usual interval.

The intervals are those between the starts of a job's newest runs; runs under one parent run
(retries, mapped tasks) are one start. A job is late if the time since its last start exceeds all of

- 1.5 times the median interval,
- the median plus three times the spread (the median absolute deviation, scaled to the standard
  deviation of a normal distribution), and
- 1.1 times the 90th percentile.

So a slow morning does not make a job late, nor does the weekend a job that runs on weekdays. After
thirty intervals, the job has stopped instead. A job with the tag `ad-hoc` runs on request: neither
it nor the datasets that it writes have an interval.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil
from statistics import median
from typing import NamedTuple

from throughline import deadline
from throughline.events import JobRef, shown_time
from throughline.graph.current import generations_of
from throughline.graph.nodes import Node, name_of, tags_of
from throughline.identity import DatasetName
from throughline.projection import Run, RunKey, State
from throughline.projection.derived import ancestry_of, began_at, parent_of
from throughline.trust.models import LateJob

_LEAST_RUNS = 3
_NEWEST = 31  # starts; older intervals are ignored
_STOPPED = 30  # intervals
_SCALE = 1.4826
AD_HOC = "ad-hoc"
"""Tag of a job that runs without a schedule."""


class Rhythm(NamedTuple):
    """The last start of a job and its usual interval, in microseconds."""

    last: int
    every: int
    """The median interval."""
    limit: int
    """The longest interval that is not late."""

    def is_late(self, now: int) -> bool:
        """Return True if it should have started by now."""
        return self.limit < now - self.last <= max(self.limit, _STOPPED * self.every)

    def is_stopped(self, now: int) -> bool:
        """Return True if it has not started for so long that it seems to be switched off."""
        return now - self.last > max(self.limit, _STOPPED * self.every)


def rhythm_of(state: State, ref: JobRef) -> Rhythm | None:
    """Return the rhythm of a job, or None if it is ad hoc or has run less than three times."""
    if is_ad_hoc(state, ref):
        return None
    return generations_of(state).of_runs(ref, "rhythm", lambda runs: _rhythm(_starts(state, runs)))


def rhythm_of_writes(state: State, name: DatasetName) -> Rhythm | None:
    """Return the rhythm of a dataset's writes; runs under one root run are one write."""
    first: dict[RunKey, int] = {}
    for alias in state.identity.names(name):
        record = state.datasets.get(alias)
        for run in (state.runs[key] for key in deadline.watched(record.writers if record else ())):
            begun = began_at(state, run)
            if begun is not None:
                *_, root = ancestry_of(state, run)
                if is_ad_hoc(state, run.key.job) or is_ad_hoc(state, root.key.job):
                    continue
                first[root.key] = min(begun, first.get(root.key, begun))
    return _rhythm(first.values())


def _rhythm(begun: Iterable[int]) -> Rhythm | None:
    starts = sorted(begun)[-_NEWEST:]
    intervals = [after - before for before, after in zip(starts, starts[1:], strict=False)]
    if len(starts) < _LEAST_RUNS or not median(intervals):
        return None
    every = median(intervals)
    spread = _SCALE * median(abs(interval - every) for interval in intervals)
    longest = sorted(intervals)[ceil(0.9 * len(intervals)) - 1]
    return Rhythm(starts[-1], int(every), int(max(1.5 * every, every + 3 * spread, 1.1 * longest)))


def late(state: State, jobs: Iterable[JobRef]) -> list[LateJob]:
    """Return the jobs that are late or have stopped, those late by most intervals first."""
    found: list[LateJob] = []
    for ref in deadline.watched(jobs):
        rhythm = rhythm_of(state, ref)
        if rhythm and (rhythm.is_late(state.now) or rhythm.is_stopped(state.now)):
            due = rhythm.last + rhythm.every
            found.append(
                {
                    "job": name_of(ref),
                    "lastStartedAt": shown_time(rhythm.last),
                    "everySeconds": rhythm.every // 1_000_000,
                    "dueAt": str(shown_time(due)),
                    "lateSeconds": (state.now - due) // 1_000_000,
                    "isStopped": rhythm.is_stopped(state.now),
                }
            )
    return sorted(found, key=lambda job: -job["lateSeconds"] / max(1, job["everySeconds"]))


def is_ad_hoc(state: State, ref: JobRef) -> bool:
    """Return True if a job has the tag `ad-hoc`."""
    return AD_HOC in tags_of(state, Node.of_job(ref))


def _starts(state: State, runs: Iterable[Run]) -> Iterable[int]:
    """Return the starts of runs; those under one parent run are one start."""
    first: dict[RunKey, int] = {}
    for run in runs:
        begun = began_at(state, run)
        if begun is not None:
            parent = parent_of(state, run)
            key = parent.key if parent else run.key
            first[key] = min(begun, first.get(key, begun))
    return first.values()
