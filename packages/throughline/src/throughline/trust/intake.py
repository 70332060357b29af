"""Problems of the intake: the spool folder, rejected lines and events with warnings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from throughline.console.text import counted
from throughline.errors import EventError
from throughline.events import event_warnings, load
from throughline.log import EventLog
from throughline.trust.findings import finding
from throughline.trust.models import Finding

_NEWEST = 1_000  # events that are searched for warnings
_PLACE = re.compile(r"[@:]\d+(\[\d+\])?$")  # place in a file
_FOLDER = "the spool folder"


class Spool(NamedTuple):
    """The state of the spool: unread bytes, those without a line end, and unreadable files."""

    lag: int = 0
    unended: int = 0
    stuck: Sequence[tuple[str, str]] = ()
    """Each file with the reason."""


def intake_findings(log: EventLog, spool: Spool) -> Iterator[Finding]:
    """Yield the problems of a spool, and the rejected lines of a log."""
    for file, reason in spool.stuck:
        remedy = "correct or remove the file; the other files of the folder are read"
        yield finding("unreadable file", file, reason, remedy)
    if spool.unended:
        message = f"the last line of a file is incomplete: {counted(spool.unended, 'byte')}"
        remedy = "its producer is still writing it or was killed: complete or remove the line"
        yield finding("spool", _FOLDER, message, remedy, severity="warning")
    if behind := max(spool.lag - spool.unended, 0):
        message = f"{counted(behind, 'byte')} not ingested"
        remedy = "check that `serve --spool` runs and can read the files; see its log"
        yield finding("spool", _FOLDER, message, remedy, severity="warning")
    if sources := [line.source for line in log.rejected_lines()]:
        files = sorted({_PLACE.sub("", source) for source in sources})
        message = f"{counted(len(sources), 'line')} rejected, from {', '.join(files[:3])}"
        remedy = "GET /api/v2/rejected lists the reasons; correct the producer"
        yield finding("rejected lines", _FOLDER, message, remedy)


def events_with_warnings(log: EventLog) -> int:
    """Return how many of the newest events have warnings."""
    return sum(_has_warnings(text) for _, text in log.latest(None, _NEWEST))


def _has_warnings(text: str) -> bool:
    try:
        body = load(text)
    except EventError:
        return False  # a damaged row, which is a separate finding
    return isinstance(body, dict) and any(True for _ in event_warnings(body))
