"""Backend `http`: another throughline, or any other endpoint for OpenLineage events."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, NoReturn
from urllib.parse import urlsplit

from throughline.delivery.backend import Delivery
from throughline.errors import ConfigError, DeliveryError, UnavailableError
from throughline.redaction import redact_text

if TYPE_CHECKING:
    from ssl import SSLContext


_TIMEOUT = 30.0
_LARGEST_RESPONSE = 1024 * 1024
_LONGEST_MESSAGE = 500  # characters of a response to include in an error
_BUSY = frozenset({401, 407, 408, 425, 429, 502, 503, 504})
"""Statuses that are not caused by the event: it waits until the backend is available."""
_DOUBTFUL = frozenset({403, 404, 405})
"""Statuses that may be caused by the endpoint or by the event, like the other 3xx and 5xx."""


@dataclass(frozen=True, slots=True)
class HttpConfig:
    """`url` is the server's, `endpoint` the path, `api_key_env` the variable with the API key.

    `timeout` is the time limit in seconds of a request, from the connection to the last byte.
    """

    url: str
    endpoint: str = "api/v1/lineage"
    api_key_env: str | None = None
    timeout: float = _TIMEOUT
    api_key: str | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.username or parts.password or parts.query or parts.fragment:
            raise ConfigError(
                f"url: received a URL of {parts.hostname} with a user, a query or a fragment,"
                " expected one without; pass a key in the variable that `api_key_env` names"
            )
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError(f"url: received {self.url!r}, expected a URL like http://host:5000")
        if parts.path.strip("/"):
            raise ConfigError(f"url: received {self.url!r}, expected no path; set it as `endpoint`")
        if not self.timeout > 0:
            raise ConfigError(f"timeout: received {self.timeout}, expected seconds above 0")
        key = os.environ.get(self.api_key_env) if self.api_key_env else None
        if self.api_key_env and not key:
            raise ConfigError(f"api_key_env: the variable {self.api_key_env!r} is not set")
        object.__setattr__(self, "api_key", key)


class Http:
    """Posts each event in its own request, over a persistent connection."""

    config_class: ClassVar[type[HttpConfig]] = HttpConfig

    def __init__(self, config: HttpConfig) -> None:
        headers = {"Authorization": f"Bearer {config.api_key}"} if config.api_key else {}
        self._url = f"{config.url.rstrip('/')}/{config.endpoint.lstrip('/')}"
        self._client = Client(headers, config.timeout)

    def send(self, delivery: Delivery) -> None:
        """Post one event."""
        post(self._client, self._url, delivery.body.encode(), self._url)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


class Response(NamedTuple):
    """An HTTP response; a large body is truncated."""

    status: int
    headers: Mapping[str, str]
    content: bytes


class Client:
    """An HTTP client that limits the total time and size of an exchange, which httpx does not.

    Only one thread may use it at a time.
    """

    def __init__(self, headers: dict[str, str] | None = None, timeout: float = _TIMEOUT) -> None:
        import httpx  # slow to import, and often not needed

        self._timeout = timeout
        self._runner = asyncio.Runner()
        self._busy = threading.Lock()
        self._client = httpx.AsyncClient(
            headers={"Accept-Encoding": "identity", **(headers or {})},
            timeout=None,  # httpx's timeout is per read; this client limits the whole exchange
            verify=_ssl_context(),
        )

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def exchange(
        self, method: str, url: str, content: bytes, headers: Mapping[str, str], label: str
    ) -> Response:
        """Send a request and return the response. Raises UnavailableError without one."""
        import httpx

        try:
            with self._busy:
                return self._runner.run(self._exchange(method, url, content, headers))
        except httpx.TransportError as error:
            raise UnavailableError(f"{label}: {str(error) or type(error).__name__}") from None
        except TimeoutError:
            raise UnavailableError(f"{label}: timed out after {self._timeout:g} s") from None

    def close(self) -> None:
        """Close the connections, unless an abandoned thread still uses one."""
        if self._busy.acquire(blocking=False):
            with self._runner as runner:
                runner.run(self._client.aclose())

    async def _exchange(
        self, method: str, url: str, content: bytes, headers: Mapping[str, str]
    ) -> Response:
        body = bytearray()
        async with asyncio.timeout(self._timeout) as clock:
            request: dict[str, Any] = {"content": content, "headers": headers}
            async with self._client.stream(method, url, **request) as response:
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


def post(client: Client, url: str, content: bytes, label: str) -> bytes:
    """Post JSON and return the response body; `label` stands for the URL in errors.

    Raises:
        UnavailableError: the server does not respond, or cannot accept the event now.
        DeliveryError: the server rejects the event.
    """
    headers = {"Content-Type": "application/json"}
    response = client.exchange("POST", url, content, headers, label)
    if not 200 <= response.status < 300:
        raise_for_status(
            label, response.status, response.content.decode(errors="replace"), response.headers
        )
    return response.content


def raise_for_status(label: str, status: int, text: str, headers: Mapping[str, str]) -> NoReturn:
    """Raise UnavailableError or DeliveryError for a status other than 2xx."""
    reason = f"{label} answered {status}: {redact_text(text.strip())[:_LONGEST_MESSAGE]}"
    if status in _BUSY:
        raise UnavailableError(reason, _retry_after(headers.get("Retry-After", "")))
    if status in _DOUBTFUL or not 400 <= status < 500:
        raise UnavailableError(reason, is_doubtful=True)
    raise DeliveryError(reason)


def _retry_after(text: str) -> float:
    """Return the seconds of a Retry-After header, a number or a date (RFC 9110, 10.2.3)."""
    if text.isdecimal():
        return float(text)
    try:
        return max(parsedate_to_datetime(text).timestamp() - time.time(), 0)
    except ValueError:
        return 0
