"""The command `alias`: add, remove and list manual aliases."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from headwater.console.client import Client, with_client
from headwater.console.render import dataset_text, print_line, print_table
from headwater.text import counted

if TYPE_CHECKING:
    from headwater.plugins.aliases.models import AliasPair, SuggestedAlias
    from headwater.query.models import Page


@with_client()
def alias(
    client: Client,
    one: Annotated[str | None, typer.Argument(help="A dataset: an id or a name.")] = None,
    other: Annotated[str | None, typer.Argument(help="Another name of the same dataset.")] = None,
    separate: Annotated[
        bool, typer.Option("--separate", help="State that two names are two datasets.")
    ] = False,
    remove: Annotated[
        bool, typer.Option("--remove", help="Remove the alias or the separation of two names.")
    ] = False,
    rule: Annotated[
        bool,
        typer.Option("--rule", help="Join all pairs of names that match two ids with %s."),
    ] = False,
    list_: Annotated[
        bool, typer.Option("--list", help="List manual aliases, separations and rules.")
    ] = False,
    suggest: Annotated[
        bool, typer.Option("--suggest", help="List pairs of names that may be one dataset.")
    ] = False,
) -> None:
    """Join or separate names of datasets.

    Both apply to the whole history. `--rule` joins all present and future pairs of names that match
    two patterns, such as dataset:db:prod_%s and dataset:db:%s: %s stands for the same text in both.
    `--suggest` lists datasets that are written and never read, each with the name under which it
    may be read, and the evidence.

    Example: headwater alias dataset:postgres://db:5432:shop.orders hive.orders
    """
    if list_ + suggest + (one is not None) != 1 or (one is None) != (other is None):
        raise typer.BadParameter("pass two names, --list or --suggest")
    if suggest:
        client.print("aliases/suggested", {}, print_suggested)
        return
    if separate + remove > 1 or separate + rule > 1:
        raise typer.BadParameter("pass --separate alone, without --remove or --rule")
    if one is not None and other is not None:
        if client.is_local:
            _store(client, one, other, is_removed=remove, is_separate=separate, is_rule=rule)
        else:
            body = {"one": one, "other": other, "isRemoved": remove, "isSeparate": separate}
            body["isRule"] = rule
            client.request("/api/v2/aliases", body)
    client.print("aliases", {}, print_aliases)


def _store(client: Client, one: str, other: str, **how: bool) -> None:
    """Write a statement about two names to the local log; `how` is as in `stated_entry`.

    The log is read as a whole, to find which datasets the names mean. Raises NotFoundError and
    ConfigError as `stated_entry` does.
    """
    from headwater.plugins.aliases._service import stated_entry
    from headwater.projection.live import Batch, Live

    with client.log() as log:
        live = Live(log)
        with live.reading() as state:
            entry = stated_entry(state, one, other, time.time_ns() // 1_000, **how)
        live.ingest(Batch([entry]))  # after the reading, which a change would wait for


def print_aliases(answer: Page[AliasPair]) -> None:
    """Print one pair of names per line, with the day since which it is joined or separate."""
    rows = (
        (
            dataset_text(pair["one"]),
            Text.assemble("≠ " if pair["isSeparate"] else "= ", dataset_text(pair["other"])),
            Text(f"since {(pair['since'] or 'unknown')[:10]}", "dim"),
            Text(f"rule: {counted(pair['pairCount'] or 0, 'pair')}" if pair["isRule"] else ""),
        )
        for pair in answer["items"]
    )
    print_table(rows, empty="No manual aliases.")


def print_suggested(answer: Page[SuggestedAlias]) -> None:
    """Print one pair of names per line, with its score and the evidence, and how to join it."""
    rows = [
        (
            Text(str(pair["score"]), "yellow", justify="right"),
            dataset_text(pair["written"]),
            Text.assemble("= ", dataset_text(pair["read"]), "?"),
            Text("; ".join(item["message"] for item in pair["evidence"]), "dim"),
        )
        for pair in answer["items"]
    ]
    print_table(rows, empty="No pair of names that may be one dataset.")
    if answer["items"]:
        first = answer["items"][0]
        ids = f"'{first['written']['id']}' '{first['read']['id']}'"
        print_line(f"To join the first pair: headwater alias {ids}")


commands = typer.Typer()
commands.command(rich_help_panel="Operate")(alias)
