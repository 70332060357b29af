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
