"""The commands of `throughline`."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from throughline.cli.source import open_source
from throughline.config import Settings, resolve
from throughline.errors import NotFoundError, ThroughlineError

app = typer.Typer(
    help="Collect OpenLineage events and ask where data comes from and goes to.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


class LevelName(StrEnum):
    """How fine to look."""

    PIPELINE = "pipeline"
    TASK = "task"
    QUERY = "query"


Url = Annotated[
    str | None, typer.Option(help="Server to ask. [THROUGHLINE_URL, or http://localhost:9002]")
]
Database = Annotated[
    str | None, typer.Option(help="Ask this log (file or SQLAlchemy URL) instead of a server.")
]
Key = Annotated[str | None, typer.Option(help="API key of the server.")]
AsOf = Annotated[
    str | None, typer.Option(help="As it was then: a time, or the id of a run for its end.")
]
KnownAt = Annotated[str | None, typer.Option(help="By what had been heard by then: a time.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def main() -> None:
    """Run a command; an error of ours is one message on stderr and exit code 1."""
    try:
        app()
    except ThroughlineError as error:
        hint = ""
        if isinstance(error, NotFoundError) and error.nearest:
            hint = "\nDid you mean: " + ", ".join(error.nearest)
        sys.stderr.write(f"throughline: {error}{hint}\n")
        sys.exit(1)


@app.command()
def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on. [127.0.0.1]")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on. [9002]")] = None,
    database: Annotated[str | None, typer.Option(help="File or SQLAlchemy URL of the log.")] = None,
    spool: Annotated[Path | None, typer.Option(help="Folder of *.jsonl files to tail.")] = None,
    spool_remove_after: Annotated[
        float | None, typer.Option(help="Seconds after which idle drained files go. [0: never]")
    ] = None,
    api_key: Annotated[str | None, typer.Option(help="Key that requests must show.")] = None,
) -> None:
    """Take events over HTTP and from a spool folder, and answer.

    Example: throughline serve --spool /var/spool/lineage --database lineage.db
    """
    from throughline.cli.serve import run_server

    run_server(
        resolve(
            {
                "host": host,
                "port": port,
                "database": database,
                "spool": spool,
                "spool_remove_after": spool_remove_after,
                "api_key": api_key,
            }
        )
    )


@app.command()
def tree(
    node: Annotated[str, typer.Argument(help="An id (dataset:NS:NAME, job:NS:NAME) or a name.")],
    up: Annotated[bool, typer.Option("--up", help="Where it comes from (the default).")] = False,
    down: Annotated[bool, typer.Option("--down", help="Where it goes.")] = False,
    depth: Annotated[int, typer.Option(min=0, help="Steps to walk.")] = 20,
    level: Annotated[
        LevelName | None, typer.Option(help="How fine to look. [task; of a pipeline: pipeline]")
    ] = None,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    url: Url = None,
    database: Database = None,
    api_key: Key = None,
    as_json: Json = False,
) -> None:
    """Print what a dataset or a job comes from, or what it leads to.

    Example: throughline tree yellow_rides_hourly_forecast --up --depth 4
    """
    direction = "both" if up and down else "down" if down else "up"
    params: dict[str, Any] = {"node": node, "direction": direction, "depth": depth}
    if level is not None:
        params["level"] = level.value
    params |= _moments(as_of, known_at)
    answer = _ask("/api/v2/tree", params, url, database, api_key)
    from throughline.cli.render import print_json, print_tree

    print_json(answer) if as_json else print_tree(answer)


@app.command()
def columns(
    node: Annotated[str, typer.Argument(help="A dataset: an id or a name.")],
    field: Annotated[str | None, typer.Argument(help="One of its columns. [all]")] = None,
    down: Annotated[bool, typer.Option("--down", help="What is made of them.")] = False,
    indirect: Annotated[
        bool, typer.Option("--indirect", help="Also what only filters, joins, groups or sorts.")
    ] = False,
    depth: Annotated[int, typer.Option(min=0, help="Steps to walk.")] = 20,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    url: Url = None,
    database: Database = None,
    api_key: Key = None,
    as_json: Json = False,
) -> None:
    """Print which columns a dataset's columns are made of, and how.

    Example: throughline columns yellow_rides_hourly_actuals total_rides
    """
    direction = "down" if down else "up"
    params: dict[str, Any] = {"node": node, "direction": direction, "depth": depth}
    if field is not None:
        params["field"] = field
    if indirect:
        params["indirect"] = True
    params |= _moments(as_of, known_at)
    answer = _ask("/api/v2/columns", params, url, database, api_key)
    from throughline.cli.render import NO_COLUMNS, print_json, print_tree

    print_json(answer) if as_json else print_tree(answer, NO_COLUMNS)


@app.command()
def search(
    text: Annotated[str, typer.Argument(help="A word, or a part of one.")],
    limit: Annotated[int, typer.Option(min=1, help="How many.")] = 20,
    url: Url = None,
    database: Database = None,
    api_key: Key = None,
    as_json: Json = False,
) -> None:
    """Find nodes by their names, columns, tags, owners, descriptions or queries; exit code 1: none.

    Example: throughline search pickup
    """
    answer = _ask("/api/v2/search", {"text": text, "limit": limit}, url, database, api_key)
    from throughline.cli.render import print_found, print_json

    print_json(answer) if as_json else print_found(answer)
    if not answer:
        raise typer.Exit(1)


@app.command()
def impact(
    node: Annotated[str, typer.Argument(help="An id (dataset:NS:NAME, job:NS:NAME) or a name.")],
    field: Annotated[str | None, typer.Argument(help="A column of it, if it is a dataset.")] = None,
    level: Annotated[LevelName, typer.Option(help="How fine to look.")] = LevelName.TASK,
    depth: Annotated[int, typer.Option(min=0, help="Steps to walk.")] = 20,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    url: Url = None,
    database: Database = None,
    api_key: Key = None,
    as_json: Json = False,
) -> None:
    """List what a change of a dataset, a column or a job reaches: the nearest first, with owners.

    Example: throughline impact yellow_taxi_raw tpep_pickup_datetime
    """
    params: dict[str, Any] = {"node": node, "level": level.value, "depth": depth}
    if field is not None:
        params["field"] = field
    params |= _moments(as_of, known_at)
    answer = _ask("/api/v2/impact", params, url, database, api_key)
    from throughline.cli.render import print_impact, print_json

    print_json(answer) if as_json else print_impact(answer)


@app.command()
def path(
    start: Annotated[str, typer.Argument(help="A node: an id or a name.")],
    end: Annotated[str, typer.Argument(help="Another one.")],
    level: Annotated[LevelName, typer.Option(help="How fine to look.")] = LevelName.TASK,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    url: Url = None,
    database: Database = None,
    api_key: Key = None,
    as_json: Json = False,
) -> None:
    """Print a shortest way of the data between two nodes; exit code 1 if there is none.

    Example: throughline path yellow_tripdata_2025-05.parquet yellow_rides_hourly_forecast
    """
    params = {"from": start, "to": end, "level": level.value, **_moments(as_of, known_at)}
    answer = _ask("/api/v2/path", params, url, database, api_key)
    from throughline.cli.render import print_json, print_path

    print_json(answer) if as_json else print_path(answer)


@app.command()
def diff(
    since: Annotated[str, typer.Argument(help="A time, or the id of a run for its end.")],
    until: Annotated[str | None, typer.Argument(help="The same. [now]")] = None,
    level: Annotated[LevelName, typer.Option(help="How fine to look.")] = LevelName.TASK,
    url: Url = None,
    database: Database = None,
    api_key: Key = None,
    as_json: Json = False,
) -> None:
    """Print what is different between two moments: nodes, edges, schemas, code.

    Example: throughline diff 2026-11-01 2026-11-21T08:30
    """
    params = {"from": _moment(since), "level": level.value}
    if until:
        params["to"] = _moment(until)
    answer = _ask("/api/v2/diff", params, url, database, api_key)
    from throughline.cli.render import print_diff, print_json

    print_json(answer) if as_json else print_diff(answer)


@app.command()
def runs(
    job: Annotated[str | None, typer.Argument(help="A job; without it the runs of all.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="How many.")] = 20,
    url: Url = None,
    database: Database = None,
    api_key: Key = None,
    as_json: Json = False,
) -> None:
    """List the newest runs, of one job or of all.

    Example: throughline runs TrainForecastModelFlow.train --limit 5
    """
    params = {"limit": limit} if job is None else {"job": job, "limit": limit}
    answer = _ask("/api/v2/runs", params, url, database, api_key)
    from throughline.cli.render import print_json, print_runs

    print_json(answer) if as_json else print_runs(answer)


@app.command()
def ingest(
    paths: Annotated[list[str], typer.Argument(help="Files, folders, or - for stdin.")],
    url: Url = None,
    database: Database = None,
    api_key: Key = None,
) -> None:
    """Take the events of files: JSON Lines, single events, arrays.

    Example: throughline ingest events/ --database lineage.db
    """
    from throughline.cli.ingest import run_ingest

    run_ingest(_settings(url, database, api_key), paths, is_local=database is not None)


@app.command()
def export(url: Url = None, database: Database = None, api_key: Key = None) -> None:
    """Print everything that is known as canonical JSON.

    Example: throughline export --database lineage.db > lineage.json
    """
    answer = _ask("/api/v2/export", {}, url, database, api_key)
    from throughline.cli.render import print_json

    print_json(answer)


def _moments(as_of: str | None, known_at: str | None) -> dict[str, str]:
    given = {"asOf": as_of, "knownAt": known_at}
    return {name: _moment(text) for name, text in given.items() if text}


def _moment(text: str) -> str:
    """A time as people write it, which is local, with its zone; anything else as it is."""
    from contextlib import suppress
    from datetime import date, datetime

    for written in (text, f"{date.today()}T{text}"):  # a time alone is one of today
        with suppress(ValueError):
            return datetime.fromisoformat(written).astimezone().isoformat()
    return text


def _ask(
    path: str, params: dict[str, Any], url: str | None, database: str | None, key: str | None
) -> Any:
    settings = _settings(url, database, key)
    return open_source(settings, is_local=database is not None)(path, params)


def _settings(url: str | None, database: str | None, key: str | None) -> Settings:
    return resolve({"url": url, "database": database, "api_key": key})
