"""Print aliases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from throughline.console.render import dataset_text, new_console

if TYPE_CHECKING:
    from throughline.aliases.models import AliasPair
    from throughline.query.models import Page


def print_aliases(answer: Page[AliasPair]) -> None:
    """Print one pair of joined names per line, with the day on which they were joined."""
    console = new_console()
    for pair in answer["items"]:
        names = (dataset_text(name["name"], name) for name in (pair["one"], pair["other"]))
        since = (pair["since"] or "unknown")[:10]
        console.print(Text(" = ").join(names).append(f"  since {since}", "dim"))
    if not answer["items"]:
        console.print("No manual aliases.")
