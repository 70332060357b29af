"""Where the program begins and ends."""

from __future__ import annotations

import sys
from typing import Any

import typer.main

from throughline.cli.main import app
from throughline.config import resolve
from throughline.errors import NotFoundError, ThroughlineError
from throughline.printable import escaped


def main() -> None:
    """Run a command; an error of ours is one message on stderr and its exit code."""
    program = "throughline"
    try:
        program = resolve().program
        command = typer.main.get_command(app)
        _call_it(command, program)
        command(prog_name=program)
    except ThroughlineError as error:
        hint = ""
        if isinstance(error, NotFoundError) and error.nearest:
            hint = "\nDid you mean: " + ", ".join(map(escaped, error.nearest))
        told = str(error).replace("`throughline ", f"`{program} ")
        told = escaped(told, keep="\n")
        sys.stderr.write(f"{program}: {told}{hint}\n")
        sys.exit(error.exit_code)


def _call_it(command: Any, program: str) -> None:
    """Have the examples in the help name the program as it was called."""
    command.help = (command.help or "").replace("Example: throughline ", f"Example: {program} ")
    for each in getattr(command, "commands", {}).values():
        _call_it(each, program)
