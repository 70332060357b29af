"""A process that reads SQL texts, so that reading does not delay the threads of the server.

It receives lines of JSON, each a list of texts with the arguments of `read_script`, and answers
each with a line of their packed results. It ends when its input is closed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from base64 import b64decode, b64encode
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from headwater.sql.reader import Arguments, KnownColumns

_SECONDS = 1_800.0
"""Wall time for a batch of texts on a busy machine. The CPU time of a text is about 2 s at most."""


class ProcessError(Exception):
    """The process ended, or took too long."""


class ReaderProcess:
    """The process that reads texts. It is started when needed, and again if it ended.

    Only one thread may call `read`; another one may call `kill` meanwhile.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def read(self, items: Sequence[tuple[str, Arguments]]) -> list[bytes | None]:
        """Return the packed results of some texts; None for one that must not be stored.

        Raises:
            ProcessError: the process cannot be started, ended or took too long.

        The results are in the order of the texts, packed by `results.pack`.
        """
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        request = orjson.dumps([_plain(text, arguments) for text, arguments in items])
        timer = threading.Timer(_SECONDS, process.kill)
        timer.start()
        try:
            process.stdin.write(request + b"\n")
            process.stdin.flush()
            answer = process.stdout.readline()
        except (OSError, ValueError) as error:  # ValueError: a pipe is closed
            self.close()
            raise ProcessError(str(error)) from error
        finally:
            timer.cancel()
        if not answer:
            raise ProcessError(f"the process ended with {process.wait()}")
        return [None if packed is None else b64decode(packed) for packed in orjson.loads(answer)]

    @property
    def pid(self) -> int | None:
        """The id of the process; None if there is none."""
        return self._process.pid if self._process is not None else None

    def kill(self) -> None:
        """End the process; a thread that waits for it gets a ProcessError."""
        if self._process is not None:
            self._process.kill()

    def close(self) -> None:
        """End the process and close its pipes; only for the thread that reads."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    def _started(self) -> subprocess.Popen[bytes]:
        """Return the running process, after starting it if needed. Raises ProcessError."""
        if self._process is None or self._process.poll() is not None:
            self.close()
            try:  # in its own session, the process does not receive Ctrl-C
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-m", __name__],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                )
            except OSError as error:
                raise ProcessError(str(error)) from error
        return self._process


def _plain(text: str, arguments: Arguments) -> list[Any]:
    return [text, *arguments[:5], sorted(arguments.reported), arguments.stated]


def _answer(line: bytes) -> bytes:
    """Return the line that answers a request. Packed results are base64 texts; None stays null."""
    from headwater.plugins.sql.results import key_of, pack
    from headwater.plugins.sql.script import read_uncached
    from headwater.sql.reader import Arguments

    found: list[str | None] = []
    for text, dialect, database, schema, target, known, reported, stated in orjson.loads(line):
        arguments = Arguments(
            dialect,
            database,
            schema,
            tuple(target) if target else None,
            _known(known),
            frozenset(map(tuple, reported)),
            _known(stated),
        )
        packed = pack(key_of(text, arguments), read_uncached(text, arguments))
        found.append(None if packed is None else b64encode(packed).decode())
    return orjson.dumps(found)


def _known(plain: Any) -> KnownColumns:
    return tuple((tuple(table), tuple(names)) for table, names in plain)


def _run() -> None:
    if hasattr(os, "nice"):
        os.nice(10)  # the server has priority
    for line in sys.stdin.buffer:
        sys.stdout.buffer.write(_answer(line) + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    _run()
