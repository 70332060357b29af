"""Write snapshots in a separate process, because this takes seconds of CPU.

The process (`python -m headwater.projection.snapshot_writer`) restores the newest snapshot,
applies the events since, as any start does, and writes a new snapshot. It only needs the database.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NoReturn

from headwater.errors import HeadwaterError
from headwater.log import EventLog

log = logging.getLogger(__name__)

_DATABASE = "HEADWATER_DATABASE"
_EVENTS = 10_000  # projected in about 2 seconds
_SHARE = 10  # a snapshot is due when the log grew by a tenth: large ones take longer
_QUIET = 10  # divides the number of events while none arrive


class Background:
    """Runs a module in a process of its own, one at a time; a failure is logged once.

    A subclass sets the module to run; `what` and `consequence` are parts of the warning.
    """

    what = ""
    consequence = ""
    module = ""

    def __init__(self, database: str) -> None:
        self._database = database
        self._process: subprocess.Popen[str] | None = None
        self._is_warned = False

    def is_running(self) -> bool:
        """Return True while the process runs; at its end, handle its output.

        Its output is passed to `succeed`, or if it failed, it is the reason in the warning.
        """
        if self._process is None:
            return False
        code = self._process.poll()
        if code is None:
            return True
        output, _ = self._process.communicate()
        self._process = None
        if code:
            self._warn(output.strip() or f"its process ended with {code}")
        else:
            self.succeed(output)
        return False

    def begin(self, environment: Mapping[str, str] = MappingProxyType({})) -> None:
        """Start the process, with further variables of the environment.

        Its standard output is what `succeed` gets, or the reason if it fails.
        """
        # The URL may contain a password, and arguments of processes are public. In its own session,
        # the process does not receive Ctrl-C.
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", self.module],
                env={**os.environ, _DATABASE: self._database, **environment},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                start_new_session=True,
            )
        except OSError as error:
            self._warn(str(error))

    def succeed(self, output: str) -> None:
        """Handle the output of a process that succeeded."""

    def stop(self) -> None:
        """Stop a running process; it writes to the log completely or not at all."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()

    def _warn(self, reason: str) -> None:
        if not self._is_warned:
            log.warning("%s failed (%s): %s", self.what, reason, self.consequence)
        self._is_warned = True


class Snapshotter(Background):
    """Starts a snapshot process whenever the log has grown enough, one at a time."""

    what = "snapshot"
    consequence = "the next start takes longer"
    module = __name__

    def __init__(self, database: str, reached: int) -> None:
        super().__init__(database)
        self._reached = reached
        self._newest = 0

    def poll(self, newest: int) -> None:
        """Start a snapshot if one is due after the event `newest`; called every second.

        One is due when the log grew by 10,000 events or a tenth since the last one, whichever is
        more; by a tenth of that while no events arrive. `newest` is the number of the newest event
        (`seq`).
        """
        is_quiet, self._newest = newest == self._newest, newest
        if self.is_running():
            return
        enough = max(_EVENTS, newest // _SHARE) // (_QUIET if is_quiet else 1)
        if newest - self._reached >= enough:
            self._reached = newest  # also if it fails
            self.begin()


def run_work(work: Callable[[], str]) -> NoReturn:
    """Do the work of a process, print its output or its error, and end the process."""
    if hasattr(os, "nice"):
        os.nice(10)  # the server has priority
    try:
        code, output = 0, work()
    except HeadwaterError as error:
        code, output = 1, str(error)
    sys.stdout.write(output)
    sys.stdout.flush()
    os._exit(code)  # freeing millions of objects would take longer than the rest


def _write_snapshot() -> str:
    """Restore the state from the log and store it as a snapshot, in this process of its own."""
    from headwater.projection.live import Live
    from headwater.projection.snapshots.state import gc_paused, save

    event_log = EventLog(os.environ[_DATABASE], must_exist=True)
    live = Live(event_log)
    with gc_paused(), live.reading() as state:
        save(event_log, state, live.newest)
    return ""


if __name__ == "__main__":
    run_work(_write_snapshot)
