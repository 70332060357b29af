"""Group the commands in the help, name wrong values, and end quietly on a closed pipe."""

from __future__ import annotations

import os
import signal
import sys
from importlib.metadata import version
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from throughline.config import expected
from throughline.errors import shown

COLLECT, QUERY, COMPARE, TRUST, OPERATE = "Collect", "Query", "Compare", "Trust", "Operate"


class Commands(TyperGroup):
    """Commands in groups of the help, by their `rich_help_panel`."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write each group with its commands, all in one column."""
        width = max(map(len, self.commands))
        for group in (COLLECT, QUERY, COMPARE, TRUST, OPERATE):
            rows = [
                (name.ljust(width), command.get_short_help_str(formatter.width - width - 6))
                for name, command in self.commands.items()
                if getattr(command, "rich_help_panel", None) == group
            ]
            with formatter.section(group):
                formatter.write_dl(rows)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; end by SIGPIPE when the reader of its output is gone (`| head`)."""
        try:
            try:
                return super().invoke(ctx)
            finally:
                sys.stdout.flush()
        except typer.BadParameter as error:
            _name_value(error)
            raise
        except BrokenPipeError:
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGPIPE)


def _name_value(error: typer.BadParameter) -> None:
    """Add the value received, which pydantic's messages leave out."""
    problems: list[dict[str, Any]] = getattr(error.__cause__, "errors", list)()
    error.message = error.message.removeprefix("Value error, ")
    if problems and (received := shown(problems[0]["input"])) not in error.message:
        error.message = f"received {received}, {expected(problems[0])}"


def _print_version(is_requested: bool) -> None:
    if is_requested:
        typer.echo(f"throughline {version('throughline')}")
        raise typer.Exit


Version = Annotated[
    bool,
    typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version."),
]
