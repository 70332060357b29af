"""`throughline export`: all that is known, as JSON, as a diagram, or as the events themselves."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Any

from throughline.cli.diagram import graphviz, mermaid
from throughline.cli.source import every, open_source, request
from throughline.config import Settings
from throughline.errors import ConfigError
from throughline.printable import json_of
from throughline.words import counted

_PAGE = 500


class Format(StrEnum):
    """What is written."""

    JSON = "json"
    MERMAID = "mermaid"
    GRAPHVIZ = "graphviz"
    OPENLINEAGE = "openlineage"
    PARQUET = "parquet"


def run_export(
    settings: Settings, form: Format, level: str, folder: Path | None, *, is_local: bool
) -> None:
    """Write it to stdout: JSON of everything, the graph at a level, or an event a line.

    Parquet is written as tables in a folder.
    """
    if (form is Format.PARQUET) != (folder is not None):
        raise ConfigError(
            "--format parquet and --output FOLDER need each other; others go to stdout"
        )
    if folder is not None:
        from throughline.cli.parquet import write_parquet
        from throughline.cli.render import print_line

        ask = open_source(settings, is_local=is_local)
        rows = write_parquet(folder, ask, lambda: events_of(settings, is_local=is_local))
        for table, count in rows.items():
            print_line(f"{folder / table}.parquet  {counted(count, 'row')}")
        return
    if form is Format.OPENLINEAGE:
        for event in events_of(settings, is_local=is_local):
            sys.stdout.write(json_of(event, separators=(",", ":")) + "\n")
        return
    ask = open_source(settings, is_local=is_local)
    if form is Format.JSON:
        from throughline.cli.render import print_json

        print_json(ask("export", {}))
        return
    draw = mermaid if form is Format.MERMAID else graphviz
    kinds = ("data", "direct")
    edges = (each for kind in kinds for each in every(ask, "edges", {"level": level, "kind": kind}))
    sys.stdout.write(draw(edges))


def events_of(settings: Settings, *, is_local: bool) -> Iterator[Any]:
    """The decoded events of a log by their arrival, or of a server by their times."""
    return _from_log(settings) if is_local else _from_server(settings)


def _from_log(settings: Settings) -> Iterator[Any]:
    from throughline.cli.render import print_line
    from throughline.errors import EventError
    from throughline.log import EventLog
    from throughline.spec import load

    log = EventLog(settings.database, must_exist=True)
    try:
        for seq, body in log.read():
            try:
                yield load(body)
            except EventError as error:
                print_line(f"row {seq} of the log is left out: {error}", is_error=True)
    finally:
        log.close()


def _from_server(settings: Settings) -> Iterator[Any]:
    offset = 0
    while True:
        query = f"limit={_PAGE}&offset={offset}&sortDirection=asc"
        page = request(settings, f"/api/v1/events/lineage?{query}")
        yield from page["events"]
        offset += _PAGE
        if offset >= page["totalCount"]:
            return
