"""Emit events in order; a failing backend costs one limited wait per process.

The *patience* is the time in seconds that this process may still wait for the backend.
"""

from __future__ import annotations

import functools
import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ._report import warn

if TYPE_CHECKING:
    from openlineage.client import OpenLineageClient


class Emitter:
    """Sends events through the configured transport of openlineage-python.

    Each event is sent by a thread that first waits for the previous one, and the caller waits for
    that thread. So normally no thread is alive while the step's own code runs, and forking is safe.
    Failed waits add up to at most `patience` seconds; after that, events are sent without waiting.
    """

    def __init__(self, patience: float, connect: Callable[[], Any] | None = None) -> None:
        self.patience = patience
        self._connect = functools.cache(connect or _client)
        self._last: threading.Thread | None = None
        self._backend = "the lineage backend"

    def emit(self, event: Any) -> None:
        """Send one event; errors become a warning."""
        self._run(lambda: self._send(event))

    def _send(self, event: Any) -> None:
        """Send an event; remember the backend's address, without secrets, for a warning."""
        client = self._connect()
        if url := getattr(getattr(client, "transport", None), "url", ""):
            parts = urlsplit(url)  # only the host is shown: the rest may contain secrets
            self._backend = (
                f"the lineage backend {parts.scheme}://{parts.netloc.rpartition('@')[2]}"
            )
        client.emit(event)

    def close(self) -> None:
        """Wait for pending events for the rest of the patience."""
        if self._last is not None:
            timeout = self.patience
            self._run(lambda: self._connect().close(timeout))

    def _run(self, action: Callable[[], object]) -> None:
        """Do something in a thread, after what was started before, and wait for it.

        The wait takes at most the rest of the patience, which a failed or late one uses up.
        """
        before = self._last
        failed = threading.Event()

        def work() -> None:
            if before is not None:
                before.join()
            try:
                action()
            except Exception as error:
                failed.set()
                warn(f"events are lost, the flow continues: {type(error).__name__}: {error}")

        self._last = threading.Thread(target=work, name="metaflow-openlineage", daemon=True)
        started = time.monotonic()
        self._last.start()
        self._last.join(self.patience)
        is_late = self._last.is_alive()
        if is_late:
            warn(
                f"{self._backend} does not respond: the flow continues, events may be lost; start"
                " it, or correct OpenLineage's transport, such as OPENLINEAGE_URL"
            )
        if is_late or failed.is_set():
            self.patience = max(0.0, self.patience - (time.monotonic() - started))


def _client() -> OpenLineageClient:
    """Return openlineage-python's client; one that sends nothing if no transport is configured.

    Its default would print every event; a configured console transport is made visible instead.
    """
    from openlineage.client import OpenLineageClient
    from openlineage.client.transport.noop import NoopConfig, NoopTransport

    logging.getLogger("openlineage.client.client").addFilter(_is_no_hint)
    client = OpenLineageClient()
    if client.transport.kind != "console":
        return client
    if not (client.config.transport or {}).get("type"):
        if _IN_TASK not in os.environ:
            warn(
                "nothing is sent, because no transport is configured: set OPENLINEAGE_URL,"
                " OPENLINEAGE__TRANSPORT or OPENLINEAGE_CONFIG"
            )
        return OpenLineageClient(transport=NoopTransport(NoopConfig()))
    _ensure_visible(logging.getLogger(type(client.transport).__module__))
    return client


_IN_TASK = "METAFLOW_OPENLINEAGE_LOCATION"  # the launching process sets it for its tasks


def _is_no_hint(record: logging.LogRecord) -> bool:
    return "any OpenLineage transport configuration" not in record.getMessage()


def _ensure_visible(logger: logging.Logger) -> None:
    """Make the log of the console transport visible, because a flow does not configure logging."""
    if not logger.isEnabledFor(logging.INFO):
        logger.setLevel(logging.INFO)
    if not logger.hasHandlers():
        logger.addHandler(logging.StreamHandler(sys.stdout))
