"""Commands that compare: what became of something, and what is different."""

from __future__ import annotations

from typing import Annotated

import typer

from throughline.cli.ask import Ask, Cursor, LevelName, asks, moment


@asks(then=True)
def history(
    ask: Ask,
    node: Annotated[str, typer.Argument(help="A dataset or a job: an id or a name.")],
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="How many entries.")] = 20,
    cursor: Cursor = None,
) -> None:
    """List what became of a dataset or a job.

    Of a dataset: versions, rows, checks, schemas; of a job: runs, and what was other than before.

    Example: throughline history yellow_taxi_raw
    """
    ask("history", {"node": node, "limit": limit, "cursor": cursor})


@asks()
def timeline(
    ask: Ask,
    node: Annotated[str, typer.Argument(help="A dataset or a job: an id or a name.")],
    up: Annotated[int, typer.Option(min=0, max=100, help="Steps to where it comes from.")] = 1,
    down: Annotated[int, typer.Option(min=0, max=100, help="Steps to where it goes.")] = 1,
    level: Annotated[LevelName, typer.Option(help="How fine to look.")] = LevelName.TASK,
    since: Annotated[str | None, typer.Option(help="A time. [the first run]")] = None,
    until: Annotated[str | None, typer.Option(help="A time. [now]")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="How many changes.")] = 200,
) -> None:
    """List what came, went and changed around a node.

    Inputs and outputs, new nodes, schemas, code, failures, the newest first; and how many runs.

    Example: throughline timeline yellow_taxi_raw --since 2025-11-01
    """
    around = {"node": node, "up": up, "down": down, "level": level, "limit": limit}
    span = {
        "from_": since and moment(since, "--since"),
        "to": until and moment(until, "--until"),
    }
    ask("timeline", {**around, **span})


@asks(then=True)
def drift(
    ask: Ask,
    node: Annotated[str | None, typer.Argument(help="A dataset; without it all.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="How many changes.")] = 20,
    cursor: Cursor = None,
) -> None:
    """List the changes of schemas, and the runs that brought them.

    Example: throughline drift yellow_taxi_staging
    """
    ask("drift", {"node": node, "limit": limit, "cursor": cursor})


@asks()
def diff(
    ask: Ask,
    since: Annotated[str, typer.Argument(help="A time, or the id of a run for its end.")],
    until: Annotated[str | None, typer.Argument(help="The same. [now]")] = None,
    level: Annotated[LevelName, typer.Option(help="How fine to look.")] = LevelName.TASK,
) -> None:
    """Print what is different between two moments.

    Nodes, edges, schemas, code; and which runs failed in between.

    Example: throughline diff 2026-11-01 2026-11-21T08:30
    """
    span = {"from_": moment(since, "SINCE"), "to": until and moment(until, "UNTIL")}
    ask("diff", {**span, "level": level})
