"""The command `mcp`."""

from __future__ import annotations

from throughline.console.client import Client, with_client


@with_client(as_json=False)
def mcp(client: Client) -> None:
    """Let agents query lineage, over MCP on stdin and stdout.

    MCP is the Model Context Protocol. The tools query a server or a log, like the other commands.
    A server also has them itself, at /mcp.

    Example: throughline mcp --url http://localhost:9002
    """
    from throughline.agents._reply import Context
    from throughline.agents.server import serve_stdio

    serve_stdio(Context(client.source, None if client.is_local else client.settings.url))
