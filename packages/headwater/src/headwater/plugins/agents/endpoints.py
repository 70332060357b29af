"""`/mcp`: the tools over streamable HTTP, without sessions.

Requests have the same access control and limits as those of the API. Each call of a tool counts as
a query, with the same time limit.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import orjson
from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from headwater import deadline
from headwater.console.source import Params
from headwater.errors import HeadwaterError
from headwater.http.access import access_of
from headwater.http.routes import failure
from headwater.http.state import state_of
from headwater.log import entry_of
from headwater.plugins.agents._reply import Context
from headwater.plugins.agents._report import Reporter
from headwater.plugins.agents.server import load_sdk, make_server
from headwater.plugins.agents.tools import call
from headwater.projection.live import Batch, Live
from headwater.query.models import Json
from headwater.query.registry import ask, find_query

router = APIRouter()

AGENT_HEADER = "X-Headwater-Agent"
"""Header with the name of an agent that reports what it reads and writes."""


class _Endpoint:
    """The ASGI application at /mcp."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request; a server and its transport exist only during the request."""
        try:
            await run_in_threadpool(load_sdk)
        except HeadwaterError as error:
            await failure(error)(scope, receive, send)
            return
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        try:
            context = _context(Request(scope))
        except HeadwaterError as error:
            await failure(error)(scope, receive, send)
            return
        may_report = context.reporter is not None
        server = make_server(partial(_answer, Request(scope), context), may_report=may_report)
        manager = StreamableHTTPSessionManager(server, json_response=True, stateless=True)
        async with manager.run():
            await manager.handle_request(scope, receive, send)


def _context(request: Request) -> Context:
    """Return the context of a request; it has a reporter if the agent is named and may write.

    The header `X-Headwater-Agent` names the agent; the API key decides if it may write.

    Raises:
      ConfigError: the name of the agent is invalid.
    """
    live = state_of(request).live

    def send(event: Json) -> None:
        live.ingest(Batch([entry_of(orjson.dumps(event), redactor=live.log.redactor)]))

    agent, reporter = request.headers.get(AGENT_HEADER), None
    access = access_of(request.scope)
    if agent is not None and access.may_write:
        reporter = Reporter(agent, send)
    query = partial(_query, live, may_read_sql=access.may_read_sql)
    return Context(query, str(request.base_url).rstrip("/"), reporter)


async def _answer(
    request: Request, context: Context, name: str, arguments: dict[str, object]
) -> str:
    """Call a tool in a thread, with the time limit of queries and a slot for one.

    `name` and `arguments` are those that the agent sent.
    """
    state = state_of(request)
    deadline.start(state.longest_query)
    async with state.admission.slot():
        return await run_in_threadpool(call, name, arguments, context)


def _query(live: Live, name: str, params: Params, *, may_read_sql: bool) -> Any:
    """Answer a query for a tool.

    SQL is left out if it may not be read.
    """
    return ask(live, find_query(name), params, may_read_sql=may_read_sql)


# A GET would open a stream for server messages. The server sends none, so it returns a 405.
router.routes.append(Route("/mcp", _Endpoint(), methods=["POST"]))
