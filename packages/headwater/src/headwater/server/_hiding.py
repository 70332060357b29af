"""Hide SQL and source code in every response to a key without the scope `sql`.

This is the only place that does so. It filters the finished JSON of every response, so that no
endpoint, stored event or tool for agents can bypass it. Queries that search SQL leave it out
themselves (see `query.registry.ask`), because a count or an order would reveal the text.
"""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headwater.errors import HeadwaterError
from headwater.hiding import json_without_sql
from headwater.http.access import access_of
from headwater.http.routes import failure
from headwater.memory import Account

_COPIES = 8
"""Bytes of memory that each byte of a response needs while it is filtered."""


class Hiding:
    """Hide SQL and code in JSON responses and event streams if the request lacks the scope."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; filter the response if the key lacks the scope."""
        if scope["type"] != "http" or access_of(scope).may_read_sql:
            await self._app(scope, receive, send)
            return
        account = Account(scope["app"].state.admission.budget)
        try:
            await self._app(scope, receive, _Sender(scope, send, account).send)
        finally:
            account.close()


class _Sender:
    """Collects a JSON response and rewrites it; rewrites each event of a stream.

    `scope` and `send` are those of the request, and `account` limits the memory of the response. A
    JSON response is held until it is complete, since its length changes. Other kinds pass through.
    """

    def __init__(self, scope: Scope, send: Send, account: Account) -> None:
        self._scope, self._send, self._account = scope, send, account
        self._error: HeadwaterError | None = None
        self._start: Message = {}
        self._kind = ""
        self._body = bytearray()

    async def send(self, message: Message) -> None:
        """Send a message, or hold it until the response is complete.

        The kind of the response decides: JSON is held, an event stream is filtered event by event.
        """
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
        """Add a part of the response; with the last one, send the filtered response.

        If it needed too much memory, an error is sent instead of the response.
        """
        self._add(message.get("body", b""))
        if message.get("more_body"):
            return
        if self._error is not None:
            await failure(self._error)(self._scope, _no_messages, self._send)
            return
        body = bytes(self._body)
        if body:
            body = await run_in_threadpool(json_without_sql, body)
            headers = MutableHeaders(scope=self._start)
            headers["content-length"] = str(len(body))
            del headers["etag"]  # it belongs to the unfiltered response
        await self._send(self._start)
        await self._send({"type": "http.response.body", "body": body})

    def _add(self, part: bytes) -> None:
        """Add a part of the response, unless it would need too much memory.

        The error is sent when the response is complete; until then, parts are dropped.
        """
        try:
            self._account.charge(_COPIES * len(part) if self._error is None else 0)
            self._body += part
        except HeadwaterError as error:
            self._error = error
        if self._error is not None:
            self._body.clear()


async def _no_messages() -> Message:
    """Return no message, because a response needs none."""
    return {}


def _event_without_sql(chunk: bytes) -> bytes:
    """Return one framed event of a stream; comments stay unchanged.

    `chunk` is one message of `server._stream`: lines `id: ` and `data: `, or a comment.
    """
    lines = chunk.decode().split("\n")
    data = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
    if not data:
        return chunk
    body = json_without_sql("\n".join(data).encode()).decode()
    return "".join(
        [*(f"{line}\n" for line in lines if line.startswith("id: ")), f"data: {body}\n\n"]
    ).encode()
