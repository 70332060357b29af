"""Print tags and tagged columns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.text import Text

from headwater.console.render import (
    print_line,
    print_table,
)
from headwater.text import tag_label

if TYPE_CHECKING:
    from headwater.plugins.tags._tagged import TaggedAnswer, TaggedDataset
    from headwater.query.models import DatasetTag, FieldRef, Page


def print_tags(answer: Page[DatasetTag]) -> None:
    """Print one tag per line, with the column it comes from if that is another one."""
    rows = []
    for tag in answer["items"]:
        column = _column(tag["name"], tag["field"])
        origin = _column(tag["from"]["name"], tag["from"]["field"])
        label = Text(tag_label(tag["key"], tag["value"]), "yellow")
        source = Text.assemble(("from ", "dim"), origin) if origin != column else Text()
        rows.append((column, label, source))
    print_table(rows, empty="No matching tags.")


def print_tagged(answer: TaggedAnswer) -> None:
    """Print the counts, then one column per line, with the path of its tag."""
    counts = answer["counts"]
    if not any(counts.values()):
        print_line("No column with this tag.")
        return
    print_line(", ".join(f"{name} {count:,}" for name, count in counts.items()))
    rows = [
        (
            _column(item["name"], column["field"]),
            Text(column["status"], "yellow"),
            Text(_path_text(column["path"][:-1], " → "), "dim"),
        )
        for item in answer["items"]
        for column in item["columns"]
    ]
    print_table(rows, empty="No column with this status.")


def print_tagged_csv(items: Iterable[TaggedDataset]) -> None:
    """Print one column per line as CSV."""
    import csv
    import sys

    rows = csv.writer(sys.stdout)
    rows.writerow(("namespace", "dataset", "column", "status", "owners", "path"))
    for item in items:
        of, owners = (item["namespace"], item["name"]), ", ".join(item["owners"])
        for column in item["columns"]:
            path = _path_text(column["path"], " > ")
            cells = (*of, column["field"] or "", column["status"], owners, path)
            rows.writerow([_plain_cell(cell) for cell in cells])


def _plain_cell(text: str) -> str:
    """Return a cell that no spreadsheet reads as a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def _path_text(path: Iterable[FieldRef], arrow: str) -> str:
    return arrow.join(".".join(filter(None, (step["name"], step["field"]))) for step in path)


def _column(dataset: str, field: str | None) -> Text:
    return Text(dataset).append(f".{field}" if field else "", "cyan")
