"""The command `export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from throughline.console.client import Database, Key, LevelName, Url, settings_of
from throughline.export.export import Format, run_export


def export(
    form: Annotated[Format, typer.Option("--format", help="Format to write.")] = Format.JSON,
    level: Annotated[LevelName, typer.Option(help="Level of a diagram.")] = LevelName.TASK,
    output: Annotated[Path | None, typer.Option(help="Folder for --format parquet.")] = None,
    url: Url = None,
    database: Database = None,
    api_key: Key = None,
) -> None:
    """Export lineage as JSON, diagram, events or tables.

    Example: throughline export --format mermaid --level pipeline > lineage.mmd
    """
    settings = settings_of(url, database, api_key)
    run_export(settings, form, level, output, is_local=database is not None)
