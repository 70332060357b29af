"""Where the reading commands get their answers: a server, or a log opened right here."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from throughline.config import Settings
from throughline.errors import ConfigError, NotFoundError, ServerError
from throughline.wire import http_name

_MOST_TRIES = 4
_LONGEST_PAUSE = 10
_LONGEST_ANSWER = 600.0
_LARGEST_ANSWER = 1024**3
_PORTION = 1024**2

Source = Callable[[str, dict[str, Any]], Any]


def open_source(settings: Settings, *, is_local: bool) -> Source:
    """A function of a question's name and its parameters that answers decoded JSON."""
    return _log_source(settings) if is_local else _server_source(settings)


def every(ask: Source, what: str, params: dict[str, Any]) -> Iterator[Any]:
    """All items of a question that is answered by pages."""
    more: dict[str, Any] = {}
    while True:
        page = ask(what, {**params, "limit": 1_000, **more})
        yield from page["items"]
        if page["next"] is None:
            return
        more = {"cursor": page["next"]}


def _server_source(settings: Settings) -> Source:
    def ask_server(what: str, params: dict[str, Any]) -> Any:
        from urllib.parse import urlencode

        query = {http_name(name): value for name, value in params.items()}
        return request(settings, f"/api/v2/{what}?{urlencode(query, doseq=True)}")

    return ask_server


def request(
    settings: Settings, path: str, body: bytes | None = None, method: str | None = None
) -> Any:
    """Send a GET, or a POST with a body, to the configured server; return the decoded response.

    A GET is retried at most four times while the server is busy (503 with Retry-After).
    """
    from http.client import HTTPException
    from urllib.error import HTTPError, URLError
    from urllib.request import Request, urlopen

    headers = {"Content-Type": "application/json"}
    if settings.api_key:
        headers["Authorization"] = f"Bearer {settings.api_key}"
    tries = _MOST_TRIES if body is None and method is None else 1
    try:
        query = Request(settings.url + path, data=body, headers=headers, method=method)
        while True:
            try:
                with urlopen(query, timeout=60) as response:
                    return json.loads(_read(response) or b"null")
            except HTTPError as error:
                tries -= 1
                pause = _pause(error.code, error.headers.get("Retry-After"))
                if pause is None or not tries:
                    return _refused(settings, error.code, _read(error))
                time.sleep(pause)  # as the server asks in Retry-After
    except (URLError, HTTPException, OSError, ValueError) as error:
        reason = str(getattr(error, "reason", error)).strip()
        raise ServerError(
            f"no server answers at {settings.url} ({reason}): start one with"
            f" `{settings.start_hint}`, or name another with --url, or a log with --database"
        ) from None


def _read(response: Any) -> bytes:
    """Read a response unless it is too large or too slow."""
    body = bytearray()
    end = time.monotonic() + _LONGEST_ANSWER
    while part := response.read1(_PORTION):
        body += part
        if len(body) > _LARGEST_ANSWER:
            raise OSError(f"its answer is larger than {_LARGEST_ANSWER} bytes")
        if time.monotonic() > end:
            raise OSError(f"its answer takes longer than {_LONGEST_ANSWER:g} s")
    return bytes(body)


def _pause(status: int, retry_after: str | None) -> float | None:
    """Return the Retry-After seconds of a busy server; None if it sends none."""
    if status != 503 or retry_after is None or not retry_after.isdecimal():
        return None
    return min(int(retry_after), _LONGEST_PAUSE)


def _refused(settings: Settings, status: int, raw: bytes) -> Any:
    try:
        answer = json.loads(raw)
        message = answer["message"]
    except (ValueError, KeyError, TypeError):
        if status == 422 and raw:  # an array of which a part was taken
            return json.loads(raw)
        answer, message = {}, f"HTTP {status}"
    if status == 404 and "nearest" in answer:
        raise NotFoundError(message, answer["nearest"])
    if status in (400, 422):
        raise ConfigError(message)
    if status == 401:
        told = "does not know this API key" if settings.api_key else "wants an API key"
        raise ServerError(f"{settings.url} {told}: --api-key or THROUGHLINE_API_KEY")
    raise ServerError(f"{settings.url} answered {status}: {message}")


def _log_source(settings: Settings) -> Source:
    from throughline.graph.questions import QUESTIONS, ask
    from throughline.log import EventLog
    from throughline.projection.live import Live
    from throughline.trust import answers  # noqa: F401 (all questions are noted by the import)

    @cache
    def live() -> Live:
        return Live(EventLog(settings.database, must_exist=True), settings.lost_after)

    def ask_log(what: str, params: dict[str, Any]) -> Any:
        known = live()
        try:
            known.follow()
            return ask(known, QUESTIONS[what], params)
        finally:
            known.log.close()

    return ask_log
