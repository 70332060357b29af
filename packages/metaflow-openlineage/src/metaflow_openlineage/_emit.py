"""The way out: events leave in order, and a backend that fails costs one bounded wait a process."""

from __future__ import annotations

import functools
import logging
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ._report import warn

if TYPE_CHECKING:
    from openlineage.client import OpenLineageClient


class Emitter:
    """Sends events through whatever transport openlineage-python is configured with.

    Each event is sent by a thread that first waits for the one before it, and the caller waits for
    that thread: in the normal case none is alive while the step's own code runs, so code that
    forks is safe. Waits in vain add up to `patience` seconds at most; after that, events are still
    handed over but no longer waited for.
    """

    def __init__(self, patience: float, connect: Callable[[], Any] | None = None) -> None:
        self.patience = patience
        self._connect = functools.cache(connect or _client)
        self._last: threading.Thread | None = None

    def emit(self, event: Any) -> None:
        """Send one event; trouble is a warning."""
        self._run(lambda: self._connect().emit(event))

    def close(self) -> None:
        """Give what is still under way the rest of the patience."""
        if self._last is not None:
            timeout = self.patience
            self._run(lambda: self._connect().close(timeout))

    def _run(self, action: Callable[[], object]) -> None:
        before = self._last
        failed = threading.Event()

        def work() -> None:
            if before is not None:
                before.join()
            try:
                action()
            except Exception as error:
                failed.set()
                warn(f"events are lost, the flow goes on: {type(error).__name__}: {error}")

        self._last = threading.Thread(target=work, name="metaflow-openlineage", daemon=True)
        began = time.monotonic()
        self._last.start()
        self._last.join(self.patience)
        late = self._last.is_alive()
        if late:
            warn("the lineage backend does not answer: the flow goes on, events may be lost")
        if late or failed.is_set():
            self.patience = max(0.0, self.patience - (time.monotonic() - began))


def _client() -> OpenLineageClient:
    from openlineage.client import OpenLineageClient

    client = OpenLineageClient()
    if client.transport.kind == "console":
        _let_through(logging.getLogger(type(client.transport).__module__))
    return client


def _let_through(logger: logging.Logger) -> None:
    """Show what the console transport logs: a flow sets up no logging, so nobody would see it."""
    if not logger.isEnabledFor(logging.INFO):
        logger.setLevel(logging.INFO)
    if not logger.hasHandlers():
        logger.addHandler(logging.StreamHandler(sys.stdout))
