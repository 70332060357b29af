"""The command `runs`."""

from __future__ import annotations

from typing import Annotated

import typer

from headwater.console.client import Client, with_client
from headwater.query.parameters import Condition, Cursor, Limit
from headwater.runs.printing import print_runs, print_runtree


@with_client()
def runs(
    client: Client,
    job: Annotated[str | None, typer.Argument(help="A job. [all]")] = None,
    limit: Limit = 20,
    cursor: Cursor = None,
    state: Annotated[
        Condition | None, typer.Option(case_sensitive=False, help="Only runs in this state.")
    ] = None,
    failed: Annotated[bool, typer.Option("--failed", help="Same as --state FAILED.")] = False,
    root: Annotated[
        str | None,
        typer.Option("--tree", help="Show the run with this id and its descendants."),
    ] = None,
) -> None:
    """List the newest runs, of one job or of all.

    Parameters, the orchestrator's id and the error are shown.

    Example: headwater runs TrainForecastModelFlow.train --limit 5
    """
    if root is not None:
        client.print("runtree", {"run": root}, print_runtree)
    else:
        state = "FAILED" if failed else state
        params = {"job": job, "limit": limit, "condition": state, "cursor": cursor}
        client.print("runs", params, print_runs)
