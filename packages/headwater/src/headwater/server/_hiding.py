"""Hide SQL and source code in every response to a key without the scope `sql`.

A value at any depth is hidden if its name says that it is SQL or code, or if it reads as SQL.

This is the only place that does so. It filters the finished JSON of every response, so that no
endpoint, stored event or tool for agents can bypass it. Queries that search SQL leave it out
themselves (see `query.registry.ask`), because a count or an order would reveal the text.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import orjson
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headwater.errors import HeadwaterError
from headwater.http.routes import failure
from headwater.memory import Account
from headwater.server._sql_text import reads_as_expression, reads_as_sql

REASON = "hidden: the API key needs the scope sql"
"""Value of `hidden` next to each value that is null because the key lacks the scope."""

_TEXTS = frozenset(
    (
        *("sql", "hql", "query", "queries", "querylist", "querytext", "normalizedquery"),
        *("sourcecode", "bashcommand", "rawcode", "compiledcode", "rawsql", "compiledsql"),
        *("sqltext", "sqlquery", "sqlstatement", "sqlstatements", "statementtext", "sqls"),
    )
)
"""Names of values with SQL or code, in answers and in facets, without separators."""
_EXPRESSIONS = frozenset({"transformationdescription"})
"""Names of texts that may be an expression."""
_TRANSFORMATIONS = ("DIRECT", "INDIRECT")
"""Types of transformations of columns, whose `description` may be an expression."""
_KEPT = frozenset({"dialect", "language", "hidden"})
"""Fields next to SQL that are shown."""
_FACETS = {"spark.logicalPlan", "spark_unknown", "extractionError"}
"""Facets that contain a query in another form."""
_CODE = {"sql", "source", "language"}
"""Fields of an answer whose `source` is code; a tag has a `source`, too."""
_COPIES = 8
"""Bytes of memory that each byte of a response needs while it is filtered."""
_LINE = {"source", "reason", "line"}
"""Fields of a rejected line."""


class Hiding:
    """Hide SQL and code in JSON responses and event streams if the request lacks the scope."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; filter the response if the key lacks the scope."""
        if scope["type"] != "http" or scope.get("hides_sql") is not True:
            await self._app(scope, receive, send)
            return
        account = Account(scope["app"].state.admission.budget)
        try:
            await self._app(scope, receive, _Sender(scope, send, account).send)
        finally:
            account.close()


class _Sender:
    """Collects a JSON response and rewrites it; rewrites each event of a stream."""

    def __init__(self, scope: Scope, send: Send, account: Account) -> None:
        self._scope, self._send, self._account = scope, send, account
        self._error: HeadwaterError | None = None
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
        """Add a part of the response, unless it would need too much memory."""
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


def json_without_sql(body: bytes) -> bytes:
    """Return a JSON text without SQL and code."""
    return orjson.dumps(without_sql(orjson.loads(body)))


def without_sql(value: Any) -> Any:
    """Return decoded JSON in which SQL and code are null, with the reason in `hidden`."""
    if isinstance(value, list):
        return [None if _is_sql(item) else without_sql(item) for item in value]
    if isinstance(value, str):
        return _text_without_sql(value)
    if not isinstance(value, dict):
        return value
    result: dict[str, Any] = {}
    is_hidden = False
    is_code = value.keys() >= _CODE
    is_line = value.keys() == _LINE
    is_transformation = value.get("type") in _TRANSFORMATIONS
    expressions = _EXPRESSIONS | {"description"} if is_transformation else _EXPRESSIONS
    for key, item in value.items():
        shown = _shown(key, item, expressions, is_code=is_code and key == "source", is_line=is_line)
        is_hidden = is_hidden or _loses(item, shown)
        result[REASON if reads_as_sql(key) else key] = shown
    return {**result, "hidden": REASON} if is_hidden else result


def _shown(
    key: str, item: Any, expressions: frozenset[str], *, is_code: bool, is_line: bool
) -> Any:
    """Return the value of a key without SQL and code."""
    if not item:
        return item
    if key in _FACETS or (isinstance(item, str) and (is_code or (is_line and key == "line"))):
        return None
    name = key.replace("_", "").replace("-", "").lower()
    if name in _TEXTS:
        return _without_texts(item)
    if isinstance(item, str) and name in expressions and reads_as_expression(item):
        return None
    return None if _is_sql(item) else without_sql(item)


def _without_texts(value: Any) -> Any:
    """Return the value of a field for SQL with all its texts set to null, at any depth."""
    if isinstance(value, str):
        return None
    if isinstance(value, list):
        return [_without_texts(item) for item in value]
    if isinstance(value, dict):
        shown = {
            key: without_sql(item) if key in _KEPT or key.startswith("_") else _without_texts(item)
            for key, item in value.items()
        }
        return {**shown, "hidden": REASON} if _loses(value, shown) else shown
    return value


def _loses(before: Any, after: Any) -> bool:
    """Return True if a text, or one of a list of texts, became null."""
    if isinstance(before, list) and isinstance(after, list):
        return any(map(_loses, before, after))
    if isinstance(before, dict) and isinstance(after, dict):
        return any(key in after and _is_lost(before[key], after[key]) for key in before)
    return _is_lost(before, after)


def _is_lost(before: Any, after: Any) -> bool:
    return after is None and before is not None


def _is_sql(value: Any) -> bool:
    return isinstance(value, str) and value[:1] not in "{[" and reads_as_sql(value)


def _text_without_sql(text: str) -> Any:
    """Return a text of JSON, such as a tool's answer, without SQL; other texts unchanged."""
    if text[:1] not in ("{", "["):
        return text
    with suppress(orjson.JSONDecodeError):
        decoded = orjson.loads(text)
        shown = without_sql(decoded)
        return text if shown == decoded else orjson.dumps(shown).decode()
    return None if reads_as_sql(text) else text


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
