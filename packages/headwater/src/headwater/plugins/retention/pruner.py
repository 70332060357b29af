"""Prune a served log once a day in a separate process, because this takes seconds of CPU.

The process (`python -m headwater.plugins.retention.pruner`) reads the log, deletes the events and
exits. The server then reads the remaining events in place of its projection.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta

from headwater.errors import HeadwaterError
from headwater.log import EventLog
from headwater.plugins.retention.prune import plan, prune
from headwater.projection.live import Live
from headwater.projection.snapshot_writer import Background, run_work
from headwater.settings import Settings
from headwater.worker import ThreadedWorker

_KEEP = "HEADWATER_KEEP"
_EVERY = 86_400.0
_POLL_SECONDS = 1.0
_DELETED = "deleted"


class Pruner(ThreadedWorker, Background):
    """Starts a process that prunes, now and every day.

    `Background` runs the process and calls `succeed` with its output. `reload` reads the log again.
    """

    what = "prune"
    consequence = "old events stay"
    module = __name__

    def __init__(self, database: str, keep: timedelta, reload: Callable[[], None]) -> None:
        ThreadedWorker.__init__(self, "headwater-prune")
        Background.__init__(self, database)
        self._keep, self._reload = keep, reload
        self._due = time.monotonic()

    def stop(self) -> None:
        """Stop the worker, and a running process, which deletes everything or nothing."""
        ThreadedWorker.stop(self)
        Background.stop(self)

    def run(self) -> None:
        """Start a process whenever one is due."""
        while not self._stopping.wait(_POLL_SECONDS):
            try:
                self.poll()
            except HeadwaterError as error:  # the database may respond again
                self._warn(str(error))

    def poll(self) -> None:
        """Start a process if one is due; called every second."""
        if self.is_running() or time.monotonic() < self._due:
            return
        self._due = time.monotonic() + _EVERY
        self.begin({_KEEP: f"{int(self._keep.total_seconds())}s"})

    def succeed(self, output: str) -> None:
        """Reload the projection if events were deleted."""
        if output.startswith(_DELETED):
            self._reload()


def workers(settings: Settings) -> Callable[[Live], list[Pruner]]:
    """Return a function that creates a `Pruner`, if the settings limit the time to keep."""
    keep = settings.keep
    return lambda live: [Pruner(settings.database, keep, live.reload)] if keep else []


def _prune() -> str:
    """Prune the log of the settings in this process; return what the server reads of it.

    The text is empty if nothing was deleted.
    """
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
