"""The script `headwater`: the command `run`, and all other commands if the server is installed."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec

from headwater_client.old_name import adopt

__all__ = ["main"]

_HOW_TO_INSTALL = "In a clone, run: pip install ./packages/headwater-client ./packages/headwater"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command of the script and exit with its exit code."""
    words = sys.argv[1:] if arguments is None else [*arguments]
    if words[:1] != ["run"] and find_spec("headwater"):
        from headwater.cli import main as run_server_command

        run_server_command(words)
        return
    program = os.environ.get("HEADWATER_PROGRAM") or "headwater"
    if message := adopt(os.environ):
        sys.stderr.write(f"{program}: {message}\n")
    if words[:1] in (["--help"], ["-h"]):
        sys.stdout.write(
            f"usage: {program} run [OPTIONS] [--] COMMAND [ARGUMENTS...]\n\n"
            f"Run a command and report it as a job. `{program} run --help` lists the options.\n"
            f"All other commands need the package headwater. {_HOW_TO_INSTALL}\n"
        )
        return
    if words[:1] != ["run"]:
        received = f"received {words[0]!r}; " if words else ""
        sys.stderr.write(
            f"{program}: {received}only `{program} run` is installed (see `{program} run --help`)."
            f" All other commands need the package headwater. {_HOW_TO_INSTALL}\n"
        )
        sys.exit(2)

    from headwater_client.run import run

    sys.exit(run(words[1:], program))
