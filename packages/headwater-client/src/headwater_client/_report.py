"""Send the events of a command without delaying or breaking it.

The spool file is written immediately. A thread sends events to a server; at the end, the command
waits only briefly for it. After a timeout no further events are sent.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from urllib.parse import urljoin, urlsplit
from urllib.request import Request, urlopen

from headwater_client.errors import ConfigError
from headwater_client.spool_file import SpoolFile

_URL = "http://localhost:9002"
_ENDPOINT = "api/v1/lineage"
"""Path of the endpoint below a server's URL."""
_MOST_WAITING = 10_000
"""Maximum number of events that wait for a server."""


class Report:
    """Sends the events of one run to a spool folder, a server, or both."""

    def __init__(
        self,
        spool: Path | None,
        url: str | None,
        api_key: str | None = None,
        address: str | None = None,
        patience: float = 2.0,
    ) -> None:
        """Set the destination of events.

        `address` is the URL to post to, by default `url`'s. `patience` is the time in seconds to
        wait for one response, and at the end for all of them.
        """
        self.is_lasting = False
        """True for a long-running process, which continues to send events after a timeout."""
        self._spool = SpoolFile(spool) if spool else None
        self._url = url
        self._api_key = api_key
        self._address = address or f"{url}/{_ENDPOINT}"
        self._patience = patience
        self._queue: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._problems: dict[str, str] = {}

    @classmethod
    def from_environment(
        cls,
        environment: Mapping[str, str],
        *,
        spool: Path | None = None,
        url: str | None = None,
        api_key: str | None = None,
    ) -> Report:
        """Return a report that sends events to the first of these destinations that is set.

        1. The options `spool` and `url`: a spool folder, a server, or both. With `url`, the folder
           HEADWATER_SPOOL is used as well.
        2. The folder HEADWATER_SPOOL.
        3. The server HEADWATER_URL.
        4. OPENLINEAGE_URL, with OPENLINEAGE_ENDPOINT and OPENLINEAGE_API_KEY.
        5. The server at localhost:9002.

        Raises:
            ConfigError: a URL is invalid.
        """
        if spool is None and (folder := environment.get("HEADWATER_SPOOL")):
            spool = Path(folder)
        key = api_key or environment.get("HEADWATER_API_KEY")
        if url is not None:
            return cls(spool, _checked(url, "argument --url"), key)
        if spool:
            return cls(spool, None)
        own = environment.get("HEADWATER_URL")
        openlineage_url = environment.get("OPENLINEAGE_URL", "").strip()
        if own or not openlineage_url:
            return cls(None, _checked(own or _URL, "environment variable HEADWATER_URL"), key)
        # Like openlineage-python: a last part of the URL without a slash is replaced.
        address = urljoin(openlineage_url, environment.get("OPENLINEAGE_ENDPOINT") or _ENDPOINT)
        key = api_key or environment.get("OPENLINEAGE_API_KEY")
        return cls(None, openlineage_url, key, address)

    def send(self, create: Callable[[], bytes]) -> None:
        """Create an event, append it to the spool, and queue it for the server.

        It raises no error: `close` returns the last problem of each destination.
        """
        try:
            body = create()
        except Exception as error:  # lineage must never break a command
            self._problems["event"] = f"an event cannot be created: {error!r}"
            return
        if self._spool:
            try:
                self._spool.append(body + b"\n")
            except OSError as error:
                self._problems["spool"] = f"not written to {self._spool.path}: {error}"
        if self._url:
            if self._thread is None:
                self._thread = threading.Thread(target=self._post_all, daemon=True)
                self._thread.start()
            if self._queue.qsize() < _MOST_WAITING:
                self._queue.put(body)
            else:
                self._problems["url"] = f"{self._url} was too slow; events were not sent"

    def close(self) -> list[str]:
        """Wait briefly for the server; return one line for each destination that failed.

        None in the queue ends the thread that posts (`_post_all`).
        """
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join(self._patience)
            if self._thread.is_alive():
                self._problems["url"] = f"{self._url} did not respond in time"
        return [f"lineage of this run is not complete: {why}" for why in self._problems.values()]

    def _post_all(self) -> None:
        """Post the queued events until `close`; stop at the first timeout unless `is_lasting`."""
        while (body := self._queue.get()) is not None:
            try:
                self._post(body)
            except Exception as error:  # lineage must never break a command
                reason = getattr(error, "reason", None) or error
                self._problems["url"] = f"{self._url} did not accept an event: {reason}"
                if isinstance(reason, TimeoutError) and not self.is_lasting:
                    return

    def _post(self, body: bytes) -> None:
        headers = {"Content-Type": "application/json"}
        if self._api_key:
            headers["Authorization"] = f"Bearer {self._api_key}"
        request = Request(self._address, data=body, headers=headers)
        urlopen(request, timeout=self._patience).close()  # the body is not needed, only the status


def _checked(url: str, source: str) -> str:
    with suppress(ValueError):  # the port is not a number
        parts = urlsplit(url)
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            return url.rstrip("/")
    raise ConfigError(f"url ({source}): received {url!r}, expected a URL such as {_URL}")
