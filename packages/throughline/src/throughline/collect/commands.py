"""The command `ingest`."""

from __future__ import annotations

from typing import Annotated

import typer

from throughline.console.client import Database, Key, Url, settings_of


def ingest(
    paths: Annotated[list[str], typer.Argument(help="Files, folders, or - for stdin.")],
    url: Url = None,
    database: Database = None,
    api_key: Key = None,
) -> None:
    """Ingest the events of files, folders or stdin.

    Accepts JSON Lines, single events, arrays, and logs that contain events, also with gzip.
    Exit code 1: there was no event, or one was rejected.

    Example: throughline ingest events/ --database lineage.db
    """
    from throughline.collect.ingest_command import run_ingest

    if not run_ingest(settings_of(url, database, api_key), paths, is_local=database is not None):
        raise typer.Exit(1)
