"""`throughline alias`: add and remove manual aliases."""

from __future__ import annotations

import json
import time
from contextlib import closing
from typing import Annotated

import typer

from throughline.aliases.printing import print_aliases
from throughline.config import Settings
from throughline.console.client import Client, with_client
from throughline.console.source import request


def _write(settings: Settings, one: str, other: str, *, is_removed: bool, is_local: bool) -> None:
    if not is_local:
        body = {"one": one, "other": other, "isRemoved": is_removed}
        request(settings, "/api/v2/aliases", json.dumps(body).encode())
        return
    from throughline.aliases.service import alias_entry
    from throughline.log import EventLog
    from throughline.projection.live import Batch, Live

    with closing(EventLog(settings.database, must_exist=True)) as log:
        live = Live(log)
        now = time.time_ns() // 1_000
        with live.reading() as state:
            entry = alias_entry(state, one, other, now, is_removed=is_removed)
        live.ingest(Batch([entry]))


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
        is_local = client.database is not None
        _write(client.settings, one, other, is_removed=remove, is_local=is_local)
    client.print("aliases", {}, print_aliases)
