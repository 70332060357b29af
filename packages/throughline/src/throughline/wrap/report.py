"""Send the events of a command without delaying it.

The spool file is written immediately. Events for a server are sent by a thread, for which the end
of the command waits only briefly. After a timeout no further events are sent.
"""

from __future__ import annotations

import json
import queue
import threading
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from throughline.redaction import redact
from throughline.spool_file import SpoolFile

ENDPOINT = "api/v1/lineage"
"""Path of the endpoint below a server's URL."""
_PATIENCE = 2.0  # seconds, once a run


class Report:
    """Sends the events of one run to a spool folder, a server, or both."""

    def __init__(
        self,
        spool: Path | None,
        url: str | None,
        api_key: str | None = None,
        address: str | None = None,
    ) -> None:
        """Set the destination of events; `address` is the URL to post to, by default `url`'s."""
        self._spool = SpoolFile(spool) if spool else None
        self._url = url
        self._api_key = api_key
        self._address = address or f"{url}/{ENDPOINT}"
        self._queue: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._problems: dict[str, str] = {}

    def send(self, event: dict[str, Any]) -> None:
        """Append an event to the spool, and queue it for the server."""
        body = json.dumps(redact(event), separators=(",", ":")).encode()
        if self._spool:
            try:
                self._spool.append(body + b"\n")
            except OSError as error:
                self._problems["spool"] = f"not written to {self._spool.path}: {error}"
        if self._url:
            if self._thread is None:
                self._thread = threading.Thread(target=self._post_all, daemon=True)
                self._thread.start()
            self._queue.put(body)

    def close(self) -> list[str]:
        """Wait briefly for the server; return one line for each destination that failed."""
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join(_PATIENCE)
            if self._thread.is_alive():
                self._problems["url"] = f"{self._url} took too long"
        return [f"lineage of this run is not complete: {why}" for why in self._problems.values()]

    def _post_all(self) -> None:
        while (body := self._queue.get()) is not None:
            try:
                self._post(body)
            except Exception as error:  # lineage must never break a command
                reason = getattr(error, "reason", None) or error
                self._problems["url"] = f"{self._url} did not accept an event: {reason}"
                if isinstance(reason, TimeoutError):
                    return

    def _post(self, body: bytes) -> None:
        headers = {"Content-Type": "application/json"}
        if self._api_key:
            headers["Authorization"] = f"Bearer {self._api_key}"
        request = Request(self._address, data=body, headers=headers)
        urlopen(request, timeout=_PATIENCE).close()  # the body is not needed, only the status
