"""Commands that list tags and tagged columns."""

from __future__ import annotations

from typing import Annotated

import typer

from headwater.console.client import Client, query_command, with_client
from headwater.plugins.tags.printing import print_tagged, print_tagged_csv, print_tags
from headwater.query.parameters import Cursor, Limit


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


commands = typer.Typer()
for _command in (tags, tagged):
    commands.command(rich_help_panel="Query")(_command)
