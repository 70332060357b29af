"""Print impact and paths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.text import Text

from headwater.console.render import (
    dataset_text,
    job_text,
    new_console,
    print_line,
    print_table,
)
from headwater.datasets.printing import removal_mark
from headwater.health.printing import health_mark
from headwater.lineage.printing import NO_NODES, column_source, column_text, tags_text
from headwater.runs.printing import run_text

if TYPE_CHECKING:
    from headwater.lineage import models
    from headwater.plugins.impact.models import PathAnswer


_VERDICTS = {
    "safe": ("Safe to drop", "bold green"),
    "unsafe": ("Not safe to drop", "bold red"),
    "unknown": ("Unknown if it is safe to drop", "bold yellow"),
}
_NO_COLUMN_IMPACT = (
    "No reported column takes values from this column. `impact` without a column lists all"
    " downstream nodes of the dataset."
)


def print_impact(answer: models.ImpactAnswer) -> None:
    """Print one affected node or column per line, after its distance."""
    console = new_console()
    if "drop" in answer:
        _print_verdict(answer["drop"])
    if answer["affected"]:
        head = Text("steps", "dim"), Text("node", "dim"), Text("latest run, tags, owners", "dim")
        print_table([head, *map(_affected_row, answer["affected"])], lead=1)
    else:
        console.print(_NO_COLUMN_IMPACT if "field" in answer else NO_NODES["down"])
    for reason in answer.get("unknown", ()):
        console.print(Text(f"Possibly affected: {reason['message']}", "yellow"))
    for title, nodes in (
        (
            "Filtered, joined, grouped or sorted by it, or computed from such rows",
            answer.get("indirect"),
        ),
        ("Possibly affected (no column lineage reported)", answer.get("possible")),
    ):
        if nodes:
            console.print()
            console.print(f"{title}:", style="bold")
            print_table(map(_affected_row, nodes), lead=1)


def _print_verdict(drop: models.DropVerdict) -> None:
    """Print whether a column can be dropped, and one reason per line."""
    console = new_console()
    title, style = _VERDICTS[drop["verdict"]]
    console.print(title, style=style)
    for reason in drop["reasons"]:
        console.print(Text(f"  {reason['message']}"))
    console.print()


def print_path(answer: PathAnswer) -> None:
    """Print one node per line, in the direction of the data."""
    if answer["isReversed"]:
        print_line("No path in this direction. The path in the other direction:")
    print_table(
        (
            Text("⇢ control" if node["isControl"] else "→" if index else "", "dim"),
            job_text(node) if node["type"] == "job" else dataset_text(node),
        )
        for index, node in enumerate(answer["path"])
    )


def _affected_row(node: models.AffectedNode) -> Sequence[RenderableType]:
    """Return a node or column as a row: distance, name and details."""
    if node["type"] == "column":
        text, details = column_text(node), column_source(node)
    elif node["type"] == "dataset":
        text, details = Text(node["name"], "cyan"), Text(f"  ({node['namespace']})", "dim")
    else:
        text, details = job_text(node), run_text(node["run"]) if node["run"] else Text()
    owners = f"  owned by {', '.join(node['owners'])}" if node["owners"] else ""
    details = Text.assemble(
        details,
        health_mark(node["health"]),
        (removal_mark(node["removal"]), "yellow"),
        tags_text(node),
        (owners, "yellow"),
    )
    return Text(str(node["distance"]), "dim", justify="right"), text, details[2:]
