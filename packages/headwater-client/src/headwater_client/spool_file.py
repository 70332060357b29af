"""A process's own file in a spool folder. Uses only the standard library, as producers load it."""

from __future__ import annotations

import os
import re
import secrets
import socket
import threading
import time
from pathlib import Path

__all__ = ["SpoolFile"]


class SpoolFile:
    """Appends lines to a file that no other process writes to, one write for each."""

    def __init__(self, directory: str | Path) -> None:
        self._directory = Path(directory).expanduser().absolute()
        self.path = self._directory
        self._renew()

    def append(self, line: bytes) -> None:
        """Append a whole line, which ends with a line feed, or nothing. Raises OSError."""
        if os.getpid() != self._pid:  # forked: the child needs its own file and lock
            self._renew()
        with self._lock:
            self._append(line)

    def _renew(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        host = re.sub(r"[^\w.-]", "_", socket.gethostname())
        name = f"{host}-{self._pid}-{time.time_ns()}-{secrets.token_hex(4)}.jsonl"
        self.path = self._directory / name

    def _append(self, line: bytes) -> None:
        """Append a line to the file. Raises OSError; then no part of the line is left."""
        self._directory.mkdir(parents=True, exist_ok=True)
        # Opened for each event: the collector removes idle files, and forks must not share one.
        file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            size = os.fstat(file).st_size
            if os.write(file, line) < len(line):
                os.ftruncate(file, size)  # a full disk: leave no torn line before the next event
                raise OSError("only a part of the event could be written")
        finally:
            os.close(file)
