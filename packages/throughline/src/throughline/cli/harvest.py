"""`throughline harvest`: bring in lineage that nobody sent, by one command for each source."""

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

from throughline.cli.client import Database, Key, Url, moment
from throughline.config import resolve
from throughline.errors import ConfigError

if TYPE_CHECKING:
    from throughline.harvest import Harvester, Summary

app = typer.Typer(
    help="""Bring in lineage that nobody sent.

    Example: throughline harvest spark-logs logs/ --dry-run
    """,
    no_args_is_help=True,
)

Paths = Annotated[list[Path], typer.Argument(help="Files, or folders with such in them.")]
Region = Annotated[str | None, typer.Option(help="AWS region. [boto3's]")]
Streams = Annotated[str, typer.Option(help="Only log streams whose names begin so.")]
Profile = Annotated[str | None, typer.Option(help="AWS profile. [boto3's]")]

_ROWS, _NAMES = 40, 3
_UNBOUNDED = 1_000  # columns, where no terminal has an end

_OPTIONS = {
    "since": (
        Annotated[str | None, typer.Option(help="Only from then on: 2026-11-21T08:30, 08:30.")],
        None,
    ),
    "anew": (
        Annotated[bool, typer.Option("--anew", help="From the start, not from the last time on.")],
        False,
    ),
    "yes": (Annotated[bool, typer.Option("--yes", help="Do not ask.")], False),
    "dry_run": (Annotated[bool, typer.Option("--dry-run", help="Only show.")], False),
    "url": (Url, None),
    "database": (Database, None),
    "api_key": (Key, None),
}


def _harvests(command: Callable[..., Harvester]) -> Callable[..., None]:
    """Make a command of a function that makes a harvester: it has the options of every harvest."""
    hints = get_type_hints(command, localns={"Harvester": Any}, include_extras=True)
    own = [
        each.replace(annotation=hints[each.name])
        for each in inspect.signature(command).parameters.values()
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
    run.__annotations__ = {each.name: each.annotation for each in (*own, *common)}
    app.command()(run)
    return run


@_harvests
def spark_logs(paths: Paths) -> Harvester:
    """What Spark's console transport wrote into log files: stdout, stderr, *.log, also with .gz.

    Example: throughline harvest spark-logs logs/ --yes
    """
    from throughline.harvest.logs import LogFiles

    return LogFiles("spark-logs", paths)


@_harvests
def airflow_logs(paths: Paths) -> Harvester:
    """What the console transport wrote into the logs of Airflow's tasks.

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
        str, typer.Option(envvar="OPENLINEAGE_NAMESPACE", help="What jobs are under.")
    ] = "dbt",
) -> Harvester:
    """The last run of a dbt project: models, seeds, snapshots and tests, by its artifacts.

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
    """What Spark's console transport left of Glue's or EMR's jobs in CloudWatch Logs.

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
    """What the console transport left of an MWAA environment's tasks in CloudWatch Logs.

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
    """The tables of the Glue catalog with their columns, and the crawlers that made them.

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
        str | None, typer.Option(help="What tables are under. [by workgroup or cluster]")
    ] = None,
    region: Region = None,
    profile: Profile = None,
) -> Harvester:
    """The statements of a Redshift database's history that moved data, down to columns.

    Example: throughline harvest redshift dev --workgroup analytics --dry-run
    """
    make = _find("redshift")
    return make(of, workgroup, cluster, db_user, secret_arn, namespace, region, profile)


def _find(kind: str) -> Callable[..., Harvester]:
    from throughline.harvest import find_harvester

    return find_harvester(kind)


def _run(
    make: Callable[[], Harvester],
    *,
    since: str | None,
    anew: bool,
    yes: bool,
    dry_run: bool,
    url: str | None,
    database: str | None,
    api_key: str | None,
) -> None:
    from throughline.harvest import Harvest, State
    from throughline.log import use_rules

    if not (yes or dry_run or sys.stdin.isatty()):
        raise ConfigError(
            "harvest asks before it stores, and this is no terminal: give --yes, or --dry-run"
        )
    if yes and dry_run:
        raise ConfigError("received --yes and --dry-run, expected one of them")
    settings = resolve({"url": url, "database": database, "api_key": api_key})
    use_rules(settings.redact)
    is_local = database is not None
    harvester = make()
    target = settings.database if is_local else settings.url
    state = State.of(settings.harvests, harvester.source, target, is_reset=anew)
    harvest = Harvest(harvester, state, _time(since))
    if dry_run:
        _show(harvest.count())
        return
    from throughline.cli.ingest import opened_store
    from throughline.cli.render import print_line

    if yes:
        with opened_store(settings, is_local=is_local) as store:
            harvest.store(store)
        _show(harvest.summary)
    else:
        with tempfile.TemporaryFile() as aside:
            _show(harvest.count(aside))
            if harvest.summary.new and not typer.confirm(f"Store what is new at {target}?"):
                print_line("Nothing was stored.")
                return
            with opened_store(settings, is_local=is_local) as store:
                harvest.store_from(aside, store)
    stored = harvest.summary.stored
    print_line(f"taken {stored['taken']}, repeated {stored['repeated']}")


def _show(summary: Summary) -> None:
    """A table of what was found, and what was not understood."""
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from throughline.cli.render import new_console, print_line
    from throughline.printable import escaped
    from throughline.words import counted

    found = sorted(summary.jobs.items(), key=lambda item: (-item[1].new, -item[1].events, item[0]))
    if found:
        table = Table(box=box.SIMPLE, padding=(0, 1, 0, 0), pad_edge=False)
        table.add_column("job", overflow="fold", ratio=2)
        table.add_column("runs", justify="right")
        for side in ("inputs", "outputs"):
            table.add_column(side, overflow="fold", ratio=1)
        table.add_column("when", no_wrap=True)
        for number in ("events", "new"):
            table.add_column(number, justify="right")
        for (_, name), each in found[:_ROWS]:
            numbers = [str(each.events)], [str(each.new)]
            sides = _names(each.inputs), _names(each.outputs)
            when = [_local(each.first), _local(each.last)]
            cells = [[name or "(datasets alone)"], [str(len(each.runs))], *sides, when, *numbers]
            table.add_row(*(Group(*map(Text, lines)) for lines in cells))
        console = new_console()
        if not console.is_terminal:
            console.width = _UNBOUNDED
        console.print(table)
    if len(found) > _ROWS:
        print_line(f"and {len(found) - _ROWS} more jobs")
    events = sum(each.events for _, each in found)
    print_line(f"events {events}, new {summary.new}, not understood {summary.refused}")
    if summary.older:
        print_line(
            f"{counted(summary.older, 'event')} from before --since left out, also of harvests to"
            " come: --anew reads from the start"
        )
    for reason in summary.reasons:
        print_line(f"  {escaped(reason)}", is_error=True)


def _names(names: set[str]) -> list[str]:
    """Return the last parts of the first names, and the number of further ones."""
    shown = sorted(name.rstrip("/").rpartition("/")[2] for name in names)
    more = [f"and {len(shown) - _NAMES} more"] if len(shown) > _NAMES else []
    return shown[:_NAMES] + more


def _local(micros: int) -> str:
    from throughline.spec import from_micros

    return f"{from_micros(micros).astimezone():%Y-%m-%d %H:%M}"


def _time(text: str | None) -> datetime | None:
    if text is None:
        return None
    from throughline.spec import parse_time

    try:
        return parse_time(moment(text, "--since"))
    except (ValueError, OverflowError, ConfigError):
        raise ConfigError(
            f"--since: received {text!r}, expected a time such as 2026-11-21T08:30"
        ) from None
