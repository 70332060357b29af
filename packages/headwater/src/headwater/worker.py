"""Base class of background workers that have their own thread."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod


class ThreadedWorker(ABC):
    """A worker that calls its method `run` in a thread.

    The server creates the workers of plugins, starts them, and stops them at its end.
    """

    def __init__(self, name: str, stop_seconds: float | None = None) -> None:
        """Create a worker; `stop` waits at most `stop_seconds` for its thread (None: no limit).

        `stop` also sets `_woken`. A `run` that waits for it clears it before each round of work.
        """
        self._stop_seconds = stop_seconds
        self._stopping = threading.Event()
        self._woken = threading.Event()
        self._thread = threading.Thread(target=self.run, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread, if it was started, and wait for it."""
        self._stopping.set()
        self._woken.set()
        if self._thread.is_alive():
            self._thread.join(self._stop_seconds)

    @abstractmethod
    def run(self) -> None:
        """Do the work; return soon after `_stopping` is set."""
