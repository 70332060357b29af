"""The commands `run` and `mcp-proxy`, which the package headwater-client implements."""

from __future__ import annotations

import os
from typing import Annotated

import typer


def run(
    arguments: Annotated[
        list[str] | None, typer.Argument(help="Options, and the command to run.")
    ] = None,
) -> None:
    """Run a command as a job with declared inputs and outputs.

    Output, signals and exit code are those of the command; exit code 2: invalid file.

    Example: headwater run -f lineage.yaml --spool ./spool -- true
    """
    from headwater_client.run import run as run_reported

    program = os.environ.get("HEADWATER_PROGRAM") or "headwater"
    raise typer.Exit(run_reported(arguments or [], program))


def mcp_proxy(
    arguments: Annotated[
        list[str] | None, typer.Argument(help="Options, and the command of the MCP server.")
    ] = None,
) -> None:
    """Record what an agent reads through another MCP server.

    Messages, signals and the exit code are passed on unchanged. Each tool call is a run.

    Example: headwater mcp-proxy --database sqlite:///shop.db --spool ./spool -- true
    """
    from headwater_client.mcp_proxy import mcp_proxy as run_proxied

    program = os.environ.get("HEADWATER_PROGRAM") or "headwater"
    raise typer.Exit(run_proxied(arguments or [], program))
