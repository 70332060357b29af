"""The command `map`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from headwater.console.client import query_command
from headwater.console.render import print_table
from headwater.query.parameters import Cursor

if TYPE_CHECKING:
    from headwater.plugins.map._map import MapAnswer, ProblemCounts


def print_map(answer: MapAnswer) -> None:
    """Print one group or node per line, with its counts and problems."""
    rows = [
        (
            Text(item["label"] or "none", "cyan"),
            Text(f"({item['about']})" if item["about"] else "", "dim"),
            Text(f"{item['count']:,}" if item["kind"] not in ("dataset", "task") else ""),
            Text(_problems_text(item["problems"]), "red"),
        )
        for item in answer["items"]
    ]
    print_table(rows, empty="No datasets or jobs.")


def _problems_text(problems: ProblemCounts) -> str:
    """Return the numbers of problems as a text; empty without problems."""
    counts = (
        (problems["failed"], "failed"),
        (problems["failed_checks"], "failed checks"),
        (problems["blocked"], "blocked"),
        (problems["late"], "late"),
    )
    return ", ".join(f"{count:,} {name}" for count, name in counts if count)


@query_command("map", print_map)
def map(
    path: Annotated[
        list[str] | None, typer.Argument(help="Groups to open, such as hive. [all]")
    ] = None,
    by: Annotated[str, typer.Option(help="platform, owner or domain.")] = "platform",
    limit: Annotated[int, typer.Option(help="Maximum number of items.", min=1, max=200)] = 50,
    cursor: Cursor = None,
) -> None:
    """Count datasets and problems by platform, owner or domain.

    The levels are platforms, schemas and datasets; or owners or domains, pipelines and tasks. Name
    a group by its label. If several have this label, use "NAMESPACE SCHEMA" or
    job:NAMESPACE:NAME.

    Example: headwater map hive --by platform
    """


commands = typer.Typer()
for _command in (map,):
    commands.command(rich_help_panel="Query")(_command)
