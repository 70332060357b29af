"""Print search results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from throughline.console.render import new_console

if TYPE_CHECKING:
    from throughline.search.models import SearchAnswer


def print_search(answer: SearchAnswer) -> None:
    """Print one matching node per line, and what matched unless it is the name."""
    console = new_console()
    hits = answer["items"]
    if any(hit["isFuzzy"] for hit in hits):
        console.print(Text("No exact match. Similar:", style="dim"))
    for hit in hits:
        line = Text(hit["name"], "bold" if hit["type"] == "job" else "cyan")
        line.append(f"  ({hit['namespace']})", "dim")
        if hit["matched"] != "name":
            line.append(f"  {hit['matched']} {hit['text']}", "yellow")
        console.print(line)
    if not hits:
        console.print("No matches.")
