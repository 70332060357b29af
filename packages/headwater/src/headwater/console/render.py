"""Print answers as trees, tables and lines, or as JSON.

On a terminal, text is colored and wrapped to its width. Elsewhere (pipes, files), an item is one
line, however long. Control characters in names are escaped.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.measure import Measurement
from rich.segment import Segment
from rich.text import Text

from headwater.text import duration_of, escaped, json_of

if TYPE_CHECKING:
    from headwater.query.models import Name
    from headwater.redaction import Redactor  # slow to import

Node = TypeVar("Node")
MARKS = {"+": "green", "-": "red", "~": "yellow"}
_TIME = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_UNLIMITED = 1_000_000  # columns
_INDENT, _LEAST_WIDTH = 4, 40  # columns of a tree's guide, and of the text of a node


class SafeConsole(Console):
    """A console that escapes control characters in every text, also within tables.

    Line ends are escaped too unless they are in `keep`, so that a name cannot add a line.
    """

    def __init__(self, *, keep: str = "", **options: Any) -> None:
        self._keep = keep
        super().__init__(**options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Render a text without its control characters."""
        if isinstance(renderable, Text):
            renderable = _escaped_text(renderable, self._keep)
        return super().render(renderable, options)

    def render_str(self, text: str, **options: Any) -> Text:
        """Turn a string into a text; rich also does so to measure the cells of a table."""
        return _escaped_text(super().render_str(text, **options), self._keep)


class SafeFormatter(logging.Formatter):
    """A log formatter: one line per record, with secrets masked, then any traceback."""

    def __init__(self, format_: str, redactor: Redactor) -> None:
        super().__init__(format_)
        self._redactor = redactor

    def formatMessage(self, record: logging.LogRecord) -> str:  # logging's name
        """Format the message of a record."""
        record.message = self._redacted(record.message)
        return super().formatMessage(record)

    def formatException(self, ei: Any) -> str:  # logging's name
        """Format a traceback."""
        return self._redacted(super().formatException(ei), keep="\n")

    def _redacted(self, text: str, *, keep: str = "") -> str:
        return escaped(self._redactor.redact_text(text), keep=keep)


def _escaped_text(text: Text, keep: str = "") -> Text:
    """Return a text with its styles, escaped except for the characters in `keep`."""
    if text.plain.isprintable():
        return text
    result = text.blank_copy()
    for index, char in enumerate(text.plain):
        part = text[index]
        if not (char.isprintable() or char in keep):
            spans = part.spans
            part.plain = escaped(char)
            part.spans = [span._replace(end=len(part.plain)) for span in spans]
        result.append_text(part)
    return result


def print_json(answer: object) -> None:
    """Print an answer as JSON."""
    sys.stdout.write(json_of(answer, indent=2) + "\n")


def print_line(text: str, *, is_error: bool = False) -> None:
    """Print text without style, to stderr if `is_error`."""
    stream = sys.stderr if is_error else sys.stdout
    stream.write(escaped(text, keep="\n\t") + "\n")
    stream.flush()


def log_to_stderr(redactor: Redactor) -> None:
    """Log to stderr with time and level, from the level INFO on."""
    handler = logging.StreamHandler()
    handler.setFormatter(SafeFormatter("%(asctime)s %(levelname)s %(message)s", redactor))
    logging.basicConfig(handlers=[handler])
    logging.getLogger("headwater").setLevel(logging.INFO)


class _Line:
    """A text that is broken at its double spaces, so that a time or an id stays on one line.

    A part that is longer than a line is broken at a space, or else after `.`, `/` or `_`.
    """

    def __init__(self, text: Text) -> None:
        self._text = _escaped_text(text)  # also for rich to measure it

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement.get(console, options, self._text)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        """Yield the line, broken at double spaces if it is too long; rich calls this."""
        if self._text.cell_len <= options.max_width:
            yield self._text
            return
        line, *parts = self._text.split("  ")
        for part in parts:
            longer = Text.assemble(line, "  ", part)
            if line and longer.cell_len > options.max_width:
                yield from _folded(line, options.max_width)
                line = part
            else:
                line = longer
        yield from _folded(line, options.max_width)


def _folded(text: Text, width: int) -> Iterator[Text]:
    """Yield the lines of a text of at most `width` columns.

    A line ends at the last space, or else after the last `.`, `/` or `_`, or else anywhere.
    """
    while text.cell_len > width:
        end = re.match(r".*\S |.*[./_]", text.plain[:width])
        line, text = text.divide([end.end() if end else width])
        yield line
    yield text


def _breakable(item: RenderableType) -> RenderableType:
    """Return a text, or each text of a group, as one that is broken at its double spaces."""
    if isinstance(item, Group):
        return Group(*map(_breakable, item.renderables))
    return _Line(item if isinstance(item, Text) else Text(str(item)))


def new_console() -> Console:
    """Return a console that wraps lines on a terminal only."""
    console = SafeConsole(highlight=False)
    if not console.file.isatty():
        console.width = _UNLIMITED
    return console


def print_table(
    rows: Iterable[Sequence[RenderableType]], *, lead: int = 0, empty: str = ""
) -> None:
    """Print rows as columns separated by two spaces, or the text `empty` if there are none.

    On a terminal, the first `lead` columns keep their width and the others are wrapped.
    """
    from rich.table import Table  # slow to import

    table = Table.grid(padding=(0, 2, 0, 0))
    for row in list(rows) or [(empty,)]:
        while len(table.columns) < len(row):
            table.add_column(no_wrap=len(table.columns) < lead, overflow="fold")
        table.add_row(*map(_breakable, row))
    console = new_console()
    for line in Segment.split_lines(console.render(table)):
        text = Text.assemble(*((segment.text, segment.style or "") for segment in line))
        text.rstrip()  # the padding of the last columns
        console.print(text, soft_wrap=True)


def print_tree(
    root: Node,
    children_of: Callable[[Node], Sequence[Node]],
    label_of: Callable[[Node], RenderableType],
) -> None:
    """Print a tree, one node per line.

    `label_of` returns the line of a node. The console is widened for deep trees, so that each node
    has at least 40 columns.
    """
    from rich.tree import Tree  # slow to import

    console = new_console()
    tree = Tree(_breakable(label_of(root)), guide_style="dim")
    open_ = [(root, tree, 1)]
    while open_:
        node, branch, depth = open_.pop()
        console.width = max(console.width, depth * _INDENT + _LEAST_WIDTH)
        for child in children_of(node):
            open_.append((child, branch.add(_breakable(label_of(child))), depth + 1))
    console.print(tree)


def dataset_text(dataset: Name) -> Text:
    """Return the name and the namespace of a dataset."""
    return Text.assemble((dataset["name"], "cyan"), (f"  ({dataset['namespace']})", "dim"))


_DBT_JOB = re.compile(
    r"[^.]+(?:\.[^.]+)+?\.(?P<model>[^.]+(?:\.v\d+)?)\.build\.(?P<kind>run|test|snapshot|seed)"
    r"|(?:[^.]+\.){3,}(?P<name>[^.]+)\.(?P<command>test|snapshot|seed)"
)
"""The names of dbt jobs: those of `dbt build`, and those of other dbt commands."""


def job_title(name: str) -> str:
    """Return the title of a job as on the page: for a dbt job, the name of its model."""
    match = _DBT_JOB.fullmatch(name)
    if match is None:
        return name
    model = match["model"] or match["name"]
    return f"{model} tests" if "test" in (match["kind"], match["command"]) else model


def job_text(job: Name) -> Text:
    """Return the name of a job; for a dbt job, the name of its model and then the full name.

    The answer has the full name, which other commands accept.
    """
    title = job_title(job["name"])
    rest = "" if title == job["name"] else f"  ({job['name']})"
    return Text.assemble((title, "bold"), (rest, "dim"))


def localized(text: str) -> str:
    """Replace the UTC times in a text by local ones."""
    return _TIME.sub(lambda match: moment_of(match[0]), text)


def present() -> datetime:
    """Return the current time, in the local time zone."""
    return datetime.now().astimezone()


_PRESENT: ContextVar[Callable[[], datetime]] = ContextVar("present", default=present)


def count_ages_to(moment: Callable[[], datetime]) -> None:
    """Set the time to which ages are counted; an answer about the past has ages as of then.

    `moment` is only called if an age is printed.
    """
    _PRESENT.set(moment)


def age_of(text: str) -> str:
    """Return the time since an ISO 8601 text, such as `6 days`; see `count_ages_to`."""
    age = _PRESENT.get()() - datetime.fromisoformat(text)
    return duration_of(max(0, int(age.total_seconds() * 1_000)))


def moment_of(text: str) -> str:
    """Return the local time of an ISO 8601 text, with the date unless it is today."""
    moment = datetime.fromisoformat(text).astimezone()
    is_today = moment.date() == datetime.now().astimezone().date()
    return f"{moment:%H:%M:%S}" if is_today else f"{moment:%Y-%m-%d %H:%M:%S}"
