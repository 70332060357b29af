"""Commands that show changes over time."""

from __future__ import annotations

from typing import Annotated

import typer

from headwater.console.client import query_command
from headwater.plugins.changes.printing import (
    print_diff,
    print_drift,
    print_history,
    print_timeline,
)
from headwater.query.parameters import Cursor, LevelName, Limit


@query_command("history", print_history, past=True)
def history(
    node: Annotated[str, typer.Argument(help="A dataset or a job: an id or a name.")],
    limit: Limit = 20,
    cursor: Cursor = None,
) -> None:
    """List the history of a dataset or job.

    For a dataset: versions, rows, checks, schemas; for a job: runs and what changed between them.

    Example: headwater history yellow_taxi_raw
    """


@query_command("timeline", print_timeline, since="from_", until="to")
def timeline(
    node: Annotated[str, typer.Argument(help="A dataset or a job: an id or a name.")],
    up: Annotated[int, typer.Option(min=0, max=100, help="Steps upstream.")] = 1,
    down: Annotated[int, typer.Option(min=0, max=100, help="Steps downstream.")] = 1,
    level: LevelName = "task",
    since: Annotated[str | None, typer.Option(help="Start time. [the first run]")] = None,
    until: Annotated[str | None, typer.Option(help="End time. [now]")] = None,
    limit: Limit = 200,
) -> None:
    """List the changes around a node over time.

    Inputs, outputs, new nodes, schemas, code and failures, newest first; and the number of runs.

    Example: headwater timeline yellow_taxi_raw --since 2025-11-01
    """


@query_command("drift", print_drift, past=True)
def drift(
    node: Annotated[str | None, typer.Argument(help="A dataset. [all]")] = None,
    limit: Limit = 20,
    cursor: Cursor = None,
) -> None:
    """List schema changes and the runs that reported them.

    Example: headwater drift yellow_taxi_staging
    """


@query_command("diff", print_diff, since="from_", until="to")
def diff(
    since: Annotated[str, typer.Argument(help="A time, or the id of a run for its end.")],
    until: Annotated[
        str | None, typer.Argument(help="A time, or the id of a run for its end. [now]")
    ] = None,
    level: LevelName = "task",
) -> None:
    """Print the differences between two moments.

    Compares nodes, edges, schemas and code, and lists the runs that failed in between.

    Example: headwater diff 2026-11-01 2026-11-21T08:30
    """


commands = typer.Typer()
for _command in (history, timeline, drift, diff):
    commands.command(rich_help_panel="Compare")(_command)
