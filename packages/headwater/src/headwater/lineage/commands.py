"""Commands that query lineage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from headwater.console.client import Client, query_command, with_client
from headwater.lineage.overview import print_overview
from headwater.lineage.printing import (
    print_columns,
    print_impact,
    print_path,
    print_provenance,
    print_tagged,
    print_tagged_csv,
    print_tags,
    print_tree_answer,
    print_why,
)
from headwater.query.parameters import (
    Cursor,
    Depth,
    Level,
    LevelName,
    Limit,
    WithControl,
    WithGrade,
)

if TYPE_CHECKING:
    from headwater.lineage.models import OverviewAnswer, TreeAnswer
    from headwater.search.models import NodeAnswer


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

    Jobs that control dependencies lead to are marked with `control`.

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


@query_command("provenance", print_provenance, past=True)
def provenance(
    node: Annotated[str, typer.Argument(help="A dataset or a model: an id or a name.")],
    version: Annotated[
        str | None, typer.Option(help="A version, or the run that wrote it. [current contents]")
    ] = None,
    level: LevelName = "task",
) -> None:
    """List every run, input and code version that data comes from.

    The sources, which no known run wrote, come last.

    Example: headwater provenance TrainForecastModelFlow/model --json
    """


@query_command("tags", print_tags, past=True)
def tags(
    node: Annotated[str | None, typer.Argument(help="A dataset. [all]")] = None,
    key: Annotated[str | None, typer.Option(help="Only tags of this key.")] = None,
    limit: Limit = 1_000,
    cursor: Cursor = None,
) -> None:
    """List tags and the columns that they come from.

    Example: headwater tags --key pii
    """


@with_client(past=True)
def tagged(
    client: Client,
    tag: Annotated[str, typer.Argument(help="A tag: KEY or KEY:VALUE, such as pii.")],
    status: Annotated[
        str | None, typer.Option(help="Only tagged, derived, possible or masked columns.")
    ] = None,
    csv: Annotated[bool, typer.Option("--csv", help="Print all columns as CSV.")] = False,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> None:
    """List the columns that have, inherit or mask a tag.

    Each column has the path from the tagged column to it. `possible` columns were written by runs
    that read tagged data and reported no column lineage.

    Exit code 1: no column.

    Example: headwater tagged pii --csv > pii.csv
    """
    where = {"tag": tag, "status": status}
    if csv:
        print_tagged_csv(client.items("tagged", where))
        return
    answer = client.print("tagged", {**where, "limit": limit, "cursor": cursor}, print_tagged)
    if not answer["items"]:
        raise typer.Exit(1)
