"""Commands that show changes over time."""

from __future__ import annotations

from typing import Annotated

import typer

from headwater.changes.printing import print_diff, print_drift, print_history, print_timeline
from headwater.console.client import Client, Cursor, Level, Limit, moment, with_client


@with_client(past=True)
def history(
    client: Client,
    node: Annotated[str, typer.Argument(help="A dataset or a job: an id or a name.")],
    limit: Limit = 20,
    cursor: Cursor = None,
) -> None:
    """List the history of a dataset or job.

    For a dataset: versions, rows, checks, schemas; for a job: runs and what changed between them.

    Example: headwater history yellow_taxi_raw
    """
    client.print("history", {"node": node, "limit": limit, "cursor": cursor}, print_history)


@with_client()
def timeline(
    client: Client,
    node: Annotated[str, typer.Argument(help="A dataset or a job: an id or a name.")],
    up: Annotated[int, typer.Option(min=0, max=100, help="Steps upstream.")] = 1,
    down: Annotated[int, typer.Option(min=0, max=100, help="Steps downstream.")] = 1,
    level: Level = "task",
    since: Annotated[str | None, typer.Option(help="Start time. [the first run]")] = None,
    until: Annotated[str | None, typer.Option(help="End time. [now]")] = None,
    limit: Limit = 200,
) -> None:
    """List the changes around a node over time.

    Inputs, outputs, new nodes, schemas, code and failures, newest first; and the number of runs.

    Example: headwater timeline yellow_taxi_raw --since 2025-11-01
    """
    around = {"node": node, "up": up, "down": down, "level": level, "limit": limit}
    span = {
        "from_": since and moment(since, "--since"),
        "to": until and moment(until, "--until"),
    }
    client.print("timeline", {**around, **span}, print_timeline)


@with_client(past=True)
def drift(
    client: Client,
    node: Annotated[str | None, typer.Argument(help="A dataset. [all]")] = None,
    limit: Limit = 20,
    cursor: Cursor = None,
) -> None:
    """List schema changes and the runs that reported them.

    Example: headwater drift yellow_taxi_staging
    """
    client.print("drift", {"node": node, "limit": limit, "cursor": cursor}, print_drift)


@with_client()
def diff(
    client: Client,
    since: Annotated[str, typer.Argument(help="A time, or the id of a run for its end.")],
    until: Annotated[
        str | None, typer.Argument(help="A time, or the id of a run for its end. [now]")
    ] = None,
    level: Level = "task",
) -> None:
    """Print the differences between two moments.

    Compares nodes, edges, schemas and code, and lists the runs that failed in between.

    Example: headwater diff 2026-11-01 2026-11-21T08:30
    """
    span = {"from_": moment(since, "SINCE"), "to": until and moment(until, "UNTIL")}
    client.print("diff", {**span, "level": level}, print_diff)
