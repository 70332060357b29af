"""A console and a log formatter that escape control characters in untrusted text."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from throughline.console.printable import escaped
from throughline.redaction import redact_text


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

    def formatMessage(self, record: logging.LogRecord) -> str:  # logging's name
        """Format the message of a record."""
        record.message = escaped(redact_text(record.message))
        return super().formatMessage(record)

    def formatException(self, ei: Any) -> str:  # logging's name
        """Format a traceback."""
        return escaped(redact_text(super().formatException(ei)), keep="\n")


def _escaped_text(text: Text, keep: str) -> Text:
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
