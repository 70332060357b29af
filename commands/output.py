"""Text output of the commands, with control characters escaped."""

from __future__ import annotations

import sys

import typer

from headwater.text import escaped
from lakehouse.errors import SetupError


def say(text: object, *, is_error: bool = False) -> None:
    """Print a text with control characters escaped, because parts may come from other systems."""
    typer.echo(escaped(str(text), keep="\n"), err=is_error)  # noqa: TID251 - the one place


def confirm(question: str) -> bool:
    """Ask on the terminal; return True for yes.

    Raises:
        SetupError: there is no terminal.
    """
    if not sys.stdin.isatty():
        raise SetupError(
            f"{question} There is no terminal for a confirmation. Pass --yes to proceed."
        )
    return typer.confirm(escaped(question))  # noqa: TID251 - the one place
