"""Clients of the tools for agents."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import anyio

from headwater.plugins.agents._reply import Context
from headwater.plugins.agents.tools import call as call_tool
from headwater.projection.live import Live
from headwater.query.registry import ask, load_queries

if TYPE_CHECKING:  # slow to import
    from mcp import Client


FORECAST = "dataset:hive://lake:9083:nyc_taxi.yellow_rides_hourly_forecast"
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
HEADERS = {"Accept": "application/json, text/event-stream"}


def context_of(live: Live, url: str | None = None) -> Context:
    """Return the context of tools that query a live log; `url` is the server's, for links."""
    return Context(lambda name, params: ask(live, load_queries()[name], params), url)


def ask_tool(live: Live, tool: str, **arguments: object) -> Any:
    """Return the answer of a tool about a live log."""
    return json.loads(call_tool(tool, arguments, context_of(live)))


def run_client(calls: Callable[[Client], Any], transport: Any, mode: str = "auto") -> Any:
    """Connect a client of the SDK, and return the result of its calls."""
    from mcp import Client

    async def main() -> Any:
        async with Client(transport, mode=mode) as client:
            return await calls(client)

    return anyio.run(main)


def stdio_server(*options: str, **environ: str) -> Any:
    """Return the transport to a new process of `headwater mcp`."""
    from mcp import StdioServerParameters, stdio_client

    code = "from headwater.cli import main; main()"
    arguments = ["-c", code, "mcp", *options]
    command = StdioServerParameters(command=sys.executable, args=arguments, env=environ or None)
    # The default is the sys.stderr at its import, which may have been that of a captured command.
    return stdio_client(command, errlog=sys.__stderr__ or sys.stderr)
