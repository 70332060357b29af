"""Query a server over HTTP, or a log in this process.

A *source* is a function that answers queries. `UNCOUNTED` marks a partial answer, and names in a
URL are in camel case (`http_name`).
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from headwater.errors import (
    AmbiguousError,
    ConfigError,
    MissingQueryError,
    NotFoundError,
    ServerError,
)
from headwater.wire import UNCOUNTED, http_name

if TYPE_CHECKING:
    import httpx

    from headwater.settings import Settings

OTHER_SOURCE = "pass another --url, or a log with --database"
"""The advice of errors about a server; commands with other options replace it."""

_ATTEMPTS = 4
_LONGEST_PAUSE = 10
_SILENCE_SECONDS = 60
_RESPONSE_SECONDS = 600.0
_RESPONSE_BYTES = 1024**3
_LONGEST_QUERY = 16 * 1024  # characters in a URL; a longer query is posted

Params = Mapping[str, object]
Source = Callable[[str, Params], Any]
"""Takes the name and the parameters of a query; returns the answer as decoded JSON."""


def open_source(settings: Settings, *, is_local: bool) -> Source:
    """Return a function that queries the log of the settings if `is_local`, or their server."""
    return _log_source(settings) if is_local else _server_source(settings)


def every(source: Source, name: str, params: Params) -> Iterator[Any]:
    """Yield all items of a query with pages.

    `params` are those of the first page, without `limit` and `cursor`.
    """
    position: Params = {}
    while True:
        page = source(name, {**params, "limit": 1_000, **position})
        yield from page["items"]
        if page["next"] is None:
            return
        position = {"cursor": page["next"]}


def _server_source(settings: Settings) -> Source:
    """Return a function that queries a server. An answer may be partial while the server counts.

    Then the query is repeated: each time, the server determines more. A query whose URL would be
    too long is posted.
    """

    def query_server(name: str, params: Params) -> Any:
        """Return an answer; repeat the query while it is partial."""
        while True:
            answer = query_once(name, params)
            if not (isinstance(answer, dict) and answer.get(UNCOUNTED)):
                return answer

    def query_once(name: str, params: Params) -> Any:
        query = {http_name(key): value for key, value in params.items()}
        text = urlencode(query, doseq=True)
        if len(text) > _LONGEST_QUERY:
            return request(settings, f"/api/v2/{name}", json.dumps(query).encode())
        return request(settings, f"/api/v2/{name}?{text}")

    return query_server


def request(
    settings: Settings, path: str, body: bytes | None = None, method: str | None = None
) -> Any:
    """Send a GET, or a POST with a body, to the configured server; return the decoded response.

    A GET is sent at most four times while the server is busy (503 with Retry-After).

    `path` begins with a slash; `body` is JSON. Return None for an empty response.

    Raises:
        NotFoundError: nothing has the name; `nearest` are similar ones.
        ConfigError: the server rejected a parameter or the body.
        MissingQueryError: the server has no such endpoint.
        ServerError: no server responds, it needs a key, or it failed.
    """
    method = method or ("GET" if body is None else "POST")
    tries = _ATTEMPTS if method == "GET" else 1
    while True:
        status, retry_after, raw = _exchange(settings, method, path, body)
        tries -= 1
        pause = _pause(status, retry_after)
        if pause is None or not tries:
            break
        time.sleep(pause)  # as the server asks in Retry-After
    if not 200 <= status < 300:
        return _raise_error(settings, status, raw)
    try:
        return json.loads(raw or b"null")
    except ValueError as error:
        raise _no_server(settings, error) from None


def _exchange(
    settings: Settings, method: str, path: str, body: bytes | None
) -> tuple[int, str | None, bytes]:
    """Send a request; return the status, Retry-After and the body of the response.

    Return the status of any response. Raises ServerError if no server responds, or the response is
    larger than 1 GiB or takes longer than ten minutes.
    """
    import httpx  # slow to import

    headers = {"Content-Type": "application/json"}
    if settings.api_key:
        headers["Authorization"] = f"Bearer {settings.api_key}"
    raw = bytearray()
    end = time.monotonic() + _RESPONSE_SECONDS
    try:
        url = settings.url + path
        with _client().stream(method, url, content=body, headers=headers) as response:
            for part in response.iter_bytes():
                raw += part
                if len(raw) > _RESPONSE_BYTES:
                    raise OSError(f"the response is larger than {_RESPONSE_BYTES} bytes")
                if time.monotonic() > end:
                    raise OSError(f"the response takes longer than {_RESPONSE_SECONDS:g} s")
    except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
        raise _no_server(settings, error) from None
    return response.status_code, response.headers.get("Retry-After"), bytes(raw)


@cache
def _client() -> httpx.Client:
    """Return the client of this process: loading certificates for each request takes 40 ms."""
    import ssl

    import httpx

    verify = ssl.create_default_context()
    return httpx.Client(timeout=_SILENCE_SECONDS, follow_redirects=True, verify=verify)


def _no_server(settings: Settings, error: Exception) -> ServerError:
    return ServerError(
        f"no server responds at {settings.url} ({str(error) or type(error).__name__}): start one"
        f" with `{settings.start_hint}`, or {OTHER_SOURCE}"
    )


def _pause(status: int, retry_after: str | None) -> float | None:
    """Return the Retry-After seconds of a busy server; None if it sends none."""
    if status != 503 or retry_after is None or not retry_after.isdecimal():
        return None
    return min(int(retry_after), _LONGEST_PAUSE)


def _raise_error(settings: Settings, status: int, raw: bytes) -> Any:
    """Raise the error of a response whose status is not a success.

    Return the body of a 422 that is no error message: the counts of an array of events.
    """
    try:
        answer = json.loads(raw)
        message = answer["message"]
    except (ValueError, KeyError, TypeError):
        if status == 422 and raw:  # an array of which some events were rejected
            return json.loads(raw)
        answer, message = {}, f"HTTP {status}"
    if status == 404 and "ambiguous" in answer:
        name = answer["ambiguous"]
        raise AmbiguousError(name, message.removeprefix(f"{name!r} "), answer["nearest"])
    if status == 404 and "nearest" in answer:
        raise NotFoundError(message, answer["nearest"])
    if status in (400, 422):
        raise ConfigError(message)
    if status == 401:
        reason = "rejected the API key" if settings.api_key else "requires an API key"
        raise ServerError(f"{settings.url} {reason}: pass --api-key or set HEADWATER_API_KEY")
    kind = MissingQueryError if status == 404 else ServerError
    raise kind(f"{settings.url} responded {status}: {message}")


def _log_source(settings: Settings) -> Source:
    """Return a function that queries a log in this process.

    Its projection is built at the first query, and reads new events before each later one. The
    connections to the database are closed after each query, and opened again by the next.
    """
    from headwater.log import EventLog
    from headwater.projection.live import Live
    from headwater.query.registry import ask, find_query

    @cache
    def live() -> Live:
        return Live(EventLog.of(settings, must_exist=True), settings.lost_after)

    def query_log(name: str, params: Params) -> Any:
        projection = live()
        try:
            projection.follow()
            return ask(projection, find_query(name), params)
        finally:
            projection.log.close()

    return query_log
