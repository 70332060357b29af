"""Commands that query lineage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from headwater.console.client import Client, with_client
from headwater.lineage.overview import print_overview
from headwater.lineage.printing import (
    print_columns,
    print_tree_answer,
)
from headwater.query.parameters import Depth, Level, WithControl, WithGrade

if TYPE_CHECKING:
    from headwater.lineage.models import OverviewAnswer, TreeAnswer
    from headwater.nodes.models import NodeAnswer


@with_client(past=True)
def show(
    client: Client,
    node: Annotated[str, typer.Argument(help="An id (dataset:NS:NAME, job:NS:NAME) or a name.")],
) -> None:
    """Print a node's last run, upstream and downstream.

    The answer fits on one screen. `headwater NODE` does the same.

    Example: headwater show yellow_rides_hourly_forecast
    """
    found: NodeAnswer = client.query("node", {"node": node})
    tree: TreeAnswer = client.query("tree", {"node": found["id"], "direction": "both"})
    about = found
    if found["type"] == "dataset":
        runs = [child["latestRun"] for child in tree["up"]["children"] if child["latestRun"]]
        if runs:
            last = max(runs, key=lambda run: run["startedAt"] or "")["job"]
            about = client.query("node", {"node": f"job:{last['namespace']}:{last['name']}"})
    answer: OverviewAnswer = {
        "id": found["id"],
        "type": found["type"],
        "namespace": found["namespace"],
        "name": found["name"],
        "health": found["health"],
        "removal": found["removal"],
        "owners": found["owners"],
        "lastRun": about["run"],
        "jobOwners": about["owners"] if about["type"] == "job" else [],
        "up": tree["up"],
        "down": tree["down"],
    }
    client.show(answer, print_overview)


@with_client(past=True)
def tree(
    client: Client,
    node: Annotated[str, typer.Argument(help="An id (dataset:NS:NAME, job:NS:NAME) or a name.")],
    up: Annotated[bool, typer.Option("--up", help="Show upstream (the default).")] = False,
    down: Annotated[bool, typer.Option("--down", help="Show downstream.")] = False,
    depth: Depth = 20,
    level: Annotated[
        Level | None, typer.Option(help="Level of detail. [task; for a pipeline: pipeline]")
    ] = None,
    evidence: WithGrade = None,
    control: WithControl = False,
) -> None:
    """Print the upstream or downstream tree of a dataset or job.

    With --control, the jobs that control dependencies lead to are marked with `control`.

    A job has the newest run with the edge. If it ran since without the edge, `then` precedes its
    newest run.

    Example: headwater tree yellow_rides_hourly_forecast --up --depth 4
    """
    direction = "both" if up and down else "down" if down else "up"
    where = {"node": node, "direction": direction, "depth": depth, "level": level}
    edges = {"evidence": evidence, "control": control}
    client.print("tree", {**where, **edges}, print_tree_answer)


@with_client(past=True)
def columns(
    client: Client,
    node: Annotated[str, typer.Argument(help="A dataset: an id or a name.")],
    field: Annotated[str | None, typer.Argument(help="One of its columns. [all]")] = None,
    down: Annotated[bool, typer.Option("--down", help="Show downstream columns.")] = False,
    indirect: Annotated[
        bool,
        typer.Option("--indirect", help="Add columns that only filter, join, group or sort."),
    ] = False,
    depth: Depth = 20,
    evidence: WithGrade = None,
) -> None:
    """Print the upstream or downstream columns of a dataset.

    Example: headwater columns yellow_rides_hourly_actuals total_rides
    """
    how = {"direction": "down" if down else "up", "depth": depth, "indirect": indirect}
    where = {"node": node, "field": field, "evidence": evidence, **how}
    client.print("columns", where, print_columns)
