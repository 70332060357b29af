"""Prune a served log once a day in a separate process, because this takes seconds of CPU.

The process (`python -m headwater.retention.pruner`) reads the log, deletes the events and exits.
The server then reads the remaining events in place of its projection.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta

from headwater.log import EventLog
from headwater.projection.snapshot_writer import Background, run_work
from headwater.retention.prune import plan, prune

_KEEP = "HEADWATER_KEEP"
_EVERY = 86_400.0
_DELETED = "deleted"


class Pruner(Background):
    """Starts a process that prunes, now and every day."""

    what = "prune"
    consequence = "old events stay"
    module = __name__

    def __init__(self, database: str, keep: timedelta | None, reload: Callable[[], None]) -> None:
        super().__init__(database)
        self._keep, self._reload = keep, reload
        self._due = time.monotonic()

    def poll(self) -> None:
        """Start a process if one is due; called every second."""
        if self._keep is None or self.is_running() or time.monotonic() < self._due:
            return
        self._due = time.monotonic() + _EVERY
        self.begin({_KEEP: f"{int(self._keep.total_seconds())}s"})

    def succeed(self, output: str) -> None:
        """Reload the projection if events were deleted."""
        if output.startswith(_DELETED):
            self._reload()


def _prune() -> str:
    from headwater.settings import resolve

    settings = resolve()
    assert settings.keep is not None
    log = EventLog.of(settings, must_exist=True)
    now = time.time_ns() // 1_000
    horizon_time = None
    if settings.horizon is not None:
        horizon_time = now - int(settings.horizon.total_seconds() * 1e6)
    cutoff = now - int(settings.keep.total_seconds() * 1e6)
    found = plan(log, cutoff, horizon=horizon_time)
    prune(log, found)
    return f"{_DELETED} {len(found.seqs)} events" if found.seqs else ""


if __name__ == "__main__":
    run_work(_prune)
