"""Pass the messages of an MCP session through unchanged, and give copies to a recorder.

MCP over stdio is one JSON message per line. A thread for each direction copies bytes as they
arrive. Another thread reads the copies, so that no message waits for it.
"""

from __future__ import annotations

import os
import queue
import select
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import IO

from headwater_client._mcp_session import McpSession, McpSettings
from headwater_client._process import Child, outcome_of
from headwater_client._report import Report
from headwater_client.parents import parents

_CHUNK = 65_536
_MOST_WAITING = 64_000_000  # bytes of copies that are not read yet
_LONGEST_LINE = 32_000_000
_SWITCH = 0.000_5  # seconds that a message waits at most for the thread that records others
_PATIENCE = 1.0  # seconds between looks at a server that ended and keeps its output open

_Read = Callable[[bytes, datetime], None]


class Lines:
    """The lines in the bytes of one direction, without lines that are too long.

    `_parts` has the beginning of the current line.
    """

    def __init__(self, longest: int = _LONGEST_LINE) -> None:
        self._longest = longest
        self._parts: list[bytes] = []
        self._size = 0
        self._is_skipping = False

    def add(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the lines that end in the next bytes."""
        *ends, rest = chunk.split(b"\n")
        for part in ends:
            self._append(part)
            if not self._is_skipping:
                yield b"".join(self._parts)
            self._parts, self._size, self._is_skipping = [], 0, False
        self._append(rest)

    def skip(self) -> None:
        """Leave out the current line: a part of it is missing."""
        self._parts, self._is_skipping = [], True

    def _append(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > self._longest:
            self.skip()
        elif not self._is_skipping:
            self._parts.append(part)


class Recorder:
    """A reader of the copies of the messages, with a thread of its own."""

    def __init__(self, read_request: _Read, read_response: _Read) -> None:
        """Start the thread. The functions get each line, with the time at which its end arrived.

        `_copies` has what waits for the thread: True for a response, the bytes (None if they were
        left out) and their time; None ends the thread. `_waiting` counts the bytes.
        """
        self._readers = (read_request, read_response)
        self._copies: queue.SimpleQueue[tuple[int, bytes | None, datetime] | None]
        self._copies = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._waiting = 0
        self.problem: str | None = None
        self._thread = threading.Thread(target=self._read_all, daemon=True)
        self._thread.start()

    def add(self, chunk: bytes, *, is_response: bool) -> None:
        """Add bytes to be read, or leave them out if too many are waiting."""
        with self._lock:
            is_full = self._waiting + len(chunk) > _MOST_WAITING
            self._waiting += 0 if is_full else len(chunk)
        if is_full:
            self.problem = "messages arrived faster than they could be recorded; some are missing"
        self._copies.put((is_response, None if is_full else chunk, datetime.now(UTC)))

    def finish(self) -> None:
        """Wait until all copies are read."""
        self._copies.put(None)
        self._thread.join()

    def _read_all(self) -> None:
        """Read the copies of both directions in the order in which they arrived, until `finish`."""
        import headwater_client._captured_run  # noqa: F401  # slow; the server starts meanwhile

        lines = (Lines(), Lines())
        while (copy := self._copies.get()) is not None:
            direction, chunk, at = copy
            if chunk is None:
                lines[direction].skip()
                continue
            with self._lock:
                self._waiting -= len(chunk)
            for line in lines[direction].add(chunk):
                try:
                    self._readers[direction](line, at)
                except Exception as error:  # lineage must never break a session
                    self.problem = f"a message cannot be recorded: {error!r}"


def run_proxy(
    settings: McpSettings, command: Sequence[str], report: Report, environment: Mapping[str, str]
) -> int:
    """Run the command between standard input and output, and record its session.

    Return its exit code; the negated signal number if a signal ended it. If the client closed the
    input or stopped this process, the session is complete, whatever the exit code.
    """
    sys.setswitchinterval(_SWITCH)
    session = McpSession(settings, report, parents(environment), datetime.now(UTC))
    child = Child(command, environment, has_pipes=True)
    recorder = Recorder(session.read_request, session.read_response)
    is_closed = threading.Event()
    if pipes := child.pipes:
        to_server, from_server = pipes

        def pass_requests() -> None:
            for chunk in _chunks(0):
                recorder.add(chunk, is_response=False)
                if not _write(to_server.fileno(), chunk):
                    return
            is_closed.set()
            with suppress(OSError):
                to_server.close()

        threading.Thread(target=pass_requests, daemon=True).start()
        responses = _Responses(from_server, recorder)
        responses.start()
    code = child.wait()
    if pipes:
        responses.finish()
    state, error = outcome_of(command[0], code, child)
    if state != "COMPLETE" and (is_closed.is_set() or child.was_stopped) and not child.problem:
        state, error = "COMPLETE", None  # the client ended the session
    recorder.finish()
    session.end(state, datetime.now(UTC), error)
    for problem in (recorder.problem, *report.close()):
        if problem:
            sys.stderr.write(f"headwater: {problem}\n")
    return code


class _Responses(threading.Thread):
    """A thread that copies the output of the server until it ends."""

    def __init__(self, pipe: IO[bytes], recorder: Recorder) -> None:
        super().__init__(daemon=True)
        self._pipe = pipe
        self._recorder = recorder
        self._chunks = 0
        self._is_writing = False

    def run(self) -> None:
        """Copy all bytes; if the client closed its input, close the output of the server."""
        for chunk in _chunks(self._pipe.fileno()):
            self._is_writing = True
            self._recorder.add(chunk, is_response=True)
            if not _write(1, chunk):
                break
            self._chunks += 1
            self._is_writing = False
        with suppress(OSError):
            self._pipe.close()

    def finish(self) -> None:
        """Wait for the rest, unless another process keeps the output open without writing."""
        while self.is_alive():
            before = self._chunks
            self.join(_PATIENCE)
            if self._chunks == before and not self._is_writing:
                return


def _chunks(source: int) -> Iterator[bytes]:
    """Yield bytes as they arrive, until the end."""
    with suppress(OSError):
        while True:
            try:
                chunk = os.read(source, _CHUNK)
            except BlockingIOError:  # a client may share its own setting of the pipe
                select.select([source], [], [])
                continue
            if not chunk:
                return
            yield chunk


def _write(target: int, chunk: bytes) -> bool:
    """Write all bytes; return False if the target is closed."""
    rest = memoryview(chunk)
    while rest:
        try:
            rest = rest[os.write(target, rest) :]
        except BlockingIOError:
            select.select([], [target], [])
        except OSError:
            return False
    return True
