"""The command `provenance`."""

from __future__ import annotations

from typing import Annotated

import typer

from headwater.console.client import query_command
from headwater.plugins.provenance.printing import print_provenance
from headwater.query.parameters import LevelName


@query_command("provenance", print_provenance, past=True)
def provenance(
    node: Annotated[str, typer.Argument(help="A dataset or a model: an id or a name.")],
    version: Annotated[
        str | None, typer.Option(help="A version, or the run that wrote it. [current contents]")
    ] = None,
    level: LevelName = "task",
) -> None:
    """List every run, input and code version that data comes from.

    The sources, which no known run wrote, come last.

    Example: headwater provenance TrainForecastModelFlow/model --json
    """


commands = typer.Typer()
commands.command(rich_help_panel="Query")(provenance)
