"""The command line. Commands import slow modules themselves."""

from throughline.cli.entry import main
from throughline.cli.main import app

__all__ = ["app", "main"]
