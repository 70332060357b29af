"""The command `unused`."""

from __future__ import annotations

from typing import Annotated

import typer

from headwater.console.client import query_command
from headwater.plugins.unused.printing import print_unused
from headwater.query.parameters import Cursor, Limit


@query_command("unused", print_unused, past=True, type="type_")
def unused(
    text: Annotated[str | None, typer.Argument(help="Part of a name. [all datasets]")] = None,
    days: Annotated[int, typer.Option(help="Days without a read.", min=1, max=3_650)] = 30,
    verdict: Annotated[str | None, typer.Option(help="Only unused or unknown ones.")] = None,
    owner: Annotated[str | None, typer.Option(help="Only those of this owner.")] = None,
    tag: Annotated[str | None, typer.Option(help="Only those with this tag.")] = None,
    type: Annotated[str | None, typer.Option(help="Only table, file, model, …")] = None,
    sort: Annotated[str, typer.Option(help="cost, name or read.")] = "cost",
    limit: Limit = 50,
    cursor: Cursor = None,
) -> None:
    """List datasets that are written and not read.

    The run time is that of the runs that wrote them in this time. Checks of a dataset do not count
    as reads. `unknown` means that a reader may not report; the reasons say which.

    Example: headwater unused --days 90 --verdict unused
    """


commands = typer.Typer()
commands.command(rich_help_panel="Trust")(unused)
