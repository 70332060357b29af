"""The command line: parse, call, render. What is heavy is imported by the command that needs it."""

from throughline.cli.entry import main
from throughline.cli.main import app

__all__ = ["app", "main"]
