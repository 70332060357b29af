"""Run any command as a job: its inputs and outputs are declared in a file.

This package is a producer. It imports nothing of the server and needs no OpenLineage client.
"""

from throughline.wrap.declared import Declared, read_declared
from throughline.wrap.events import git_location
from throughline.wrap.process import run_command
from throughline.wrap.report import Report

__all__ = ["Declared", "Report", "git_location", "read_declared", "run_command"]
