"""The command `ingest`."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext
from itertools import chain, islice
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from headwater.console.client import Client, with_client
from headwater.console.render import SafeConsole, print_line
from headwater.text import escaped

if TYPE_CHECKING:
    from headwater.collect.event_warnings import EventWarning

_SHOWN = 20  # reasons of rejected lines
_WARNINGS = 3  # warnings that differ


@with_client(as_json=False)
def ingest(
    client: Client,
    paths: Annotated[list[str], typer.Argument(help="Files, folders, or - for stdin.")],
) -> None:
    """Ingest the events of files, folders or stdin.

    Accepts JSON Lines, single events, arrays, and logs that contain events, also with gzip.
    Exit code 1: there was no event, or one was rejected.

    Example: headwater ingest events/ --database lineage.db
    """
    from headwater.collect.files import read_files
    from headwater.collect.store import first_warnings, opened_store
    from headwater.redaction import Redactor

    counts = Counter(stored=0, duplicates=0, warnings=0, rejected=0)
    reasons: list[str] = []
    warnings: list[EventWarning] = []
    contents = read_files(paths, Redactor.of(client.settings.redact))
    first = list(islice(contents, 1))  # before the log is created: a file may be damaged
    console = SafeConsole(stderr=True)
    with (
        opened_store(client.settings, is_local=client.is_local) as store,
        console.status("") if console.is_terminal else nullcontext() as status,
    ):
        for source, lines in chain(first, contents):
            new, old = store(lines)
            rejected = lines.rejected + lines.unread
            found = first_warnings(lines.entries)
            warnings = list(dict.fromkeys([*warnings, *found]))[:_WARNINGS]
            counts.update(stored=new, duplicates=old, warnings=len(found), rejected=rejected)
            reasons += [f"{item.source}: {item.reason}" for item in lines.rejected_lines]
            if status is not None:
                status.update(Text(f"{_summary(counts)}  {source}"))
    print_line(_summary(counts))
    for reason in reasons[:_SHOWN]:
        print_line(f"  {escaped(reason)}", is_error=True)
    for warning in warnings:
        text = f"{warning.path}: received {warning.received}, expected {warning.expected}"
        print_line(f"  warning: {escaped(text)}", is_error=True)
    if counts["warnings"] > len(warnings):
        print_line("  All warnings: GET /api/v2/events/warnings of a server", is_error=True)
    if not counts.total():
        print_line(f"no events found in {', '.join(paths)}", is_error=True)
    if not counts.total() or counts["rejected"]:
        raise typer.Exit(1)


def _summary(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in counts.items())
