"""The command `search`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from headwater.console.client import Client, with_client
from headwater.console.render import job_text, print_line, print_table
from headwater.datasets.printing import removal_mark
from headwater.health.printing import health_mark
from headwater.query.parameters import Cursor, Limit
from headwater.search.printing import unread_sql

if TYPE_CHECKING:
    from headwater.search.map import MapAnswer, ProblemCounts
    from headwater.search.models import SearchAnswer


@with_client()
def search(
    client: Client,
    text: Annotated[str, typer.Argument(help="Text to search for.")],
    limit: Limit = 20,
    cursor: Cursor = None,
) -> None:
    """Search names, columns, tags, SQL, errors and ids.

    Owners and descriptions are searched too; the ids are those of runs and versions.

    A node must match all words. `owner:growth state:late` filters by values; also column:, tag:,
    platform:, type:, namespace: and name:. `+revenue` selects revenue and everything upstream,
    `revenue+2` two steps downstream.

    Exit code 1: no match.

    Example: headwater search pickup
    """
    answer = client.print("search", {"text": text, "limit": limit, "cursor": cursor}, print_search)
    if not answer["items"]:
        raise typer.Exit(1)


@with_client()
def map(
    client: Client,
    path: Annotated[
        list[str] | None, typer.Argument(help="Groups to open, such as hive. [all]")
    ] = None,
    by: Annotated[str, typer.Option(help="platform, owner or domain.")] = "platform",
    limit: Annotated[int, typer.Option(help="Maximum number of items.", min=1, max=200)] = 50,
    cursor: Cursor = None,
) -> None:
    """Count datasets and problems by platform, owner or domain.

    The levels are platforms, schemas and datasets; or owners or domains, pipelines and tasks. Name
    a group by its label. If several have this label, use "NAMESPACE SCHEMA" or
    job:NAMESPACE:NAME.

    Example: headwater map hive --by platform
    """
    where = {"by": by, "path": path or [], "limit": limit, "cursor": cursor}
    client.print("map", where, print_map)


def print_map(answer: MapAnswer) -> None:
    """Print one group or node per line, with its counts and problems."""
    rows = [
        (
            Text(item["label"] or "none", "cyan"),
            Text(f"({item['about']})" if item["about"] else "", "dim"),
            Text(f"{item['count']:,}" if item["kind"] not in ("dataset", "task") else ""),
            Text(_problems_text(item["problems"]), "red"),
        )
        for item in answer["items"]
    ]
    print_table(rows, empty="No datasets or jobs.")


def _problems_text(problems: ProblemCounts) -> str:
    counts = (
        (problems["failed"], "failed"),
        (problems["failed_checks"], "failed checks"),
        (problems["blocked"], "blocked"),
        (problems["late"], "late"),
    )
    return ", ".join(f"{count:,} {name}" for count, name in counts if count)


def print_search(answer: SearchAnswer) -> None:
    """Print one matching node per line, and what matched unless it is the name."""
    hits = answer["items"]
    if any(hit["isFuzzy"] for hit in hits):
        print_line("No exact match. Similar:")
    if unread := answer["unreadTexts"]:
        print_line(unread_sql(unread))
    rows = (
        (
            job_text(hit) if hit["type"] == "job" else Text(hit["name"], "cyan"),
            Text(f"({hit['namespace']})", "dim")
            .append_text(health_mark(hit["health"]))
            .append(removal_mark(hit["removal"]), "yellow"),
            Text("" if hit["matched"] == "name" else f"{hit['matched']} {hit['text']}", "yellow"),
        )
        for hit in hits
    )
    print_table(rows, empty="No matches.")
