"""The commands `deliver` and `backends`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from throughline.console.client import Database, Key, Url, settings_of


def deliver(
    config: Annotated[Path | None, typer.Option(help="YAML file of the backends.")] = None,
    once: Annotated[bool, typer.Option("--once", help="Stop after the present events.")] = False,
    status: Annotated[bool, typer.Option("--status", help="Show the state of backends.")] = False,
    retry: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Deliver dead letters of a backend again."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the status as JSON.")] = False,
    url: Url = None,
    database: Database = None,
    api_key: Key = None,
) -> None:
    """Deliver the events of a log to other backends.

    Runs until stopped, unless --once is given. `serve --deliver` does the same within a server.

    Example: throughline deliver --config deliver.yaml --once --database lineage.db
    """
    from throughline.delivery import deliver_command as delivery

    settings = settings_of(url=url, database=database, api_key=api_key, deliver=config)
    is_local = database is not None
    if retry is not None:
        delivery.retry(settings, retry, is_local=is_local)
    elif status:
        delivery.print_status(settings, is_local=is_local, as_json=as_json)
    else:
        delivery.run_deliver(settings, once=once)
