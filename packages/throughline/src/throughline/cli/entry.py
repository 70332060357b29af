"""Entry point of the program."""

from __future__ import annotations

import sys
from typing import Any

import typer.main

from throughline.cli.main import app
from throughline.config import resolve
from throughline.console.printable import escaped
from throughline.errors import NotFoundError, ThroughlineError


def main() -> None:
    """Run a command; print a ThroughlineError to stderr and exit with its code."""
    program = "throughline"
    try:
        program = resolve().program
        command = typer.main.get_command(app)
        _rename(command, program)
        command(prog_name=program)
    except ThroughlineError as error:
        hint = ""
        if isinstance(error, NotFoundError) and error.nearest:
            hint = "\nDid you mean: " + ", ".join(map(escaped, error.nearest))
        message = escaped(str(error).replace("`throughline ", f"`{program} "), keep="\n")
        sys.stderr.write(f"{program}: {message}{hint}\n")
        sys.exit(error.exit_code)


def _rename(command: Any, program: str) -> None:
    """Replace the program name in the help examples by the one in use."""
    command.help = (command.help or "").replace("Example: throughline ", f"Example: {program} ")
    for child in getattr(command, "commands", {}).values():
        _rename(child, program)
