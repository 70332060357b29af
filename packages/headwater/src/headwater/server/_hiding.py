"""Hide SQL and source code in every response to a key without the scope `sql`.

This is the only place that does so. It filters the finished JSON of every response, so that no
endpoint, stored event or tool for agents can bypass it. Queries that search SQL leave it out
themselves (see `query.registry.ask`), because a count or an order would reveal the text.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import orjson
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

REASON = "hidden: the API key needs the scope sql"
"""Value of `hidden` next to each value that is null because the key lacks the scope."""

_TEXTS = {"sql", "query", "sourceCode", "bash_command"}
"""Names of strings with SQL or code, in answers and in facets."""
_FACETS = {"spark.logicalPlan", "spark_unknown", "extractionError"}
"""Facets that contain a query in another form."""
_CODE = {"sql", "source", "language"}
"""Fields of an answer whose `source` is code; a tag has a `source`, too."""
_LINE = {"source", "reason", "line"}
"""Fields of a rejected line."""


class Hiding:
    """Hide SQL and code in JSON responses and event streams if the request lacks the scope."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; filter the response if the key lacks the scope."""
        is_hidden = scope["type"] == "http" and scope.get("hides_sql") is True
        await self._app(scope, receive, _Sender(send).send if is_hidden else send)


class _Sender:
    """Collects a JSON response and rewrites it; rewrites each event of a stream."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._start: Message = {}
        self._kind = ""
        self._body = bytearray()

    async def send(self, message: Message) -> None:
        """Send a message, or hold it until the response is complete."""
        if message["type"] == "http.response.start":
            self._start = message
            headers = MutableHeaders(scope=message)
            self._kind = headers.get("content-type", "").partition(";")[0]
            if self._kind != "application/json":
                await self._send(message)
        elif self._kind == "application/json":
            await self._send_json(message)
        elif self._kind == "text/event-stream":
            await self._send({**message, "body": _event_without_sql(message.get("body", b""))})
        else:
            await self._send(message)

    async def _send_json(self, message: Message) -> None:
        self._body += message.get("body", b"")
        if message.get("more_body"):
            return
        body = bytes(self._body)
        if body:
            body = await run_in_threadpool(json_without_sql, body)
            headers = MutableHeaders(scope=self._start)
            headers["content-length"] = str(len(body))
            del headers["etag"]  # it belongs to the unfiltered response
        await self._send(self._start)
        await self._send({"type": "http.response.body", "body": body})


def json_without_sql(body: bytes) -> bytes:
    """Return a JSON text without SQL and code."""
    return orjson.dumps(without_sql(orjson.loads(body)))


def without_sql(value: Any) -> Any:
    """Return decoded JSON in which SQL and code are null, with the reason in `hidden`."""
    if isinstance(value, list):
        return [without_sql(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value.get("type") == "text" and isinstance(value.get("text"), str):
        return {**value, "text": _text_without_sql(value["text"])}  # the answer of a tool
    hidden = set(_hidden_keys(value))
    found = {key: None if key in hidden else without_sql(item) for key, item in value.items()}
    return {**found, "hidden": REASON} if hidden else found


def _hidden_keys(value: dict[str, Any]) -> Iterable[str]:
    """Yield the keys whose values are hidden, unless these are empty."""
    for key, item in value.items():
        is_text = key in _TEXTS and isinstance(item, str)
        is_code = key == "source" and value.keys() >= _CODE
        is_line = key == "line" and value.keys() == _LINE
        if item and (is_text or is_code or is_line or key in _FACETS):
            yield key


def _text_without_sql(text: str) -> str:
    with suppress(orjson.JSONDecodeError):
        return orjson.dumps(without_sql(orjson.loads(text))).decode()
    return text


def _event_without_sql(chunk: bytes) -> bytes:
    """Return one framed event of a stream; comments stay unchanged."""
    lines = chunk.decode().split("\n")
    data = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
    if not data:
        return chunk
    body = json_without_sql("\n".join(data).encode()).decode()
    return "".join(
        [*(f"{line}\n" for line in lines if line.startswith("id: ")), f"data: {body}\n\n"]
    ).encode()
