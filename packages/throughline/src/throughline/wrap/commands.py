"""The command `run`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from throughline.console.client import Key, settings_of


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

    Example: throughline run -f lineage.yaml --spool ./spool -- true
    """
    from throughline.wrap.run_command import run_as_job

    settings = settings_of(spool=spool, url=url, api_key=api_key)
    raise typer.Exit(run_as_job(settings, file, command, heartbeat, url=url, api_key=api_key))
