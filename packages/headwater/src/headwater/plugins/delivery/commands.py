"""`headwater deliver` and `headwater backends`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

import typer

from headwater.console.client import AsJson, Client, with_client
from headwater.console.render import log_to_stderr, moment_of, print_json, print_line
from headwater.errors import how_to_install
from headwater.text import counted, escaped

if TYPE_CHECKING:
    from headwater.plugins.delivery._loss import Loss
    from headwater.plugins.delivery.models import BackendInfo
    from headwater.settings import Settings

backends = typer.Typer(
    help="""Compare the facts that backends can store.

    Example: headwater backends loss events/
    """,
    no_args_is_help=True,
)


@with_client()
def deliver(
    client: Client,
    config: Annotated[Path | None, typer.Option(help="YAML file of the backends.")] = None,
    once: Annotated[bool, typer.Option("--once", help="Stop after the existing events.")] = False,
    status: Annotated[bool, typer.Option("--status", help="Show the state of backends.")] = False,
    retry: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Deliver dead letters of a backend again."),
    ] = None,
) -> None:
    """Deliver the events of a log to other backends.

    Runs until stopped, unless --once is given. `serve --deliver` does the same within a server.

    Example: headwater deliver --config deliver.yaml --once --database lineage.db
    """
    if retry is not None:
        retried = _retry(client, retry)["retried"]
        print_line(f"{retry}: {counted(retried, 'dead letter')} queued again")
    elif status:
        client.show(_statuses(client), _print_statuses)
    elif once:
        _deliver_once(client.settings_with(deliver=config))
    else:
        from headwater.plugins.delivery._service import deliver_until_stopped
        from headwater.redaction import Redactor

        settings = client.settings_with(deliver=config)
        log_to_stderr(Redactor.of(settings.redact))
        deliver_until_stopped(settings)


def _retry(client: Client, name: str) -> Any:
    """Send the dead letters of a backend again, by the server or in the log of this machine."""
    if not client.is_local:
        path = f"/api/v2/deliver/{quote(name, safe='')}/retry"
        return client.request(path, method="POST")
    from headwater.plugins.delivery._store import Deliveries

    with client.log() as log:
        return Deliveries(log, name).retry()


def _statuses(client: Client) -> Any:
    if not client.is_local:
        return client.request("/api/v2/deliver")
    from headwater.plugins.delivery._store import delivery_statuses

    with client.log() as log:
        return delivery_statuses(log)


def _print_statuses(statuses: list[BackendInfo]) -> None:
    """Print one line per backend, and one per recent dead letter."""
    for status in statuses:
        parts = [status["backend"], f"lag {status['lag']}", f"dead letters {status['deadLetters']}"]
        if status["isFailing"] and status["errorAt"]:
            parts.append(f"failing since {moment_of(status['errorAt'])}: {status['error']}")
        print_line(escaped("  ".join(parts)))  # escapes the line breaks of an error
        for letter in status["newestDeadLetters"]:
            print_line(escaped(f"  event {letter['seq']}: {letter['reason']}"))
    if not statuses:
        print_line("No deliveries yet.")


def _deliver_once(settings: Settings) -> None:
    """Deliver the existing events; exit with 1 if some were not delivered."""
    from headwater.plugins.delivery._service import deliver_once

    has_failed = False
    for forwarder, error in deliver_once(settings):
        if error:
            print_line(escaped(f"{forwarder.name}: {error}"), is_error=True)
        message = f"{forwarder.name}: {forwarder.delivered} delivered"
        if forwarder.rejected:
            letters = counted(forwarder.rejected, "dead letter")
            message += f", {letters}: {settings.program} deliver --status"
        print_line(message, is_error=True)  # backends of the type console write to stdout
        has_failed = has_failed or bool(error or forwarder.rejected)
    if has_failed:
        raise typer.Exit(1)


@backends.callback()
def _backends() -> None:
    """Make the app a group although it has one command."""


@backends.command()
def loss(
    paths: Annotated[list[str], typer.Argument(help="Files, folders, or - for stdin.")],
    as_json: AsJson = False,
) -> None:
    """Show which facts arrive at each kind of backend, and which are lost.

    Nothing is sent. Exit code 1: there was no event.

    Example: headwater backends loss events/
    """
    from dataclasses import asdict

    from headwater.collect.files import read_files
    from headwater.plugins.delivery._loss import losses
    from headwater.plugins.delivery.rewrite._datahub import is_emitter_installed
    from headwater.redaction import Redactor
    from headwater.settings import resolve

    redactor = Redactor.of(resolve().redact)
    entries = [entry for _, lines in read_files(paths, redactor) for entry in lines.entries]
    found = losses(entries)
    if as_json:
        print_json([asdict(loss) for loss in found])
    else:
        _print_losses(found)
    if not is_emitter_installed():
        print_line(
            "datahub is counted without its emitter: acryl-datahub is not installed."
            f" {how_to_install('datahub')}",
            is_error=True,
        )
    if not entries:
        print_line(f"no events found in {', '.join(paths)}", is_error=True)
        raise typer.Exit(1)


def _print_losses(losses: list[Loss]) -> None:
    """Print a Markdown table of the facts that arrive: all, their number, or none."""
    rows = [["kind", "reported", *(losses[0].arrived if losses else ())]]
    for loss in losses:
        shown = ("all" if n == loss.reported else str(n or "–") for n in loss.arrived.values())
        rows.append([loss.kind, str(loss.reported), *shown])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rows.insert(1, ["-" * width for width in widths])
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print_line(f"| {' | '.join(cells)} |")


commands = typer.Typer()
commands.command(rich_help_panel="Collect")(deliver)
commands.add_typer(backends, name="backends", rich_help_panel="Operate")
