"""Commands about versions and incidents."""

from __future__ import annotations

from typing import Annotated

import typer

from headwater.console.client import query_command
from headwater.incidents.printing import print_incident, print_version
from headwater.query.parameters import Limit


@query_command("version", print_version, past=True)
def version(
    version: Annotated[
        str, typer.Argument(help="DATASET@VERSION; a version or run alone if it is unique.")
    ],
    limit: Limit = 100,
) -> None:
    """Show who made and who read a version of a dataset.

    A version is an Iceberg snapshot, a version of a model or the hash of a file, as runs reported
    it, or else the id of the run that wrote. Reads of a past snapshot count as reads of it.

    Example: headwater version yellow_taxi_raw@8123456789012345678
    """


@query_command("incident", print_incident, past=True)
def incident(
    subject: Annotated[
        str,
        typer.Argument(help="DATASET@VERSION, a run, or a dataset or job with a failed check."),
    ],
    limit: Limit = 100,
) -> None:
    """Show the cause of bad data, who used it, and what to rerun.

    A run stands for the versions whose checks failed in it, or else for all that it wrote.

    Example: headwater incident yellow_taxi_staging
    """


commands = typer.Typer()
for _command in (version, incident):
    commands.command(rich_help_panel="Query")(_command)
