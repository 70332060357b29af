"""The commands `serve` and `repair`."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from headwater.console.client import AsJson, Database, settings_of
from headwater.console.render import print_json, print_line
from headwater.text import counted

_SHOWN = 80  # characters of a row that are printed


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on. [127.0.0.1]")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on. [9002]")] = None,
    database: Annotated[str | None, typer.Option(help="File or SQLAlchemy URL of the log.")] = None,
    spool: Annotated[Path | None, typer.Option(help="Folder of *.jsonl files to tail.")] = None,
    spool_remove_after: Annotated[
        float | None, typer.Option(help="Idle seconds before drained files are removed. [0: never]")
    ] = None,
    kafka: Annotated[
        str | None, typer.Option(help="Kafka brokers to read events from, such as kafka:9092.")
    ] = None,
    kafka_topics: Annotated[
        str | None, typer.Option(help="Kafka topics, separated by commas. [openlineage.events]")
    ] = None,
    deliver: Annotated[Path | None, typer.Option(help="YAML file of the backends.")] = None,
    alerts: Annotated[Path | None, typer.Option(help="YAML file of alert rules.")] = None,
    keep: Annotated[
        str | None, typer.Option(help="Delete events that are older, such as 30d. [never]")
    ] = None,
    api_key: Annotated[str | None, typer.Option(help="API key that requests must have.")] = None,
) -> None:
    """Receive events and serve queries.

    Reads events from HTTP, a spool folder and Kafka.

    Example: headwater serve --spool /var/spool/lineage --database lineage.db
    """
    from headwater.server._serve import run_server

    run_server(
        settings_of(
            host=host,
            port=port,
            database=database,
            spool=spool,
            spool_remove_after=spool_remove_after,
            kafka=kafka,
            kafka_topics=kafka_topics,
            deliver=deliver,
            alerts=alerts,
            keep=keep,
            api_key=api_key,
        )
    )


def repair(
    database: Database = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Move rows, delete snapshots. [only list]")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List damaged rows of a log, or move them aside.

    Moved rows become rejected lines, with text and reason: GET /api/v2/rejected. With --yes, the
    log's snapshots are deleted; the next start reads the whole log. Restart a running server
    afterwards. Exit code 1: rows are damaged, and nothing was changed.

    Example: headwater repair --database lineage.db
    """
    from headwater.log import EventLog
    from headwater.server._repair import damaged_rows, move_aside

    with closing(EventLog.of(settings_of(database=database), must_exist=True)) as log:
        rows = list(damaged_rows(log))
        if yes:
            move_aside(log, rows)
    if as_json:
        listed = [{"seq": row.seq, "reason": row.reason, "text": row.text} for row in rows]
        print_json({"isRepaired": yes or not rows, "rows": listed})
    else:
        for row in rows:
            print_line(f"row {row.seq}: {row.reason}\n  {row.text[:_SHOWN]!r}")
        done = "moved to the rejected lines" if yes else "damaged; nothing was changed: add --yes"
        print_line(f"{counted(len(rows), 'row')} {done}" if rows else "No row is damaged.")
    if rows and not yes:
        raise typer.Exit(1)
