"""The commands `impact` and `path`."""

from __future__ import annotations

from typing import Annotated

import typer

from headwater.console.client import query_command
from headwater.plugins.impact.printing import print_impact, print_path
from headwater.query.parameters import Depth, LevelName, WithControl


@query_command("impact", print_impact, past=True)
def impact(
    node: Annotated[str, typer.Argument(help="An id (dataset:NS:NAME, job:NS:NAME) or a name.")],
    field: Annotated[str | None, typer.Argument(help="A column of the dataset.")] = None,
    level: LevelName = "task",
    depth: Depth = 20,
) -> None:
    """List what a change of a dataset, column or job affects.

    The nearest come first; owners are shown.

    Example: headwater impact yellow_taxi_raw tpep_pickup_datetime
    """


@query_command("path", print_path, past=True, start="from_", end="to")
def path(
    start: Annotated[str, typer.Argument(help="A node: an id or a name.")],
    end: Annotated[str, typer.Argument(help="Another node.")],
    level: LevelName = "task",
    control: WithControl = False,
) -> None:
    """Print the shortest lineage path between two nodes.

    Exit code 1: no path.

    Example: headwater path yellow_tripdata_2025-05.parquet yellow_rides_hourly_forecast
    """


commands = typer.Typer()
for _command in (impact, path):
    commands.command(rich_help_panel="Query")(_command)
