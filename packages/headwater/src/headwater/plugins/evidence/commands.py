"""The command `why`."""

from __future__ import annotations

from typing import Annotated

import typer

from headwater.console.client import query_command
from headwater.plugins.evidence.printing import print_why
from headwater.query.parameters import Limit


@query_command(
    "why", print_why, past=True, start="from_", end="to", column="from_field", to_column="to_field"
)
def why(
    start: Annotated[str, typer.Argument(help="A dataset or a job: an id or a name.")],
    end: Annotated[str, typer.Argument(help="A job or dataset next to it, or the next dataset.")],
    column: Annotated[str | None, typer.Option(help="A column of the first dataset.")] = None,
    to_column: Annotated[str | None, typer.Option(help="A column of the second one.")] = None,
    limit: Limit = 5,
) -> None:
    """Print the evidence of an edge: its sources and runs.

    Example: headwater why yellow_taxi_raw yellow_rides_hourly_actuals
    """


commands = typer.Typer()
for _command in (why,):
    commands.command(rich_help_panel="Query")(_command)
