"""The command line: parse, call, render. What is heavy is imported by the command that needs it."""

from throughline.cli.main import app, main

__all__ = ["app", "main"]
