"""The command `run`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from headwater.console.client import Key, settings_of


def run(
    command: Annotated[list[str], typer.Argument(help="The command with its arguments.")],
    file: Annotated[
        Path, typer.Option("--file", "-f", help="YAML file of its inputs and outputs.")
    ] = Path("lineage.yaml"),
    spool: Annotated[Path | None, typer.Option(help="Folder to write its events to.")] = None,
    url: Annotated[
        str | None,
        typer.Option(help="Server to send its events to, also besides --spool."),
    ] = None,
    api_key: Key = None,
    heartbeat: Annotated[
        float, typer.Option(min=0, help="Seconds between RUNNING events; 0: none.")
    ] = 60,
) -> None:
    """Run a command as a job with declared inputs and outputs.

    Output, signals and exit code are those of the command; exit code 2: invalid file.

    Example: headwater run -f lineage.yaml --spool ./spool -- true
    """
    from headwater.wrap._declared import read_declared
    from headwater.wrap._process import end_like, run_command
    from headwater.wrap.parent import PARENT, parents
    from headwater.wrap.report import Report

    settings = settings_of(spool=spool, url=url, api_key=api_key)
    environment = os.environ
    if environment.get("OPENLINEAGE_DISABLED", "").strip().lower() == "true":
        os.execvpe(command[0], command, environment)
    declared = read_declared(file, environment)
    if environment.get(PARENT) and not parents(environment):
        value = environment[PARENT]
        sys.stderr.write(f"headwater: ignored {PARENT}={value!r}; expected namespace/job/runId\n")
    report = Report.from_settings(settings, environment, url=url, api_key=api_key)
    raise typer.Exit(end_like(run_command(declared, command, report, heartbeat, environment)))
