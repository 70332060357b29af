"""The command `alias`: add, remove and list manual aliases."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from headwater.console.client import Client, with_client
from headwater.console.render import dataset_text, print_table

if TYPE_CHECKING:
    from headwater.plugins.aliases.models import AliasPair
    from headwater.query.models import Page


@with_client()
def alias(
    client: Client,
    one: Annotated[str | None, typer.Argument(help="A dataset: an id or a name.")] = None,
    other: Annotated[str | None, typer.Argument(help="Another name of the same dataset.")] = None,
    separate: Annotated[
        bool, typer.Option("--separate", help="Separate two names that a symlink joins.")
    ] = False,
    remove: Annotated[
        bool, typer.Option("--remove", help="Remove the alias or the separation of two names.")
    ] = False,
    list_: Annotated[
        bool, typer.Option("--list", help="List manual aliases and separations.")
    ] = False,
) -> None:
    """Join or separate names of datasets.

    Both apply to the whole history.

    Example: headwater alias dataset:postgres://db:5432:shop.orders hive.orders
    """
    if list_ == (one is not None) or (one is None) != (other is None):
        raise typer.BadParameter("pass two names, or --list")
    if separate and remove:
        raise typer.BadParameter("pass --separate or --remove, not both")
    if one is not None and other is not None:
        if client.is_local:
            _store(client, one, other, is_removed=remove, is_separate=separate)
        else:
            body = {"one": one, "other": other, "isRemoved": remove, "isSeparate": separate}
            client.request("/api/v2/aliases", body)
    client.print("aliases", {}, print_aliases)


def _store(client: Client, one: str, other: str, *, is_removed: bool, is_separate: bool) -> None:
    from headwater.plugins.aliases._service import alias_entry
    from headwater.projection.live import Batch, Live

    with client.log() as log:
        live = Live(log)
        with live.reading() as state:
            now = time.time_ns() // 1_000
            entry = alias_entry(
                state, one, other, now, is_removed=is_removed, is_separate=is_separate
            )
        live.ingest(Batch([entry]))


def print_aliases(answer: Page[AliasPair]) -> None:
    """Print one pair of names per line, with the day since which it is joined or separate."""
    rows = (
        (
            dataset_text(pair["one"]),
            Text.assemble("≠ " if pair["isSeparate"] else "= ", dataset_text(pair["other"])),
            Text(f"since {(pair['since'] or 'unknown')[:10]}", "dim"),
        )
        for pair in answer["items"]
    )
    print_table(rows, empty="No manual aliases.")


commands = typer.Typer()
commands.command(rich_help_panel="Operate")(alias)
