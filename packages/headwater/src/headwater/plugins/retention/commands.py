"""`headwater prune`: delete old events from a log."""

from __future__ import annotations

import time
from contextlib import closing
from typing import Annotated

import typer

from headwater.console.client import AsJson, Database, settings_of
from headwater.console.render import print_json, print_line
from headwater.errors import ConfigError
from headwater.text import counted


def prune(
    keep: Annotated[
        str | None, typer.Option(help="Time to keep, such as 30d. [HEADWATER_KEEP]")
    ] = None,
    horizon: Annotated[
        str | None,
        typer.Option(help="Time to keep old runs of incremental loads. [HEADWATER_HORIZON]"),
    ] = None,
    database: Database = None,
    yes: Annotated[bool, typer.Option("--yes", help="Delete. [only count]")] = False,
    as_json: AsJson = False,
) -> None:
    """Delete old events that no current query needs.

    The current graph, column lineage and the provenance of every dataset do not change, nor does
    any state since that time. Restart a running server afterwards, or use `serve --keep`.

    An incremental load depends on all of its earlier runs, because it reads or keeps rows of its
    own table. With --horizon 400d, those that ended more than 400 days ago are deleted too. The
    provenance of the table then states when sources were deleted, and `headwater gate` fails for
    it unless the policy sets allow_deleted_sources.

    Example: headwater prune --keep 30d --database lineage.db
    """
    from headwater.events import shown_time
    from headwater.log import EventLog
    from headwater.plugins.retention.prune import plan
    from headwater.plugins.retention.prune import prune as delete

    settings = settings_of(keep=keep, horizon=horizon, database=database)
    if settings.keep is None:
        raise ConfigError("keep: missing value; pass --keep 30d or set HEADWATER_KEEP")
    now = time.time_ns() // 1_000
    cutoff = now - int(settings.keep.total_seconds() * 1e6)
    horizon_time = None
    if settings.horizon is not None:
        horizon_time = now - int(settings.horizon.total_seconds() * 1e6)
    with closing(EventLog.of(settings, must_exist=True)) as log:
        found = plan(log, cutoff, horizon=horizon_time)
        if yes:
            delete(log, found)
    if as_json:
        before = shown_time(cutoff)
        counts = {"events": len(found.seqs), "runs": len(found.runs)}
        print_json({"isDeleted": yes, "before": before, **counts})
        return
    done = "deleted" if yes else "can be deleted; nothing was changed: add --yes"
    events, runs = counted(len(found.seqs), "event"), counted(len(found.runs), "run")
    print_line(f"{events} of {runs} before {shown_time(cutoff)} {done}")


commands = typer.Typer()
commands.command(rich_help_panel="Operate")(prune)
