"""`throughline ingest`: send the events of files to a server or a log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext

import orjson
from rich.text import Text

from throughline.collect.files import read_files
from throughline.collect.lines import Lines
from throughline.config import Settings
from throughline.console.printable import escaped
from throughline.console.render import print_line
from throughline.console.source import request
from throughline.console.terminal import SafeConsole
from throughline.events import event_warnings
from throughline.log import EventLog
from throughline.projection.live import Batch, Live
from throughline.redaction import use_rules

Store = Callable[[Lines], tuple[int, int]]
"""Stores the events of lines; returns the numbers of stored events and of duplicates."""

_LARGEST_ARRAY = 8 * 1024 * 1024  # characters
_MAX_EVENTS = 1_000  # of an array


def run_ingest(settings: Settings, paths: Sequence[str], *, is_local: bool) -> bool:
    """Ingest the events of files and print a summary, on a terminal also the progress.

    Returns:
        True if there were events and none was rejected.
    """
    use_rules(settings.redact)
    counts = Counter(stored=0, duplicates=0, warnings=0, rejected=0)
    reasons: list[str] = []
    console = SafeConsole(stderr=True)
    with (
        opened_store(settings, is_local=is_local) as store,
        console.status("") if console.is_terminal else nullcontext() as status,
    ):
        for source, lines in read_files(paths):
            new, old = store(lines)
            warnings = sum(_has_warnings(entry.body) for entry in lines.entries)
            rejected = lines.rejected + lines.unread
            counts.update(stored=new, duplicates=old, warnings=warnings, rejected=rejected)
            reasons += [f"{item.source}: {item.reason}" for item in lines.rejected_lines]
            if status is not None:
                status.update(Text(f"{_summary(counts)}  {source}"))
    print_line(_summary(counts))
    for reason in reasons[:20]:
        print_line(f"  {escaped(reason)}", is_error=True)
    if not counts.total():
        print_line(f"no events found in {', '.join(paths)}", is_error=True)
    return counts.total() > 0 and not counts["rejected"]


def _summary(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in counts.items())


def _has_warnings(body: str) -> bool:
    return any(True for _ in event_warnings(orjson.loads(body)))


@contextmanager
def opened_store(settings: Settings, *, is_local: bool) -> Iterator[Store]:
    """Open the log of the settings, or their server, for storing events."""
    if not is_local:
        yield _into_server(settings)
        return
    with closing(EventLog(settings.database)) as log:
        yield _into_log(Live(log))


def _into_log(live: Live) -> Store:
    def store(lines: Lines) -> tuple[int, int]:
        receipt = live.ingest(Batch(lines.entries, lines.rejected_lines))
        return receipt.stored, receipt.duplicates

    return store


def _into_server(settings: Settings) -> Store:
    def store(lines: Lines) -> tuple[int, int]:
        stored = duplicates = 0
        for bodies in _portions(entry.body for entry in lines.entries):
            body = "[" + ",".join(bodies) + "]"
            answer = request(settings, "/api/v1/lineage", body.encode())
            stored += answer["stored"]
            duplicates += answer["duplicates"]
        return stored, duplicates

    return store


def _portions(bodies: Iterable[str]) -> Iterator[list[str]]:
    """Yield bodies in arrays small enough for a server."""
    portion: list[str] = []
    size = 0
    for body in bodies:
        if portion and (size + len(body) > _LARGEST_ARRAY or len(portion) == _MAX_EVENTS):
            yield portion
            portion, size = [], 0
        portion.append(body)
        size += len(body)
    if portion:
        yield portion
