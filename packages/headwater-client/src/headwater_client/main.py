"""The script `headwater`: its own commands, and all others if the server is installed."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec

from headwater_client.old_name import adopt

__all__ = ["main"]

_OWN = ("run", "mcp-proxy")
_HOW_TO_INSTALL = "In a clone, run: pip install ./packages/headwater-client ./packages/headwater"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command of the script and exit with its exit code.

    `run` and `mcp-proxy` are part of this package. Any other is passed to the package headwater; if
    that is not installed, the exit code is 2.
    """
    words = sys.argv[1:] if arguments is None else [*arguments]
    is_own = bool(words) and words[0] in _OWN
    if not is_own and find_spec("headwater"):
        from headwater.cli import main as run_server_command

        run_server_command(words)
        return
    program = os.environ.get("HEADWATER_PROGRAM") or "headwater"
    if message := adopt(os.environ):
        sys.stderr.write(f"{program}: {message}\n")
    if words[:1] in (["--help"], ["-h"]):
        sys.stdout.write(
            f"usage: {program} run [OPTIONS] [--] COMMAND [ARGUMENTS...]\n"
            f"       {program} mcp-proxy [OPTIONS] [--] COMMAND [ARGUMENTS...]\n\n"
            "Run a command and report it as a job, or run an MCP server and report its calls.\n"
            f"`{program} run --help` and `{program} mcp-proxy --help` list the options.\n"
            f"All other commands need the package headwater. {_HOW_TO_INSTALL}\n"
        )
        return
    if not is_own:
        received = f"received {words[0]!r}; " if words else ""
        sys.stderr.write(
            f"{program}: {received}only `{program} run` and `{program} mcp-proxy` are installed"
            f" (see `{program} --help`)."
            f" All other commands need the package headwater. {_HOW_TO_INSTALL}\n"
        )
        sys.exit(2)

    if words[0] == "mcp-proxy":
        from headwater_client.mcp_proxy import mcp_proxy

        sys.exit(mcp_proxy(words[1:], program))
    from headwater_client.run import run

    sys.exit(run(words[1:], program))
