"""`headwater harvest`: import lineage, with one command per harvester."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from headwater.console.client import Database, Key, Url, settings_of, time_of
from headwater.errors import ConfigError

if TYPE_CHECKING:
    from headwater.events import JobRef
    from headwater.plugins.harvest.harvester import Harvester
    from headwater.settings import Settings


@dataclass(frozen=True, kw_only=True)
class _Options:
    """The options of all harvesters."""

    since: Annotated[
        str | None, typer.Option(help="Earliest event: 2026-11-21T08:30 or 08:30.")
    ] = None
    from_start: Annotated[bool, typer.Option("--from-start", help="Ignore the last position.")] = (
        False
    )
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Store nothing.")] = False
    url: Url = None
    database: Database = None
    api_key: Key = None


class _Harvesters(TyperGroup):
    """One command for each harvester, also of other packages, created when it is needed."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all harvesters."""
        from headwater.plugin import parts

        return list(parts("harvesters"))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command of a harvester: its own options and the common ones.

        `cmd_name` is the name that the user typed. Return None if there is no such harvester.
        """
        from headwater.plugins.harvest.harvester import load_harvester

        create = load_harvester(cmd_name)
        if create is None:
            return None
        own, common = _command(create), _command(_Options)
        program = ctx.find_root().info_name if ctx else "headwater"

        def run(**values: Any) -> None:
            options = {item.name: values.pop(item.name) for item in common.params}
            _run(lambda: own.callback(**values), common.callback(**options))

        return TyperCommand(
            cmd_name,
            callback=run,
            params=[*own.params, *common.params],
            help=own.help.replace("Example: headwater ", f"Example: {program} "),
            rich_markup_mode=None,
        )


app = typer.Typer(
    cls=_Harvesters,
    help="""Import lineage from logs and catalogs.

    Example: headwater harvest spark-logs logs/ --dry-run
    """,
    no_args_is_help=True,
)


def _command(function: Callable[..., Any]) -> Any:
    """Return the click command of a function."""
    single = typer.Typer(rich_markup_mode=None, add_completion=False)
    single.command()(function)
    return typer.main.get_command(single)


def _run(create: Callable[[], Harvester], options: _Options) -> None:
    """Import and show the summary: after storing with `yes`, else before, with a confirmation.

    `create` returns the harvester with its own options; it may raise ConfigError.
    """
    from headwater.collect.store import opened_store
    from headwater.console.render import print_line
    from headwater.plugins.harvest._run import Harvest, State
    from headwater.plugins.harvest.harvester import JoinsRuns
    from headwater.plugins.harvest.printing import print_summary
    from headwater.redaction import Redactor

    if not (options.yes or options.dry_run or sys.stdin.isatty()):
        raise ConfigError(
            "stdin is not a terminal: pass --yes to store without confirmation, or --dry-run"
        )
    if options.yes and options.dry_run:
        raise ConfigError("received --yes and --dry-run, expected only one of them")
    settings = settings_of(url=options.url, database=options.database, api_key=options.api_key)
    is_local = options.database is not None
    target = settings.database if is_local else settings.url
    harvester = create()
    if isinstance(harvester, JoinsRuns) and not options.dry_run:
        harvester = harvester.joining(partial(_runs_of, settings, is_local))
    state = State.of(settings.harvests, harvester.source, target, is_reset=options.from_start)
    harvest = Harvest(
        harvester, state, Redactor.of(settings.redact), time_of(options.since, "--since")
    )
    if options.yes:
        with opened_store(settings, is_local=is_local) as store:
            print_summary(harvest.store(store))
    else:
        with tempfile.TemporaryFile() as buffer:
            print_summary(harvest.count(None if options.dry_run else buffer))
            if options.dry_run:
                return
            if harvest.summary.new and not typer.confirm(f"Store the new events in {target}?"):
                print_line("Nothing was stored.")
                return
            with opened_store(settings, is_local=is_local) as store:
                harvest.store_from(buffer, store)
    stored = harvest.summary.stored
    print_line(f"stored {stored['taken']}, duplicates {stored['repeated']}")


def _runs_of(settings: Settings, is_local: bool, own_id: str) -> list[tuple[JobRef, str]]:
    """Return the runs of the target that have an id in their orchestrator.

    `own_id` is the id in the orchestrator, such as dbt's invocation. Without an answer, the list is
    empty and a warning is printed.
    """
    from headwater.console.render import print_line
    from headwater.console.source import every, open_source
    from headwater.errors import HeadwaterError, LogError
    from headwater.events import JobRef

    source = open_source(settings, is_local=is_local)
    try:
        items = list(every(source, "runs", {"own_id": own_id}))
    except LogError:  # there is no log yet
        return []
    except HeadwaterError as error:
        reason = f"cannot read the runs of the target ({error})"
        effect = "runs that dbt-ol reported are stored a second time"
        print_line(f"warning: {reason}: {effect}", is_error=True)
        return []
    return [(JobRef(i["job"]["namespace"], i["job"]["name"]), i["runId"]) for i in items]


commands = typer.Typer()
commands.add_typer(app, name="harvest", rich_help_panel="Collect")
