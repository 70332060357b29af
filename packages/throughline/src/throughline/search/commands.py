"""The command `search`."""

from __future__ import annotations

from typing import Annotated

import typer

from throughline.console.client import Client, Cursor, with_client
from throughline.search.printing import print_search


@with_client()
def search(
    client: Client,
    text: Annotated[str, typer.Argument(help="Text to search for.")],
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="Maximum number.")] = 20,
    cursor: Cursor = None,
) -> None:
    """Search names, columns, tags, owners, descriptions and queries.

    Exit code 1: no match.

    Example: throughline search pickup
    """
    if not client.print("search", {"text": text, "limit": limit, "cursor": cursor}, print_search)[
        "items"
    ]:
        raise typer.Exit(1)
