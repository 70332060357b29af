"""`throughline export`: write the graph or the events as JSON, diagram or tables."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from throughline.config import Settings
from throughline.console.printable import json_of
from throughline.console.source import every, open_source, request
from throughline.console.words import counted
from throughline.errors import ConfigError
from throughline.export.diagram import graphviz, mermaid

if TYPE_CHECKING:
    from throughline.query.models import Json


class Format(StrEnum):
    """Formats of an export."""

    JSON = "json"
    MERMAID = "mermaid"
    GRAPHVIZ = "graphviz"
    OPENLINEAGE = "openlineage"
    PARQUET = "parquet"


def run_export(
    settings: Settings, form: Format, level: str, folder: Path | None, *, is_local: bool
) -> None:
    """Write to stdout: JSON of everything, a diagram at a level, or one event per line.

    Parquet tables are written to a folder.
    """
    if (form is Format.PARQUET) != (folder is not None):
        raise ConfigError(
            "--format parquet requires --output FOLDER; other formats are written to stdout"
        )
    if folder is not None:
        from throughline.console.render import print_line
        from throughline.export.parquet import write_parquet

        source = open_source(settings, is_local=is_local)
        rows = write_parquet(folder, source, lambda: events_of(settings, is_local=is_local))
        for table, count in rows.items():
            print_line(f"{folder / table}.parquet  {counted(count, 'row')}")
        return
    if form is Format.OPENLINEAGE:
        for event in events_of(settings, is_local=is_local):
            sys.stdout.write(json_of(event, separators=(",", ":")) + "\n")
        return
    source = open_source(settings, is_local=is_local)
    if form is Format.JSON:
        from throughline.console.render import print_json

        print_json(source("export", {}))
        return
    draw = mermaid if form is Format.MERMAID else graphviz
    edges = every(source, "edges", {"level": level, "kind": "data"})
    pairs = every(source, "edges", {"level": level, "kind": "direct"})
    sys.stdout.write(draw(edges, pairs))


def events_of(settings: Settings, *, is_local: bool, page: int = 500) -> Iterator[Json]:
    """Yield the events of a log in order of arrival, or of a server in order of event time.

    `page` is the number of events in a response of the server.
    """
    return _from_log(settings) if is_local else _from_server(settings, page)


def _from_log(settings: Settings) -> Iterator[Json]:
    from throughline.console.render import print_line
    from throughline.errors import EventError
    from throughline.events import load
    from throughline.log import EventLog

    log = EventLog(settings.database, must_exist=True)
    try:
        for seq, body in log.read():
            try:
                yield load(body)
            except EventError as error:
                print_line(f"row {seq} of the log is skipped: {error}", is_error=True)
    finally:
        log.close()


def _from_server(settings: Settings, limit: int) -> Iterator[Json]:
    offset = 0
    while True:
        query = f"limit={limit}&offset={offset}&sortDirection=asc"
        page = request(settings, f"/api/v1/events/lineage?{query}")
        yield from page["events"]
        offset += limit
        if offset >= page["totalCount"]:
            return
