"""The command line. Commands import slow modules themselves."""

from headwater.cli.main import app, main

__all__ = ["app", "main"]
