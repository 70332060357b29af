"""`throughline ingest`: files into a server or straight into a log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext

import orjson
from rich.console import Console
from rich.text import Text

from throughline.cli.render import print_line
from throughline.cli.source import request
from throughline.collect import Lines, read_files
from throughline.config import Settings
from throughline.log import EventLog, use_rules
from throughline.projection.live import Batch, Live
from throughline.spec import oddities


def run_ingest(settings: Settings, paths: Sequence[str], *, is_local: bool) -> bool:
    """Take all events of the files and say what became of them; on a terminal also meanwhile.

    The answer is whether there were any and all could be placed.
    """
    use_rules(settings.redact)
    counts = Counter(taken=0, repeated=0, odd=0, refused=0)
    refused: list[str] = []
    log = EventLog(settings.database) if is_local else None
    console = Console(stderr=True)
    try:
        store = _into_log(Live(log)) if log else _into_server(settings)
        with console.status("") if console.is_terminal else nullcontext() as status:
            for source, lines in read_files(paths):
                new, old = store(lines)
                odd = sum(_is_odd(entry.body) for entry in lines.entries)
                counts.update(taken=new, repeated=old, odd=odd, refused=len(lines.refusals))
                refused += [f"{item.source}: {item.reason}" for item in lines.refusals]
                if status is not None:
                    status.update(Text(f"{_summary(counts)}  {source}"))
    finally:
        if log:
            log.close()
    print_line(_summary(counts))
    for line in refused[:20]:
        print_line(f"  {line}", is_error=True)
    if not counts.total():
        print_line(f"no event was found in {', '.join(paths)}", is_error=True)
    return counts.total() > 0 and not counts["refused"]


def _summary(counts: Counter[str]) -> str:
    return ", ".join(f"{what} {number}" for what, number in counts.items())


def _is_odd(body: str) -> bool:
    return any(True for _ in oddities(orjson.loads(body)))


def _into_log(live: Live) -> Callable[[Lines], tuple[int, int]]:
    def store(lines: Lines) -> tuple[int, int]:
        receipt = live.take(Batch(lines.entries, lines.refusals))
        return receipt.taken, receipt.repeated

    return store


def _into_server(settings: Settings) -> Callable[[Lines], tuple[int, int]]:
    def store(lines: Lines) -> tuple[int, int]:
        if not lines.entries:
            return 0, 0
        body = "[" + ",".join(entry.body for entry in lines.entries) + "]"
        answer = request(settings, "/api/v1/lineage", body.encode())
        return answer["taken"], answer["repeated"]

    return store
