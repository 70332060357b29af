"""`throughline run`: a command as a job."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from throughline.config import Settings
from throughline.wrap import Report, read_declared, run_command
from throughline.wrap.parent import PARENT, parents
from throughline.wrap.process import end_like


def run_as_job(
    settings: Settings, file: Path, command: Sequence[str], heartbeat: float, *, to_url: bool
) -> int:
    """Run the command; events go to the spool, and to the server if asked or without a spool.

    Answers the command's exit code; a signal that ended it ends us.
    """
    environment = os.environ
    if environment.get("OPENLINEAGE_DISABLED", "").strip().lower() == "true":
        os.execvpe(command[0], list(command), environment)
    declared = read_declared(file, environment)
    if environment.get(PARENT) and not parents(environment):
        told = environment[PARENT]
        sys.stderr.write(f"throughline: {PARENT}={told!r} is no namespace/job/runId: ignored\n")
    url = settings.url if to_url or not settings.spool else None
    report = Report(settings.spool, url, settings.api_key)
    return end_like(run_command(declared, command, report, heartbeat, environment))
