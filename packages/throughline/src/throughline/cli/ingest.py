"""`throughline ingest`: files into a server or straight into a log."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from throughline.cli.render import print_line
from throughline.cli.source import request
from throughline.collect import Lines, read_files
from throughline.config import Settings
from throughline.log import EventLog
from throughline.projection.live import Batch, Live


def run_ingest(settings: Settings, paths: Sequence[str], *, is_local: bool) -> None:
    """Take all events of the files and say what became of them."""
    taken = repeated = 0
    refused: list[str] = []
    log = EventLog(settings.database) if is_local else None
    try:
        store = _into_log(Live(log)) if log else _into_server(settings)
        for lines in read_files(paths):
            new, old = store(lines)
            taken, repeated = taken + new, repeated + old
            refused += [f"{item.source}: {item.reason}" for item in lines.refusals]
    finally:
        if log:
            log.close()
    print_line(f"taken {taken}, repeated {repeated}, refused {len(refused)}")
    for line in refused[:20]:
        print_line(f"  {line}", is_error=True)


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
