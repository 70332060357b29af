"""The command line. Commands import slow modules themselves."""

from throughline.cli.main import app, main

__all__ = ["app", "main"]
