"""The script `headwater`: the command `run`, and all others if the server is installed."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec

from headwater_client.old_name import adopt

__all__ = ["main"]

_PLACE = "In a clone, run: pip install ./packages/headwater-client ./packages/headwater"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit with its code."""
    words = sys.argv[1:] if arguments is None else [*arguments]
    if words[:1] != ["run"] and find_spec("headwater"):
        from headwater.cli import main as run_any

        run_any(words)
        return
    program = os.environ.get("HEADWATER_PROGRAM") or "headwater"
    if message := adopt(os.environ):
        sys.stderr.write(f"{program}: {message}\n")
    if words[:1] != ["run"]:
        received = f"received {words[0]!r}; " if words else ""
        sys.stderr.write(
            f"{program}: {received}only `{program} run` is installed (`{program} run --help`);"
            f" the other commands need the package headwater. {_PLACE}\n"
        )
        sys.exit(2)

    from headwater_client.run import run

    sys.exit(run(words[1:], program))
