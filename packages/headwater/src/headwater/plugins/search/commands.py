"""The commands `search` and `freshness`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from headwater.console.client import Client, query_command, with_client
from headwater.console.render import age_of, job_text, moment_of, print_line, print_table
from headwater.datasets.printing import removal_mark
from headwater.health.printing import health_mark
from headwater.query.parameters import Cursor, Limit
from headwater.text import duration_of, searched_by_name, unread_sql

if TYPE_CHECKING:
    from headwater.plugins.search.models import FreshnessAnswer, SearchAnswer


def print_search(answer: SearchAnswer) -> None:
    """Print one matching node per line, and what matched unless it is the name."""
    hits = answer["items"]
    if any(hit["isFuzzy"] for hit in hits):
        print_line("No exact match. Similar:")
    if uncounted := answer["uncounted"]:
        print_line(searched_by_name(uncounted))
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


def print_freshness(answer: FreshnessAnswer) -> None:
    """Print one dataset per line: last write, interval, due time, state and what is at risk."""
    rows = []
    for item in answer["items"]:
        every = item["everySeconds"]
        risks = [risk["name"] for risk in item["risks"]]
        due = moment_of(item["dueAt"]) if item["dueAt"] else "no known schedule"
        rows.append(
            (
                Text(item["name"], "cyan"),
                Text(
                    f"written {age_of(item['writtenAt'])} ago" if item["writtenAt"] else "no writes"
                ),
                Text(f"every {duration_of(every * 1_000)}" if every else ""),
                Text(f"due {due}" if every else due, "yellow" if item["isOverdue"] else "dim"),
                health_mark(item["health"]),
                Text(f"at risk: {', '.join(risks[:2])} failed" if risks else "", "red"),
            )
        )
    print_table(rows, empty="No datasets.")


@with_client(past=True)
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


@query_command("freshness/datasets", print_freshness, past=True)
def freshness(
    text: Annotated[str | None, typer.Argument(help="Part of a name. [all datasets]")] = None,
    due: Annotated[
        str, typer.Option(help="scheduled, unscheduled, sources, late, day or risk; see below.")
    ] = "scheduled",
    limit: Limit = 50,
    cursor: Cursor = None,
) -> None:
    """List when datasets were written, and when they are due next.

    `--due day` lists datasets that are overdue or due within 24 hours, and `--due risk` those of
    them that a failure upstream blocks. Without evidence of a schedule, the due time is unknown.

    Example: headwater freshness --due risk
    """


commands = typer.Typer()
commands.command(rich_help_panel="Query")(search)
commands.command(rich_help_panel="Trust")(freshness)
