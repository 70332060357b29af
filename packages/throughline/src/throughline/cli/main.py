"""Commands of `throughline`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from throughline.cli import compare, repair
from throughline.config import resolve
from throughline.console.client import (
    Client,
    Cursor,
    Database,
    Key,
    LevelName,
    StateName,
    Url,
    settings_of,
    with_client,
)
from throughline.console.groups import COLLECT, COMPARE, OPERATE, QUERY, TRUST, Commands, Version
from throughline.delivery import backends_command as backends
from throughline.export.export import Format, run_export
from throughline.harvest import commands as harvest
from throughline.keys import commands as keys

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
    """Collect OpenLineage events and query lineage.

    Example: throughline search taxi
    """


@app.command(rich_help_panel=COLLECT)
def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on. [127.0.0.1]")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on. [9002]")] = None,
    database: Annotated[str | None, typer.Option(help="File or SQLAlchemy URL of the log.")] = None,
    spool: Annotated[Path | None, typer.Option(help="Folder of *.jsonl files to tail.")] = None,
    spool_remove_after: Annotated[
        float | None, typer.Option(help="Idle seconds before drained files are removed. [0: never]")
    ] = None,
    deliver: Annotated[Path | None, typer.Option(help="YAML file of the backends.")] = None,
    alerts: Annotated[Path | None, typer.Option(help="YAML file of alert rules.")] = None,
    api_key: Annotated[str | None, typer.Option(help="API key that requests must have.")] = None,
) -> None:
    """Receive events and serve queries.

    Reads events from HTTP and a spool folder.

    Example: throughline serve --spool /var/spool/lineage --database lineage.db
    """
    from throughline.server.serve import run_server

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


@app.command(rich_help_panel=QUERY)
@with_client(past=True)
def tree(
    client: Client,
    node: Annotated[str, typer.Argument(help="An id (dataset:NS:NAME, job:NS:NAME) or a name.")],
    up: Annotated[bool, typer.Option("--up", help="Show upstream (the default).")] = False,
    down: Annotated[bool, typer.Option("--down", help="Show downstream.")] = False,
    depth: Annotated[int, typer.Option(min=0, max=100, help="Maximum distance in steps.")] = 20,
    level: Annotated[
        LevelName | None, typer.Option(help="Level of detail. [task; for a pipeline: pipeline]")
    ] = None,
) -> None:
    """Print the upstream or downstream tree of a dataset or job.

    Example: throughline tree yellow_rides_hourly_forecast --up --depth 4
    """
    direction = "both" if up and down else "down" if down else "up"
    client.print("tree", {"node": node, "direction": direction, "depth": depth, "level": level})


@app.command(rich_help_panel=QUERY)
@with_client(past=True)
def columns(
    client: Client,
    node: Annotated[str, typer.Argument(help="A dataset: an id or a name.")],
    field: Annotated[str | None, typer.Argument(help="One of its columns. [all]")] = None,
    down: Annotated[bool, typer.Option("--down", help="Show downstream columns.")] = False,
    indirect: Annotated[
        bool,
        typer.Option("--indirect", help="Add columns that only filter, join, group or sort."),
    ] = False,
    depth: Annotated[int, typer.Option(min=0, max=100, help="Maximum distance in steps.")] = 20,
) -> None:
    """Print the upstream or downstream columns of a dataset.

    Example: throughline columns yellow_rides_hourly_actuals total_rides
    """
    how = {"direction": "down" if down else "up", "depth": depth, "indirect": indirect}
    client.print("columns", {"node": node, "field": field, **how})


@app.command(rich_help_panel=QUERY)
@with_client()
def search(
    client: Client,
    text: Annotated[str, typer.Argument(help="Text to search for.")],
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="Maximum number.")] = 20,
    cursor: Cursor = None,
) -> None:
    """Search names, columns, tags, owners, descriptions and queries.

    Exit code 1: no match.

    Example: throughline search pickup
    """
    if not client.print("search", {"text": text, "limit": limit, "cursor": cursor})["items"]:
        raise typer.Exit(1)


@app.command(rich_help_panel=QUERY)
@with_client(past=True)
def impact(
    client: Client,
    node: Annotated[str, typer.Argument(help="An id (dataset:NS:NAME, job:NS:NAME) or a name.")],
    field: Annotated[str | None, typer.Argument(help="A column of the dataset.")] = None,
    level: Annotated[LevelName, typer.Option(help="Level of detail.")] = LevelName.TASK,
    depth: Annotated[int, typer.Option(min=0, max=100, help="Maximum distance in steps.")] = 20,
) -> None:
    """List what a change of a dataset, column or job affects.

    The nearest come first; owners are shown.

    Example: throughline impact yellow_taxi_raw tpep_pickup_datetime
    """
    client.print("impact", {"node": node, "field": field, "level": level, "depth": depth})


@app.command(rich_help_panel=QUERY)
@with_client(past=True)
def path(
    client: Client,
    start: Annotated[str, typer.Argument(help="A node: an id or a name.")],
    end: Annotated[str, typer.Argument(help="Another node.")],
    level: Annotated[LevelName, typer.Option(help="Level of detail.")] = LevelName.TASK,
) -> None:
    """Print the shortest lineage path between two nodes.

    Exit code 1: no path.

    Example: throughline path yellow_tripdata_2025-05.parquet yellow_rides_hourly_forecast
    """
    client.print("path", {"from_": start, "to": end, "level": level})


@app.command(rich_help_panel=QUERY)
@with_client(past=True)
def provenance(
    client: Client,
    node: Annotated[str, typer.Argument(help="A dataset or a model: an id or a name.")],
    version: Annotated[
        str | None, typer.Option(help="A version, or the run that wrote it. [present contents]")
    ] = None,
    level: Annotated[LevelName, typer.Option(help="Level of detail.")] = LevelName.TASK,
) -> None:
    """List every run, input and code version that data comes from.

    The sources, which no known run wrote, come last.

    Example: throughline provenance TrainForecastModelFlow/model --json
    """
    client.print("provenance", {"node": node, "version": version, "level": level})


for _command in (compare.history, compare.timeline, compare.drift, compare.diff):
    app.command(rich_help_panel=COMPARE)(_command)


@app.command(rich_help_panel=QUERY)
@with_client(past=True)
def tags(
    client: Client,
    node: Annotated[str | None, typer.Argument(help="A dataset. [all]")] = None,
    key: Annotated[str | None, typer.Option(help="Only tags of this key.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="Maximum number.")] = 1_000,
    cursor: Cursor = None,
) -> None:
    """List tags and the columns that they come from.

    Example: throughline tags --key pii
    """
    client.print("tags", {"node": node, "key": key, "limit": limit, "cursor": cursor})


@app.command(rich_help_panel=TRUST)
@with_client(past=True)
def gate(
    client: Client,
    datasets: Annotated[list[str], typer.Argument(help="Datasets: ids or names.")],
    policy: Annotated[
        Path | None,
        typer.Option(help="YAML file. [no failed runs, checks passed, no PII]"),
    ] = None,
) -> None:
    """Check the provenance of datasets against a policy.

    Exit code 0: passed; 1: failed; 3: the server or log is unavailable.

    Example: throughline gate yellow_taxi_raw weather_raw --policy policy.yaml
    """
    from throughline.trust.gate_command import run_gate

    if not run_gate(client, datasets, policy):
        raise typer.Exit(1)


@app.command(rich_help_panel=TRUST)
@with_client(past=True)
def check(
    client: Client,
    file: Annotated[Path, typer.Argument(help="YAML file with the contract.")] = Path(
        "contract.yaml"
    ),
    write: Annotated[
        bool,
        typer.Option("--write", help="Write the captured lineage to the file; keep patterns."),
    ] = False,
) -> None:
    """Compare the inputs and outputs of jobs with a contract.

    Exit code 1: there are differences.

    Example: throughline check contract.yaml
    """
    from throughline.trust.check_command import run_check

    if not run_check(client, file, write=write):
        raise typer.Exit(1)


@app.command(rich_help_panel=TRUST)
@with_client(past=True)
def health(client: Client) -> None:
    """Show failed, stale and late jobs, failed checks and gaps.

    Exit code 1: problems were found.

    Example: throughline health --as-of 2026-11-21T08:30
    """
    if not client.print("health", {})["isHealthy"]:
        raise typer.Exit(1)


@app.command(rich_help_panel=QUERY)
@with_client()
def runs(
    client: Client,
    job: Annotated[str | None, typer.Argument(help="A job. [all]")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="Maximum number.")] = 20,
    cursor: Cursor = None,
    state: Annotated[
        StateName | None, typer.Option(case_sensitive=False, help="Only runs in this state.")
    ] = None,
    failed: Annotated[bool, typer.Option("--failed", help="Same as --state FAILED.")] = False,
    root: Annotated[
        str | None,
        typer.Option("--tree", help="Show the run with this id and its descendants."),
    ] = None,
) -> None:
    """List the newest runs, of one job or of all.

    Parameters, the orchestrator's id and the error are shown.

    Example: throughline runs TrainForecastModelFlow.train --limit 5
    """
    if root is not None:
        client.print("runtree", {"run": root})
    else:
        condition = StateName.FAILED if failed else state
        params = {"job": job, "limit": limit, "condition": condition, "cursor": cursor}
        client.print("runs", params)


@app.command(rich_help_panel=OPERATE)
@with_client()
def alias(
    client: Client,
    one: Annotated[str | None, typer.Argument(help="A dataset: an id or a name.")] = None,
    other: Annotated[str | None, typer.Argument(help="Another name of the same dataset.")] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Separate the two names again.")] = False,
    list_: Annotated[bool, typer.Option("--list", help="List manual aliases.")] = False,
) -> None:
    """Add, remove or list manual aliases of datasets.

    Example: throughline alias dataset:postgres://db:5432:shop.orders hive.orders
    """
    if list_ == (one is not None) or (one is None) != (other is None):
        raise typer.BadParameter("pass two names, or --list")
    if one is not None and other is not None:
        from throughline.aliases.commands import run_alias

        settings, is_local = client.settings, client.database is not None
        run_alias(settings, one, other, is_removed=remove, is_local=is_local)
    client.print("aliases", {})


@app.command(rich_help_panel=COLLECT)
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


@app.command(rich_help_panel=TRUST)
def doctor(
    url: Url = None,
    database: Database = None,
    api_key: Key = None,
    spool: Annotated[Path | None, typer.Option(help="With --database: its spool folder.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List producers, problems and advice.

    Exit code 1: problems were found; 3: the server is unavailable or rejects the key.

    Example: throughline doctor --url http://localhost:9002
    """
    from throughline.trust.doctor_command import examine

    given = {"url": url, "database": database, "api_key": api_key, "spool": spool}
    raise typer.Exit(examine(resolve(given), is_local=database is not None, as_json=as_json))


@app.command(context_settings={"allow_interspersed_args": False}, rich_help_panel=COLLECT)
def run(
    command: Annotated[list[str], typer.Argument(help="The command with its arguments.")],
    file: Annotated[
        Path, typer.Option("--file", "-f", help="YAML file of its inputs and outputs.")
    ] = Path("lineage.yaml"),
    spool: Annotated[Path | None, typer.Option(help="Folder to write its events to.")] = None,
    url: Annotated[
        str | None,
        typer.Option(help="Server to send its events to, also besides --spool."),
    ] = None,
    api_key: Key = None,
    heartbeat: Annotated[
        float, typer.Option(min=0, help="Seconds between RUNNING events; 0: none.")
    ] = 60,
) -> None:
    """Run a command as a job with declared inputs and outputs.

    Output, signals and exit code are those of the command; exit code 2: invalid file.

    Example: throughline run -f lineage.yaml --spool ./spool -- true
    """
    from throughline.wrap.run_command import run_as_job

    settings = resolve({"spool": spool, "url": url, "api_key": api_key})
    raise typer.Exit(run_as_job(settings, file, command, heartbeat, url=url, api_key=api_key))


@app.command(rich_help_panel=COLLECT)
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


@app.command(rich_help_panel=OPERATE)
def rebuild(
    url: Url = None,
    database: Database = None,
    api_key: Key = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Rebuild the projection from the events, and compare.

    Events are read in reverse order. Exit code 1: the projections differ.

    With --database, the log's snapshots are deleted; the next start reads the whole log.

    Example: throughline rebuild --database lineage.db
    """
    from throughline.cli.rebuild import run_rebuild

    settings = settings_of(url, database, api_key)
    if not run_rebuild(settings, is_local=database is not None, as_json=as_json):
        raise typer.Exit(1)


app.command(rich_help_panel=OPERATE)(repair.repair)
