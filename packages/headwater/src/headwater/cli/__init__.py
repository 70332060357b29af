"""The command line. Commands import slow modules themselves."""

from headwater.cli.main import command_line, main

__all__ = ["command_line", "main"]
