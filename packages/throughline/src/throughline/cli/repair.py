"""`throughline repair`: list or move the damaged rows of a log."""

from __future__ import annotations

from contextlib import closing
from typing import Annotated

import typer

from throughline.console.client import Database, settings_of
from throughline.console.words import counted

_SHOWN = 80  # characters of a row that are printed


def repair(
    database: Database = None,
    yes: Annotated[bool, typer.Option("--yes", help="Move the damaged rows. [only list]")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List damaged rows of a log, or move them aside.

    Moved rows become rejected lines, with text and reason: GET /api/v2/rejected. Restart a
    running server afterwards. Exit code 1: rows are damaged, and nothing was changed.

    Example: throughline repair --database lineage.db
    """
    from throughline.console.render import print_json, print_line
    from throughline.log import EventLog, damaged_rows, move_aside

    settings = settings_of(None, database, None)
    with closing(EventLog(settings.database, must_exist=True)) as log:
        rows = list(damaged_rows(log))
        if yes and rows:
            move_aside(log, rows)
    if as_json:
        print_json(
            {
                "isRepaired": yes or not rows,
                "rows": [{"seq": row.seq, "reason": row.reason, "text": row.text} for row in rows],
            }
        )
    else:
        for row in rows:
            print_line(f"row {row.seq}: {row.reason}\n  {row.text[:_SHOWN]!r}")
        done = "moved to the rejected lines" if yes else "damaged; nothing was changed: add --yes"
        print_line(f"{counted(len(rows), 'row')} {done}" if rows else "No row is damaged.")
    if rows and not yes:
        raise typer.Exit(1)
