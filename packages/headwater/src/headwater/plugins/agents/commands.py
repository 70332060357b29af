"""The command `mcp`."""

from __future__ import annotations

import os
from functools import partial
from typing import Annotated

import typer

from headwater.console.client import Client, with_client
from headwater.errors import ConfigError


@with_client(as_json=False)
def mcp(
    client: Client,
    report_as: Annotated[
        str | None,
        typer.Option(help="Name of the agent: let it report what it reads and writes. [off]"),
    ] = None,
) -> None:
    """Let agents query lineage, over MCP on stdin and stdout.

    MCP is the Model Context Protocol. The tools query a server or a log, like the other commands.
    A server also provides them itself, at /mcp. With --report-as, the agent is recorded as a job
    and its reports as a run of this job, below the run that started it (`headwater run`).

    Example: headwater mcp --url http://localhost:9002
    """
    from headwater.plugins.agents._reply import Context
    from headwater.plugins.agents._report import NAMESPACE, Reporter
    from headwater.plugins.agents.server import serve_stdio
    from headwater_client.parents import RunRef, parents

    reporter = None
    if report_as is not None:
        if client.is_local or not client.settings.api_key:
            raise ConfigError(
                "--report-as: needs a server (--url) and a key with the scope write (--api-key)"
            )
        send = partial(client.request, "/api/v1/lineage")
        run_id = RunRef.new(NAMESPACE, report_as).run_id
        reporter = Reporter(report_as, send, run_id, parents(os.environ))
    url = None if client.is_local else client.settings.url
    serve_stdio(Context(client.source, url, reporter))


commands = typer.Typer()
commands.command(rich_help_panel="Query")(mcp)
