"""Snapshots beside a server: made by a process of their own, as that takes seconds of CPU.

The process (`python -m throughline.cli.snapshot`) takes the newest snapshot and what came since,
as any start does, and keeps what that gives. It needs nothing of the server but the database.
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
_EVENTS = 10_000  # this many are projected in some 2 seconds
_SHARE = 10  # a snapshot takes the longer the more it holds: one each time that grew by a tenth
_QUIET = 10  # nothing comes at present: so much sooner


class Snapshotter:
    """Has a snapshot made whenever the log has grown enough since one, one at a time."""

    def __init__(self, database: str, reached: int) -> None:
        self._database = database
        self._reached = reached
        self._seen = 0
        self._process: subprocess.Popen[str] | None = None
        self._is_warned = False

    def poll(self, newest: int) -> None:
        """Look, each second, whether one is due for a log that ends with the `seq` `newest`."""
        is_quiet, self._seen = newest == self._seen, newest
        if self._process is not None:
            code = self._process.poll()
            if code is None:
                return
            self._end(self._process, code)
        enough = max(_EVENTS, newest // _SHARE) // (_QUIET if is_quiet else 1)
        if newest - self._reached >= enough:
            self._reached = newest  # if it fails, the next try is as far away
            self._begin()

    def stop(self) -> None:
        """End what is under way: nothing of it is written, or all."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()

    def _begin(self) -> None:
        # The URL may hold a password, which the arguments of a process would show to everybody. A
        # session of its own: Ctrl-C is the server's to handle.
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
        told, _ = process.communicate()
        self._process = None
        if code:
            self._warn(told.strip() or f"its process ended with {code}")

    def _warn(self, reason: str) -> None:
        if not self._is_warned:
            log.warning("no snapshot could be made (%s): the next start takes longer", reason)
        self._is_warned = True


def main() -> int:
    """Make one snapshot of the log that the environment names; the exit code."""
    from throughline.projection.live import Live
    from throughline.projection.snapshot import gc_paused, save

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
    # Giving millions of objects back one by one would take longer than the rest.
    code = main()
    sys.stdout.flush()
    os._exit(code)
