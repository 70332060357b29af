"""Commands about versions and incidents."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from headwater.console.client import Client, query_command, with_client
from headwater.plugins.incidents.printing import print_incident, print_taints, print_version
from headwater.query.parameters import Limit


@query_command("version", print_version, past=True)
def version(
    version: Annotated[
        str, typer.Argument(help="DATASET@VERSION, or a version alone if it is unique.")
    ],
    limit: Limit = 100,
) -> None:
    """Show who wrote and who read a version of a dataset.

    A version is an Iceberg snapshot, a model version or a file hash that runs reported. If none was
    reported, it is the id of the run that wrote it. DATASET@RUN also selects what a run wrote.

    Example: headwater version yellow_taxi_raw@8123456789012345678
    """


@query_command("incident", print_incident, past=True)
def incident(
    subject: Annotated[
        str,
        typer.Argument(
            help="DATASET@VERSION, the id of a run, or a dataset or job whose check fails."
        ),
    ],
    limit: Limit = 100,
) -> None:
    """Show the cause of bad data, who used it, and what to rerun.

    For a run, these are the versions whose checks failed in it or, if none failed, the versions
    that it wrote.

    Example: headwater incident yellow_taxi_raw@8123456789012345678
    """


@with_client(past=True)
def taint(
    client: Client,
    version: Annotated[
        str | None, typer.Argument(help="DATASET@VERSION, or a version alone. [list all]")
    ] = None,
    reason: Annotated[
        str | None, typer.Option(help="Why the version is bad, or why it is accepted again.")
    ] = None,
    clear: Annotated[bool, typer.Option("--clear", help="Accept the version again.")] = False,
) -> None:
    """Recall a bad version, so that gates refuse its data.

    Without VERSION, list the recalled versions. A gate fails for each dataset whose contents come
    from a recalled version, until the dataset is written again without it.

    Example: headwater taint yellow_taxi_raw@8123456789012345678 --reason "Fares in cents"
    """
    if version is None and (clear or reason is not None):
        raise typer.BadParameter("pass the version to recall or to clear, such as orders@1")
    if version is not None:
        if client.as_of or client.known_at:
            raise typer.BadParameter("--as-of and --known-at only apply to the list")
        if reason is None:
            raise typer.BadParameter("pass --reason: it is shown wherever the version is refused")
        if client.is_local:
            _store(client, version, reason, is_cleared=clear)
        else:
            body = {"version": version, "reason": reason, "isCleared": clear}
            client.request("/api/v2/taints", body)
    client.print("taints", {}, print_taints)


def _store(client: Client, version: str, reason: str, *, is_cleared: bool) -> None:
    """Write the recall of a version to the log of this machine, which `client` opens."""
    from headwater.plugins.incidents._taints import taint_entry
    from headwater.projection.live import Batch, Live

    with client.log() as log:
        live, now = Live(log), time.time_ns() // 1_000
        with live.reading() as state:
            entry = taint_entry(state, version, reason, now, log.redactor, is_cleared=is_cleared)
        live.ingest(Batch([entry]))


commands = typer.Typer()
for _command in (version, incident):
    commands.command(rich_help_panel="Query")(_command)
commands.command(rich_help_panel="Trust")(taint)
