"""`throughline ingest`: files into a server or straight into a log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext

import orjson
from rich.text import Text

from throughline.cli.render import print_line
from throughline.cli.source import request
from throughline.collect import Lines, read_files
from throughline.config import Settings
from throughline.log import EventLog, use_rules
from throughline.printable import escaped
from throughline.projection.live import Batch, Live
from throughline.spec import event_warnings
from throughline.terminal import SafeConsole

Store = Callable[[Lines], tuple[int, int]]
"""Takes lines in; answers how many events were taken, and how many were there."""

_LARGEST_ARRAY = 8 * 1024 * 1024  # characters
_MOST_EVENTS = 1_000  # of an array


def run_ingest(settings: Settings, paths: Sequence[str], *, is_local: bool) -> bool:
    """Take all events of the files and say what became of them; on a terminal also meanwhile.

    The answer is whether there were any and all could be placed.
    """
    use_rules(settings.redact)
    counts = Counter(taken=0, repeated=0, odd=0, refused=0)
    refused: list[str] = []
    console = SafeConsole(stderr=True)
    with (
        opened_store(settings, is_local=is_local) as store,
        console.status("") if console.is_terminal else nullcontext() as status,
    ):
        for source, lines in read_files(paths):
            new, old = store(lines)
            odd = sum(_is_odd(entry.body) for entry in lines.entries)
            counts.update(taken=new, repeated=old, odd=odd, refused=lines.rejected + lines.unread)
            refused += [f"{item.source}: {item.reason}" for item in lines.rejected_lines]
            if status is not None:
                status.update(Text(f"{_summary(counts)}  {source}"))
    print_line(_summary(counts))
    for line in refused[:20]:
        print_line(f"  {escaped(line)}", is_error=True)
    if not counts.total():
        print_line(f"no event was found in {', '.join(paths)}", is_error=True)
    return counts.total() > 0 and not counts["refused"]


def _summary(counts: Counter[str]) -> str:
    return ", ".join(f"{what} {number}" for what, number in counts.items())


def _is_odd(body: str) -> bool:
    return any(True for _ in event_warnings(orjson.loads(body)))


@contextmanager
def opened_store(settings: Settings, *, is_local: bool) -> Iterator[Store]:
    """What takes events into the log of the settings, or into their server."""
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
        if portion and (size + len(body) > _LARGEST_ARRAY or len(portion) == _MOST_EVENTS):
            yield portion
            portion, size = [], 0
        portion.append(body)
        size += len(body)
    if portion:
        yield portion
