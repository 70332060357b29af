"""The commands of `throughline`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from throughline.cli import backends, compare, harvest, keys, repair
from throughline.cli.ask import (
    Ask,
    Condition,
    Cursor,
    Database,
    Key,
    LevelName,
    Url,
    asks,
    settings_of,
)
from throughline.cli.export import Format, run_export
from throughline.cli.groups import ASK, COLLECT, COMPARE, OPERATE, TRUST, Commands, Version
from throughline.config import resolve

app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(backends.app, name="backends", rich_help_panel=OPERATE)
app.add_typer(harvest.app, name="harvest", rich_help_panel=COLLECT)
app.add_typer(keys.app, name="keys", rich_help_panel=OPERATE)


@app.callback()
def top(_: Version = False) -> None:
    """Collect OpenLineage events and ask where data comes from and goes to.

    Example: throughline search taxi
    """


@app.command(rich_help_panel=COLLECT)
def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on. [127.0.0.1]")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on. [9002]")] = None,
    database: Annotated[str | None, typer.Option(help="File or SQLAlchemy URL of the log.")] = None,
    spool: Annotated[Path | None, typer.Option(help="Folder of *.jsonl files to tail.")] = None,
    spool_remove_after: Annotated[
        float | None, typer.Option(help="Seconds after which idle drained files go. [0: never]")
    ] = None,
    deliver: Annotated[Path | None, typer.Option(help="YAML file of backends to tell.")] = None,
    alerts: Annotated[Path | None, typer.Option(help="YAML file of rules to look at.")] = None,
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
                "deliver": deliver,
                "alerts": alerts,
                "api_key": api_key,
            }
        )
    )


@app.command(rich_help_panel=ASK)
@asks(then=True)
def tree(
    ask: Ask,
    node: Annotated[str, typer.Argument(help="An id (dataset:NS:NAME, job:NS:NAME) or a name.")],
    up: Annotated[bool, typer.Option("--up", help="Where it comes from (the default).")] = False,
    down: Annotated[bool, typer.Option("--down", help="Where it goes.")] = False,
    depth: Annotated[int, typer.Option(min=0, max=100, help="Steps to walk.")] = 20,
    level: Annotated[
        LevelName | None, typer.Option(help="How fine to look. [task; of a pipeline: pipeline]")
    ] = None,
) -> None:
    """Print what a dataset or a job comes from, or what it leads to.

    Example: throughline tree yellow_rides_hourly_forecast --up --depth 4
    """
    direction = "both" if up and down else "down" if down else "up"
    ask("tree", {"node": node, "direction": direction, "depth": depth, "level": level})


@app.command(rich_help_panel=ASK)
@asks(then=True)
def columns(
    ask: Ask,
    node: Annotated[str, typer.Argument(help="A dataset: an id or a name.")],
    field: Annotated[str | None, typer.Argument(help="One of its columns. [all]")] = None,
    down: Annotated[bool, typer.Option("--down", help="What is made of them.")] = False,
    indirect: Annotated[
        bool, typer.Option("--indirect", help="Also what only filters, joins, groups or sorts.")
    ] = False,
    depth: Annotated[int, typer.Option(min=0, max=100, help="Steps to walk.")] = 20,
) -> None:
    """Print which columns a dataset's columns are made of, and how.

    Example: throughline columns yellow_rides_hourly_actuals total_rides
    """
    how = {"direction": "down" if down else "up", "depth": depth, "indirect": indirect}
    ask("columns", {"node": node, "field": field, **how})


@app.command(rich_help_panel=ASK)
@asks()
def search(
    ask: Ask,
    text: Annotated[str, typer.Argument(help="A word, or a part of one.")],
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="How many.")] = 20,
    cursor: Cursor = None,
) -> None:
    """Find nodes by names, columns, tags, owners, texts or queries.

    Exit code 1: there is none.

    Example: throughline search pickup
    """
    if not ask("search", {"text": text, "limit": limit, "cursor": cursor})["items"]:
        raise typer.Exit(1)


@app.command(rich_help_panel=ASK)
@asks(then=True)
def impact(
    ask: Ask,
    node: Annotated[str, typer.Argument(help="An id (dataset:NS:NAME, job:NS:NAME) or a name.")],
    field: Annotated[str | None, typer.Argument(help="A column of it, if it is a dataset.")] = None,
    level: Annotated[LevelName, typer.Option(help="How fine to look.")] = LevelName.TASK,
    depth: Annotated[int, typer.Option(min=0, max=100, help="Steps to walk.")] = 20,
) -> None:
    """List what a change of a dataset, a column or a job reaches.

    The nearest comes first; each with its owners.

    Example: throughline impact yellow_taxi_raw tpep_pickup_datetime
    """
    ask("impact", {"node": node, "field": field, "level": level, "depth": depth})


@app.command(rich_help_panel=ASK)
@asks(then=True)
def path(
    ask: Ask,
    start: Annotated[str, typer.Argument(help="A node: an id or a name.")],
    end: Annotated[str, typer.Argument(help="Another one.")],
    level: Annotated[LevelName, typer.Option(help="How fine to look.")] = LevelName.TASK,
) -> None:
    """Print a shortest way of the data between two nodes.

    Exit code 1: there is none.

    Example: throughline path yellow_tripdata_2025-05.parquet yellow_rides_hourly_forecast
    """
    ask("path", {"from_": start, "to": end, "level": level})


@app.command(rich_help_panel=ASK)
@asks(then=True)
def provenance(
    ask: Ask,
    node: Annotated[str, typer.Argument(help="A dataset or a model: an id or a name.")],
    version: Annotated[
        str | None, typer.Option(help="One version of it, or the run that wrote it. [present]")
    ] = None,
    level: Annotated[LevelName, typer.Option(help="How fine to look.")] = LevelName.TASK,
) -> None:
    """List every run, input and code version that data comes from.

    Up to the files, which no run is known to have written.

    Example: throughline provenance TrainForecastModelFlow/model --json
    """
    ask("provenance", {"node": node, "version": version, "level": level})


for _command in (compare.history, compare.timeline, compare.drift, compare.diff):
    app.command(rich_help_panel=COMPARE)(_command)


@app.command(rich_help_panel=ASK)
@asks(then=True)
def tags(
    ask: Ask,
    node: Annotated[str | None, typer.Argument(help="A dataset; without it all.")] = None,
    key: Annotated[str | None, typer.Option(help="Only tags of this key.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="How many.")] = 1_000,
    cursor: Cursor = None,
) -> None:
    """List tags, and which columns handed them on.

    Example: throughline tags --key pii
    """
    ask("tags", {"node": node, "key": key, "limit": limit, "cursor": cursor})


@app.command(rich_help_panel=TRUST)
@asks(then=True)
def gate(
    ask: Ask,
    datasets: Annotated[list[str], typer.Argument(help="Datasets: ids or names.")],
    policy: Annotated[
        Path | None,
        typer.Option(help="YAML file. [no failed runs, checks passed, no PII]"),
    ] = None,
) -> None:
    """Tell whether the provenance of datasets meets a policy.

    Exit code 0: it does; 1: it does not; 3: the server or the log could not be asked.

    Example: throughline gate yellow_taxi_raw weather_raw --policy policy.yaml
    """
    from throughline.cli.gate import run_gate

    if not run_gate(ask, datasets, policy):
        raise typer.Exit(1)


@app.command(rich_help_panel=TRUST)
@asks(then=True)
def check(
    ask: Ask,
    file: Annotated[Path, typer.Argument(help="YAML file with the contract.")] = Path(
        "contract.yaml"
    ),
    write: Annotated[
        bool, typer.Option("--write", help="Make the file of what is there; patterns stay.")
    ] = False,
) -> None:
    """Compare what jobs read and write with a contract.

    Exit code 1: there are differences.

    Example: throughline check contract.yaml
    """
    from throughline.cli.check import run_check

    if not run_check(ask, file, write=write):
        raise typer.Exit(1)


@app.command(rich_help_panel=TRUST)
@asks(then=True)
def health(ask: Ask) -> None:
    """Tell what is wrong (failed, lost, late, checks) or missing.

    Exit code 1: something is wrong.

    Example: throughline health --as-of 2026-11-21T08:30
    """
    if not ask("health", {})["isHealthy"]:
        raise typer.Exit(1)


@app.command(rich_help_panel=ASK)
@asks()
def runs(
    ask: Ask,
    job: Annotated[str | None, typer.Argument(help="A job; without it the runs of all.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="How many.")] = 20,
    cursor: Cursor = None,
    state: Annotated[
        Condition | None, typer.Option(case_sensitive=False, help="Only runs in this state.")
    ] = None,
    failed: Annotated[bool, typer.Option("--failed", help="The same as --state FAILED.")] = False,
    root: Annotated[
        str | None, typer.Option("--tree", help="All that this run started, by its id.")
    ] = None,
) -> None:
    """List the newest runs, of one job or of all.

    With parameters, the orchestrator's id, the error.

    Example: throughline runs TrainForecastModelFlow.train --limit 5
    """
    if root is not None:
        ask("runtree", {"run": root})
    else:
        condition = Condition.FAILED if failed else state
        what = {"job": job, "limit": limit, "condition": condition, "cursor": cursor}
        ask("runs", what)


@app.command(rich_help_panel=OPERATE)
@asks()
def alias(
    ask: Ask,
    one: Annotated[str | None, typer.Argument(help="A dataset: an id or a name.")] = None,
    other: Annotated[str | None, typer.Argument(help="Another name of it.")] = None,
    remove: Annotated[bool, typer.Option("--remove", help="They are not one after all.")] = False,
    list_: Annotated[bool, typer.Option("--list", help="Only list what is joined.")] = False,
) -> None:
    """Join two names of one dataset by hand, or list such names.

    Example: throughline alias dataset:postgres://db:5432:shop.orders hive.orders
    """
    if list_ == (one is not None) or (one is None) != (other is None):
        raise typer.BadParameter("give two names, or --list")
    if one is not None and other is not None:
        from throughline.cli.alias import run_alias

        settings, is_local = ask.settings, ask.database is not None
        run_alias(settings, one, other, is_removed=remove, is_local=is_local)
    ask("aliases", {})


@app.command(rich_help_panel=COLLECT)
def ingest(
    paths: Annotated[list[str], typer.Argument(help="Files, folders, or - for stdin.")],
    url: Url = None,
    database: Database = None,
    api_key: Key = None,
) -> None:
    """Take the events of files, folders or stdin.

    JSON Lines, single events, arrays, or logs with events in them. Files may be zipped with gzip.
    The exit code is 1 if there was no event, or one was refused.

    Example: throughline ingest events/ --database lineage.db
    """
    from throughline.cli.ingest import run_ingest

    if not run_ingest(settings_of(url, database, api_key), paths, is_local=database is not None):
        raise typer.Exit(1)


@app.command(rich_help_panel=TRUST)
def doctor(
    url: Url = None,
    database: Database = None,
    api_key: Key = None,
    spool: Annotated[
        Path | None, typer.Option(help="With --database: the folder to be drained into it.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say who sends events, what is wrong and what to do.

    Exit code 1: something is wrong; 3: no server answers, or not to this key.

    Example: throughline doctor --url http://localhost:9002
    """
    from throughline.cli.doctor import examine

    given = {"url": url, "database": database, "api_key": api_key, "spool": spool}
    raise typer.Exit(examine(resolve(given), is_local=database is not None, as_json=as_json))


@app.command(context_settings={"allow_interspersed_args": False}, rich_help_panel=COLLECT)
def run(
    command: Annotated[list[str], typer.Argument(help="The command with its arguments.")],
    file: Annotated[
        Path, typer.Option("--file", "-f", help="What it reads and writes, in YAML.")
    ] = Path("lineage.yaml"),
    spool: Annotated[Path | None, typer.Option(help="Folder that its events go to.")] = None,
    url: Annotated[
        str | None, typer.Option(help="Server that they go to, if there is no --spool or also.")
    ] = None,
    api_key: Key = None,
    heartbeat: Annotated[
        float, typer.Option(min=0, help="Seconds between signs of life. [0: none]")
    ] = 60,
) -> None:
    """Run a command as a job of declared inputs and outputs.

    Its output, its signals and its exit code are its own; exit code 2: the file cannot be used.

    Example: throughline run -f lineage.yaml --spool ./spool -- true
    """
    from throughline.cli.run import run_as_job

    settings = resolve({"spool": spool, "url": url, "api_key": api_key})
    raise typer.Exit(run_as_job(settings, file, command, heartbeat, url=url, api_key=api_key))


@app.command(rich_help_panel=COLLECT)
def deliver(
    config: Annotated[Path | None, typer.Option(help="YAML file of the backends.")] = None,
    once: Annotated[bool, typer.Option("--once", help="Only what is there now.")] = False,
    status: Annotated[bool, typer.Option("--status", help="How each backend stands.")] = False,
    retry: Annotated[
        str | None, typer.Option(metavar="NAME", help="Send again what a backend refused.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the status as JSON.")] = False,
    url: Url = None,
    database: Database = None,
    api_key: Key = None,
) -> None:
    """Deliver the events of a log to other backends.

    Until stopped, or what is there `--once`; `serve --deliver` does it beside the server.

    Example: throughline deliver --config deliver.yaml --once --database lineage.db
    """
    from throughline.cli import deliver as delivery

    where = {"url": url, "database": database, "api_key": api_key, "deliver": config}
    settings, is_local = resolve(where), database is not None
    if retry is not None:
        delivery.retry(settings, retry, is_local=is_local)
    elif status:
        delivery.print_status(settings, is_local=is_local, as_json=as_json)
    else:
        delivery.run_deliver(settings, once=once)


@app.command(rich_help_panel=OPERATE)
def export(
    form: Annotated[Format, typer.Option("--format", help="What to write.")] = Format.JSON,
    level: Annotated[LevelName, typer.Option(help="How fine a diagram is.")] = LevelName.TASK,
    output: Annotated[Path | None, typer.Option(help="Folder for --format parquet.")] = None,
    url: Url = None,
    database: Database = None,
    api_key: Key = None,
) -> None:
    """Write all that is known: JSON, a diagram, events or tables.

    Example: throughline export --format mermaid --level pipeline > lineage.mmd
    """
    settings = settings_of(url, database, api_key)
    run_export(settings, form, level, output, is_local=database is not None)


@app.command(rich_help_panel=OPERATE)
def rebuild(
    url: Url = None,
    database: Database = None,
    api_key: Key = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Make the projection anew from the events, and compare.

    The events are taken in the reverse order; exit code 1: not equal.

    With --database the log's snapshots are dropped: what starts next reads all of it.

    Example: throughline rebuild --database lineage.db
    """
    from throughline.cli.rebuild import run_rebuild

    settings = settings_of(url, database, api_key)
    if not run_rebuild(settings, is_local=database is not None, as_json=as_json):
        raise typer.Exit(1)


app.command(rich_help_panel=OPERATE)(repair.repair)
