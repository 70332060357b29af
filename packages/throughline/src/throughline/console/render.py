"""Print answers as text, in colour on a terminal, or as JSON."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

from rich.console import Console
from rich.text import Text

from throughline.console.printable import escaped, json_of
from throughline.console.terminal import SafeConsole, SafeFormatter

if TYPE_CHECKING:
    from throughline.query.models import Name


Node = TypeVar("Node")
MARKS = {"+": "green", "-": "red", "~": "yellow"}
_TIME = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


def print_json(answer: object) -> None:
    """Print an answer as JSON."""
    sys.stdout.write(json_of(answer, indent=2) + "\n")


def print_line(text: str, *, is_error: bool = False) -> None:
    """Print text without style, to stderr if `is_error`."""
    stream = sys.stderr if is_error else sys.stdout
    stream.write(escaped(text, keep="\n\t") + "\n")
    stream.flush()


def log_to_stderr() -> None:
    """Log to stderr with time and level, from the level INFO on."""
    handler = logging.StreamHandler()
    handler.setFormatter(SafeFormatter("%(asctime)s %(levelname)s %(message)s"))
    logging.basicConfig(handlers=[handler])
    logging.getLogger("throughline").setLevel(logging.INFO)


def new_console() -> Console:
    """Return a console without wrapping, with colour only on a terminal and text escaped."""
    return SafeConsole(highlight=False, soft_wrap=True)


def walk(
    root: Node, children_of: Callable[[Node], Sequence[Node]]
) -> Iterator[tuple[Node, str, str]]:
    """Yield the nodes of a tree from top to bottom, with the guides before and below each."""
    stack = [(root, "", "")]
    while stack:
        node, lead, below = stack.pop()
        yield node, lead, below
        mark, rest = "└─ ", "   "
        for child in reversed(children_of(node)):
            stack.append((child, below + mark, below + rest))
            mark, rest = "├─ ", "│  "


def dataset_text(name: str, dataset: Name | None) -> Text:
    """Return the name of a dataset, with its namespace if `dataset` is given."""
    text = Text(name, "cyan")
    return text.append(f"  ({dataset['namespace']})" if dataset else "", "dim")


def localized(text: str) -> str:
    """Replace the UTC times in a text by local ones."""
    return _TIME.sub(lambda match: moment_of(match[0]), text)


def moment_of(text: str) -> str:
    """Return the local time of an ISO 8601 text, with the date unless it is today."""
    moment = datetime.fromisoformat(text).astimezone()
    is_today = moment.date() == datetime.now().astimezone().date()
    return f"{moment:%H:%M:%S}" if is_today else f"{moment:%Y-%m-%d %H:%M:%S}"
