"""The command `alias`: add, remove and list manual aliases."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from throughline.console.client import Client, with_client
from throughline.console.render import dataset_text, print_table

if TYPE_CHECKING:
    from throughline.aliases.models import AliasPair
    from throughline.query.models import Page


@with_client()
def alias(
    client: Client,
    one: Annotated[str | None, typer.Argument(help="A dataset: an id or a name.")] = None,
    other: Annotated[str | None, typer.Argument(help="Another name of the same dataset.")] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Separate the two names again.")] = False,
    list_: Annotated[bool, typer.Option("--list", help="List manual aliases.")] = False,
) -> None:
    """Add, remove or list manual aliases of datasets.

    Example: throughline alias dataset:postgres://db:5432:shop.orders hive.orders
    """
    if list_ == (one is not None) or (one is None) != (other is None):
        raise typer.BadParameter("pass two names, or --list")
    if one is not None and other is not None:
        if client.is_local:
            _store(client, one, other, is_removed=remove)
        else:
            client.request("/api/v2/aliases", {"one": one, "other": other, "isRemoved": remove})
    client.print("aliases", {}, print_aliases)


def _store(client: Client, one: str, other: str, *, is_removed: bool) -> None:
    from throughline.aliases._service import alias_entry
    from throughline.projection.live import Batch, Live

    with client.log() as log:
        live = Live(log)
        with live.reading() as state:
            entry = alias_entry(state, one, other, time.time_ns() // 1_000, is_removed=is_removed)
        live.ingest(Batch([entry]))


def print_aliases(answer: Page[AliasPair]) -> None:
    """Print one pair of joined names per line, with the day on which they were joined."""
    rows = (
        (
            dataset_text(pair["one"]),
            Text.assemble("= ", dataset_text(pair["other"])),
            Text(f"since {(pair['since'] or 'unknown')[:10]}", "dim"),
        )
        for pair in answer["items"]
    )
    print_table(rows, empty="No manual aliases.")
