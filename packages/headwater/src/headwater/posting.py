"""Posts to other servers: a client that bounds each exchange, and the waits between attempts."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from headwater.errors import DeliveryError, UnavailableError
from headwater.redaction import Redactor

if TYPE_CHECKING:
    from ssl import SSLContext


_TIMEOUT = 30.0
_LONGEST_ASKED = 3_600.0
_LARGEST_RESPONSE = 1024 * 1024
_LONGEST_MESSAGE = 500  # characters of a response to include in an error
_BUSY = frozenset({401, 407, 408, 425, 429, 502, 503, 504})
"""Statuses that are not caused by the event: it waits until the backend is available."""
_DOUBTFUL = frozenset({402, 403, 404, 405})
"""Statuses that may be caused by the endpoint or by the event, like the other 3xx and 5xx."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """Seconds to wait between attempts: doubled each time, up to a limit.

    `patience` is the number of seconds without progress after which `drain_patiently` starts no
    further attempt. `look` is the interval at which retried dead letters are detected, and
    `processed` the interval of queries for events that could not be processed.
    """

    first: float = 0.5
    most: float = 60.0
    patience: float = 30.0
    look: float = 1.0
    processed: float = 900.0

    def after(self, tries: int, retry_after: float = 0) -> float:
        """Return the wait after a number of attempts; at least `retry_after`, up to an hour.

        `tries` begins at 1. `retry_after` are the seconds that the server requested.
        """
        own = min(self.first * 2.0 ** min(tries - 1, 60), self.most)
        return max(own, min(retry_after, _LONGEST_ASKED))


class Response(NamedTuple):
    """The response of a server; a long body is cut."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Client:
    """An HTTP client that limits the total time and size of an exchange, which httpx does not.

    Only one thread may use it at a time.
    """

    def __init__(self, headers: dict[str, str] | None = None, timeout: float = _TIMEOUT) -> None:
        """Create a client; `headers` are sent with each post, and `timeout` is in seconds."""
        import httpx  # slow to import, and often not needed

        self._timeout = timeout
        self._runner = asyncio.Runner()
        self._busy = threading.Lock()
        self._client = httpx.AsyncClient(
            headers={"Accept-Encoding": "identity", **(headers or {})},
            timeout=None,  # httpx's timeout is per read; this client limits the whole exchange
            verify=_ssl_context(),
        )

    def exchange(
        self, url: str, content: bytes, headers: Mapping[str, str], label: str
    ) -> Response:
        """Post content; return the status, the headers and the start of the response body.

        Raises:
            UnavailableError: there is no response.

        `label` stands for the URL in messages, because a URL may contain a secret.
        """
        import httpx

        try:
            with self._busy:
                return self._runner.run(self._exchange(url, content, headers))
        except httpx.TransportError as error:
            raise UnavailableError(f"{label}: {str(error) or type(error).__name__}") from None
        except TimeoutError:
            raise UnavailableError(f"{label}: timed out after {self._timeout:g} s") from None

    def close(self) -> None:
        """Close the connections, unless an abandoned thread still uses one."""
        if self._busy.acquire(blocking=False):
            with self._runner as runner:
                runner.run(self._client.aclose())

    async def _exchange(self, url: str, content: bytes, headers: Mapping[str, str]) -> Response:
        """Post content and read the response, within the time limit.

        If the status arrives but the body takes too long, the part read so far is returned.
        """
        body = bytearray()
        async with asyncio.timeout(self._timeout) as clock:
            posting = self._client.stream("POST", url, content=content, headers=headers)
            async with posting as response:
                with suppress(TimeoutError):
                    # The status is sufficient; the missing part of the body does not matter.
                    async with asyncio.timeout_at((clock.when() or 0) - self._timeout / 10):
                        async for part in response.aiter_raw():
                            body += part
                            if len(body) > _LARGEST_RESPONSE:
                                break
        return Response(response.status_code, response.headers, bytes(body[:_LARGEST_RESPONSE]))


@cache
def _ssl_context() -> SSLContext:
    """Return a shared SSL context, because creating one takes 20 ms."""
    import httpx

    return httpx.create_ssl_context()


def post(
    client: Client,
    url: str,
    content: bytes,
    label: str,
    redactor: Redactor,
    headers: Mapping[str, str] | None = None,
) -> bytes:
    """Post JSON and return the response body; in errors, `label` stands for the URL.

    Raises:
        UnavailableError: the server does not respond, or cannot accept the event now.
        DeliveryError: the server rejects the event.
    """
    sent_headers = {"Content-Type": "application/json", **(headers or {})}
    found = client.exchange(url, content, sent_headers, label)
    if 200 <= found.status < 300:
        return found.body
    text = redactor.redact_text(found.body.decode(errors="replace").strip())
    reason = f"{label} answered {found.status}: {text[:_LONGEST_MESSAGE]}"
    raise response_error(found.status, reason, found.headers.get("Retry-After", ""))


def response_error(status: int, reason: str, retry_after: str) -> DeliveryError:
    """Return the error for an unsuccessful response; `retry_after` is its header.

    Delivery retries an UnavailableError, and makes a dead letter of another DeliveryError.
    """
    if status in _BUSY:
        return UnavailableError(reason, _retry_after(retry_after))
    if status in _DOUBTFUL or not 400 <= status < 500:
        return UnavailableError(reason, is_doubtful=True)
    return DeliveryError(reason)


def _retry_after(text: str) -> float:
    """Return the seconds of a Retry-After header, a number or a date (RFC 9110, 10.2.3)."""
    if text.isdecimal():
        return float(text)
    try:
        return max(parsedate_to_datetime(text).timestamp() - time.time(), 0)
    except ValueError:
        return 0
