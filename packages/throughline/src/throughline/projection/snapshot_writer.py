"""Write snapshots in a separate process, as that takes seconds of CPU.

The process (`python -m throughline.projection.snapshot_writer`) restores the newest snapshot,
applies the events since, as any start does, and writes a new snapshot. It only needs the database.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys

from throughline.errors import ThroughlineError
from throughline.log import EventLog

log = logging.getLogger(__name__)

_DATABASE = "THROUGHLINE_DATABASE"
_EVENTS = 10_000  # projected in about 2 seconds
_SHARE = 10  # a snapshot is due when the log grew by a tenth: large ones take longer
_QUIET = 10  # divides the number of events while none arrive


class Snapshotter:
    """Starts a snapshot process whenever the log has grown enough, one at a time."""

    def __init__(self, database: str, reached: int) -> None:
        self._database = database
        self._reached = reached
        self._newest = 0
        self._process: subprocess.Popen[str] | None = None
        self._is_warned = False

    def poll(self, newest: int) -> None:
        """Start a snapshot if one is due after the event `newest`; called every second."""
        is_quiet, self._newest = newest == self._newest, newest
        if self._process is not None:
            code = self._process.poll()
            if code is None:
                return
            self._end(self._process, code)
        enough = max(_EVENTS, newest // _SHARE) // (_QUIET if is_quiet else 1)
        if newest - self._reached >= enough:
            self._reached = newest  # also if it fails
            self._begin()

    def stop(self) -> None:
        """Stop a running process; a snapshot is written completely or not at all."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()

    def _begin(self) -> None:
        # The URL may contain a password, and arguments of processes are public. In its own session,
        # the process does not receive Ctrl-C.
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", __name__],
                env={**os.environ, _DATABASE: self._database},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                start_new_session=True,
            )
        except OSError as error:
            self._warn(str(error))

    def _end(self, process: subprocess.Popen[str], code: int) -> None:
        output, _ = process.communicate()
        self._process = None
        if code:
            self._warn(output.strip() or f"its process ended with {code}")

    def _warn(self, reason: str) -> None:
        if not self._is_warned:
            log.warning("snapshot failed (%s): the next start takes longer", reason)
        self._is_warned = True


def main() -> int:
    """Write a snapshot of the log that the environment names; return the exit code."""
    from throughline.projection.live import Live
    from throughline.projection.snapshots.state import gc_paused, save

    if hasattr(os, "nice"):
        os.nice(10)  # the server goes first
    try:
        event_log = EventLog(os.environ[_DATABASE], must_exist=True)
        live = Live(event_log)
        with gc_paused(), live.reading() as state:
            save(event_log, state, live.newest)
    except ThroughlineError as error:
        sys.stdout.write(str(error))
        return 1
    return 0


if __name__ == "__main__":
    # Freeing millions of objects would take longer than the rest.
    code = main()
    sys.stdout.flush()
    os._exit(code)
