"""`throughline backends`: what the kinds of backends make of events."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from throughline.delivery.loss import Loss

app = typer.Typer(
    help="""Compare what backends keep of events.

    Example: throughline backends loss events/
    """,
    no_args_is_help=True,
)


@app.callback()
def _top() -> None:
    """Make the app a group although it has one command."""


@app.command()
def loss(
    paths: Annotated[list[str], typer.Argument(help="Files, folders, or - for stdin.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show which facts arrive at each kind of backend, and which are lost.

    Nothing is sent. Exit code 1: there was no event.

    Example: throughline backends loss events/
    """
    from throughline.collect.files import read_files
    from throughline.console.render import print_json, print_line
    from throughline.delivery.loss import losses
    from throughline.delivery.rewrite.datahub_facts import is_emitter_installed

    entries = [entry for _, lines in read_files(paths) for entry in lines.entries]
    found = losses(entries)
    if as_json:
        print_json([asdict(loss) for loss in found])
    else:
        for line in _table(found):
            print_line(line)
    if not is_emitter_installed():
        told = "datahub is counted without its emitter: acryl-datahub is not installed"
        print_line(
            f"{told} (pip install './packages/throughline[datahub]', from a clone)", is_error=True
        )
    if not entries:
        print_line(f"no events found in {', '.join(paths)}", is_error=True)
        raise typer.Exit(1)


def _table(found: list[Loss]) -> list[str]:
    """Return a Markdown table with all, the number or none of the facts that arrive."""
    rows = [["kind", "reported", *(found[0].arrived if found else ())]]
    for loss in found:
        shown = ("all" if n == loss.reported else str(n or "–") for n in loss.arrived.values())
        rows.append([loss.kind, str(loss.reported), *shown])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rows.insert(1, ["-" * width for width in widths])
    return [
        f"| {' | '.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))} |"
        for row in rows
    ]
