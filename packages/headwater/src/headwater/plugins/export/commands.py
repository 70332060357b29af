"""The command `export`: write the graph or the events as JSON, diagram, tables or a page."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headwater.console.client import Client, with_client
from headwater.console.render import print_json, print_line
from headwater.console.source import every
from headwater.errors import ConfigError, EventError
from headwater.query.parameters import LevelName
from headwater.text import counted, json_of

if TYPE_CHECKING:
    from headwater.query.models import Json


class Format(StrEnum):
    """Formats of an export."""

    JSON = "json"
    MERMAID = "mermaid"
    GRAPHVIZ = "graphviz"
    OPENLINEAGE = "openlineage"
    PARQUET = "parquet"
    HTML = "html"


@with_client(as_json=False)
def export(
    client: Client,
    node: Annotated[
        str | None, typer.Argument(help="With --format html: the node to start at.")
    ] = None,
    is_all: Annotated[
        bool, typer.Option("--all", help="With --format html: all nodes instead of a NODE.")
    ] = False,
    form: Annotated[Format, typer.Option("--format", help="Format to write.")] = Format.JSON,
    level: LevelName = "task",
    output: Annotated[
        Path | None, typer.Option(help="Folder for parquet, or file for html. [html: stdout]")
    ] = None,
) -> None:
    """Export lineage as JSON, diagram, events, tables or HTML.

    Example: headwater export --format mermaid --level pipeline > lineage.mmd
    """
    from headwater.plugins.export._diagram import graphviz, mermaid

    if form is not Format.HTML and (form is Format.PARQUET) != (output is not None):
        raise ConfigError(
            "--format parquet requires --output FOLDER; other formats are written to stdout"
        )
    scope = [f"the NODE {node!r}"] * (node is not None) + ["--all"] * is_all
    if form is Format.HTML and len(scope) != 1:
        received = " and ".join(scope) or "neither"
        raise ConfigError(f"--format html: received {received}, expected a NODE or --all")
    if form is not Format.HTML and scope:
        raise ConfigError(
            f"received {' and '.join(scope)} with --format {form}, which exports all nodes:"
            " omit it, or pass --format html"
        )
    if form is Format.HTML:
        _write_page(client, node, output)
    elif output is not None:
        from headwater.plugins.export._parquet import write_parquet

        rows = write_parquet(output, client.source, lambda: events_of(client))
        for table, count in rows.items():
            print_line(f"{output / table}.parquet  {counted(count, 'row')}")
    elif form is Format.OPENLINEAGE:
        for event in events_of(client):
            sys.stdout.write(json_of(event, separators=(",", ":")) + "\n")
    elif form is Format.JSON:
        print_json(client.query("export", {}))
    else:
        edges = every(client.source, "edges", {"level": level, "kind": "data"})
        pairs = every(client.source, "edges", {"level": level, "kind": "direct"})
        sys.stdout.write((mermaid if form is Format.MERMAID else graphviz)(edges, pairs))


def _write_page(client: Client, node: str | None, output: Path | None) -> None:
    """Write the page to a file, or to standard output without one.

    Raises ConfigError if the file cannot be written.
    """
    from headwater.plugins.export._file import write_file

    if output is None:
        sys.stdout.write(write_file(client.query, node))
        return
    try:
        with output.open("a"):  # first, because the work takes some time
            pass
        output.write_text(write_file(client.query, node))
    except OSError as error:
        raise ConfigError(f"--output: cannot write {output}: {error.strerror}") from None
    print_line(f"Wrote {output}.", is_error=True)


def events_of(client: Client, page_size: int = 500) -> Iterator[Json]:
    """Yield the events of a log in order of arrival, or of a server in order of event time.

    `page_size` is the number of events in a response of the server.
    """
    from headwater.collect.server_events import events_of_server

    return _from_log(client) if client.is_local else events_of_server(client.settings, page_size)


def _from_log(client: Client) -> Iterator[Json]:
    """Yield the events of the log; damaged ones are reported and skipped."""
    from headwater.events import load

    with client.log() as log:
        for seq, body in log.read():
            try:
                yield load(body)
            except EventError as error:
                print_line(f"row {seq} of the log is skipped: {error}", is_error=True)


commands = typer.Typer()
commands.command(rich_help_panel="Operate")(export)
