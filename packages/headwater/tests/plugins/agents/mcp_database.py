"""An MCP server that queries a database, for tests: python mcp_database.py {sqlite,duckdb} FILE."""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
from typing import Any

import duckdb
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("shop")


def _rows(sql: str) -> list[tuple[Any, ...]]:
    kind, file = sys.argv[1:]
    connect = sqlite3.connect if kind == "sqlite" else duckdb.connect
    connection: Any = connect(file)
    try:
        return list(connection.execute(sql).fetchall())
    finally:
        connection.close()


@server.tool()
def read_query(sql: str) -> list[list[Any]]:
    """Run a query."""
    try:
        return [list(row) for row in _rows(sql)]
    except (sqlite3.Error, duckdb.Error) as error:
        raise ToolError(str(error)) from None


@server.tool()
def crash(sql: str) -> str:
    """Kill the server while it runs a query."""
    os.kill(os.getpid(), signal.SIGKILL)
    return sql


@server.resource("memo://orders")
def memo() -> str:
    """Return a text."""
    return "Orders are in cents."


if __name__ == "__main__":
    server.run()
