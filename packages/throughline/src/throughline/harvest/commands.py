"""`throughline harvest`: import lineage, with one command per source."""

from __future__ import annotations

import functools
import inspect
import sys
import tempfile
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from throughline.console.client import Database, Key, Url, moment, settings_of
from throughline.errors import ConfigError

if TYPE_CHECKING:
    from throughline.harvest.harvester import Harvester
    from throughline.harvest.summary import Summary

app = typer.Typer(
    help="""Import lineage from logs and catalogs.

    Example: throughline harvest spark-logs logs/ --dry-run
    """,
    no_args_is_help=True,
)

Paths = Annotated[list[Path], typer.Argument(help="Files or folders.")]
Region = Annotated[str | None, typer.Option(help="AWS region. [boto3's]")]
Streams = Annotated[str, typer.Option(help="Prefix of the log streams to read.")]
Profile = Annotated[str | None, typer.Option(help="AWS profile. [boto3's]")]

_ROWS, _NAMES = 40, 3
_PIPE_WIDTH = 1_000  # columns

_OPTIONS = {
    "since": (
        Annotated[str | None, typer.Option(help="Earliest event: 2026-11-21T08:30 or 08:30.")],
        None,
    ),
    "from_start": (
        Annotated[bool, typer.Option("--from-start", help="Ignore the last position.")],
        False,
    ),
    "yes": (Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")], False),
    "dry_run": (
        Annotated[bool, typer.Option("--dry-run", help="Store nothing.")],
        False,
    ),
    "url": (Url, None),
    "database": (Database, None),
    "api_key": (Key, None),
}


def _harvests(command: Callable[..., Harvester]) -> Callable[..., None]:
    """Turn a function that returns a harvester into a command with the common options."""
    hints = get_type_hints(command, localns={"Harvester": Any}, include_extras=True)
    own = [
        parameter.replace(annotation=hints[parameter.name])
        for parameter in inspect.signature(command).parameters.values()
    ]
    common = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)
        for name, (hint, default) in _OPTIONS.items()
    ]

    @functools.wraps(command)
    def run(**values: Any) -> None:
        options = {name: values.pop(name) for name in _OPTIONS}
        _run(lambda: command(**values), **options)

    run.__signature__ = inspect.Signature([*own, *common])  # type: ignore[attr-defined]
    run.__annotations__ = {item.name: item.annotation for item in (*own, *common)}
    app.command()(run)
    return run


@_harvests
def spark_logs(paths: Paths) -> Harvester:
    """Import the events of Spark's console transport from log files, also with .gz.

    Example: throughline harvest spark-logs logs/ --yes
    """
    from throughline.harvest.logs import LogFiles

    return LogFiles("spark-logs", paths)


@_harvests
def airflow_logs(paths: Paths) -> Harvester:
    """Import the events of the console transport from logs of Airflow tasks.

    Example: throughline harvest airflow-logs logs/ --since 2026-11-01 --dry-run
    """
    from throughline.harvest.logs import LogFiles

    return LogFiles("airflow-logs", paths)


@_harvests
def dbt(
    project: Annotated[Path, typer.Argument(help="Folder of the project.")] = Path(),
    target_path: Annotated[
        Path | None, typer.Option(help="Folder of the artifacts. [the project's target/]")
    ] = None,
    profiles_dir: Annotated[Path | None, typer.Option(help="Folder of profiles.yml.")] = None,
    dbt_profile: Annotated[
        str | None, typer.Option("--profile", help="dbt's profile. [the project's]")
    ] = None,
    target: Annotated[str | None, typer.Option(help="Its target. [the profile's]")] = None,
    namespace: Annotated[
        str, typer.Option(envvar="OPENLINEAGE_NAMESPACE", help="Namespace of the jobs.")
    ] = "dbt",
) -> Harvester:
    """Import the last run of a dbt project from its artifacts.

    Example: throughline harvest dbt rides/ --dry-run
    """
    from throughline.harvest.dbt import Dbt

    return Dbt(
        project,
        target_path=target_path,
        profiles=profiles_dir,
        profile=dbt_profile,
        target=target,
        namespace=namespace,
    )


@_harvests
def glue_job_logs(
    log_group: Annotated[
        str | None, typer.Option(help="Log group. [/aws-glue/jobs/error, which has stderr]")
    ] = None,
    streams: Streams = "",
    region: Region = None,
    profile: Profile = None,
) -> Harvester:
    """Import the events of Glue or EMR jobs from CloudWatch Logs.

    Example: throughline harvest glue-job-logs --log-group /aws-glue/jobs/logs-v2 --dry-run
    """
    return _find("glue-job-logs")(log_group, streams, region, profile)


@_harvests
def mwaa_logs(
    environment: Annotated[str, typer.Argument(help="Name of the environment.")],
    streams: Streams = "",
    region: Region = None,
    profile: Profile = None,
) -> Harvester:
    """Import the events of an MWAA environment from CloudWatch Logs.

    Example: throughline harvest mwaa-logs my-environment --dry-run
    """
    return _find("mwaa-logs")(environment, streams, region, profile)


@_harvests
def glue_tables(
    databases: Annotated[
        list[str] | None, typer.Argument(help="Names of Glue databases. [all]")
    ] = None,
    region: Region = None,
    profile: Profile = None,
) -> Harvester:
    """Import the tables, columns and crawlers of the Glue catalog.

    Example: throughline harvest glue-tables nyc_taxi --dry-run
    """
    return _find("glue-tables")(databases or [], region, profile)


@_harvests
def redshift(
    of: Annotated[str, typer.Argument(metavar="DATABASE", help="The database in Redshift.")],
    workgroup: Annotated[str | None, typer.Option(help="Serverless workgroup.")] = None,
    cluster: Annotated[str | None, typer.Option(help="Provisioned cluster.")] = None,
    db_user: Annotated[str | None, typer.Option(help="User of a cluster's database.")] = None,
    secret_arn: Annotated[str | None, typer.Option(help="Secret to log in with.")] = None,
    namespace: Annotated[
        str | None, typer.Option(help="Namespace of the tables. [of the workgroup or cluster]")
    ] = None,
    region: Region = None,
    profile: Profile = None,
) -> Harvester:
    """Import column lineage from the query history of a Redshift database.

    Example: throughline harvest redshift dev --workgroup analytics --dry-run
    """
    make = _find("redshift")
    return make(of, workgroup, cluster, db_user, secret_arn, namespace, region, profile)


def _find(kind: str) -> Callable[..., Harvester]:
    from throughline.harvest.harvester import find_harvester

    return find_harvester(kind)


def _run(
    make: Callable[[], Harvester],
    *,
    since: str | None,
    from_start: bool,
    yes: bool,
    dry_run: bool,
    url: str | None,
    database: str | None,
    api_key: str | None,
) -> None:
    from throughline.harvest.run import Harvest, State
    from throughline.redaction import use_rules

    if not (yes or dry_run or sys.stdin.isatty()):
        raise ConfigError(
            "stdin is not a terminal: pass --yes to store without confirmation, or --dry-run"
        )
    if yes and dry_run:
        raise ConfigError("received --yes and --dry-run, expected only one of them")
    settings = settings_of(url=url, database=database, api_key=api_key)
    use_rules(settings.redact)
    is_local = database is not None
    harvester = make()
    target = settings.database if is_local else settings.url
    state = State.of(settings.harvests, harvester.source, target, is_reset=from_start)
    harvest = Harvest(harvester, state, _time(since))
    if dry_run:
        _show(harvest.count())
        return
    from throughline.collect.store import opened_store
    from throughline.console.render import print_line

    if yes:
        with opened_store(settings, is_local=is_local) as store:
            harvest.store(store)
        _show(harvest.summary)
    else:
        with tempfile.TemporaryFile() as buffer:
            _show(harvest.count(buffer))
            if harvest.summary.new and not typer.confirm(f"Store the new events in {target}?"):
                print_line("Nothing was stored.")
                return
            with opened_store(settings, is_local=is_local) as store:
                harvest.store_from(buffer, store)
    stored = harvest.summary.stored
    print_line(f"stored {stored['taken']}, duplicates {stored['repeated']}")


def _show(summary: Summary) -> None:
    """Print a table of the jobs, the totals and the reasons of rejected lines."""
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from throughline.console.render import new_console, print_line
    from throughline.console.text import counted, escaped

    jobs = sorted(summary.jobs.items(), key=lambda item: (-item[1].new, -item[1].events, item[0]))
    if jobs:
        table = Table(box=box.SIMPLE, padding=(0, 1, 0, 0), pad_edge=False)
        table.add_column("job", overflow="fold", ratio=2)
        table.add_column("runs", justify="right")
        for side in ("inputs", "outputs"):
            table.add_column(side, overflow="fold", ratio=1)
        table.add_column("when", no_wrap=True)
        for number in ("events", "new"):
            table.add_column(number, justify="right")
        for (_, name), job in jobs[:_ROWS]:
            numbers = [str(job.events)], [str(job.new)]
            sides = _names(job.inputs), _names(job.outputs)
            span = [_local(job.first), _local(job.last)]
            cells = [[name or "(datasets only)"], [str(len(job.runs))], *sides, span, *numbers]
            table.add_row(*(Group(*map(Text, lines)) for lines in cells))
        console = new_console()
        if not console.is_terminal:
            console.width = _PIPE_WIDTH
        console.print(table)
    if len(jobs) > _ROWS:
        print_line(f"and {len(jobs) - _ROWS} more jobs")
    events = sum(job.events for _, job in jobs)
    print_line(f"events {events}, new {summary.new}, rejected {summary.refused}")
    if summary.older:
        print_line(
            f"{counted(summary.older, 'event')} before --since skipped, also in later harvests:"
            " --from-start reads everything"
        )
    for reason in summary.reasons:
        print_line(f"  {escaped(reason)}", is_error=True)


def _names(names: set[str]) -> list[str]:
    """Return the last parts of the first names, and the number of further ones."""
    shown = sorted(name.rstrip("/").rpartition("/")[2] for name in names)
    more = [f"and {len(shown) - _NAMES} more"] if len(shown) > _NAMES else []
    return shown[:_NAMES] + more


def _local(micros: int) -> str:
    from throughline.events import from_micros

    return f"{from_micros(micros).astimezone():%Y-%m-%d %H:%M}"


def _time(text: str | None) -> datetime | None:
    if text is None:
        return None
    from throughline.events import parse_time

    try:
        return parse_time(moment(text, "--since"))
    except (ValueError, OverflowError, ConfigError):
        raise ConfigError(
            f"--since: received {text!r}, expected a time such as 2026-11-21T08:30"
        ) from None
