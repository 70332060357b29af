"""Read files of events: JSON Lines, one event, an array, or logs that contain events."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from throughline.collect.lines import Lines, sort_lines
from throughline.collect.logs import MARKER, events_in
from throughline.errors import ConfigError, EventError
from throughline.events import load
from throughline.unzip import BadGzipFile, open_unzipped

_LINES_AT_ONCE = 1_000
_SUFFIXES = (".json", ".jsonl", ".log")


def read_files(paths: Iterable[str]) -> Iterator[tuple[str, Lines]]:
    """Yield each file with its contents, in portions; `-` is the standard input.

    Of a folder, read all *.json, *.jsonl and *.log in it, also with .gz. In a log, ignore lines
    without an event.
    """
    for path in paths:
        if path == "-":
            yield from _read("-", *_documents(sys.stdin.buffer.read()))
            continue
        for file in _files(Path(path)):
            suffix = _without_gz(file).suffix
            try:
                with open_unzipped(file) as lines:
                    is_whole = suffix not in (".jsonl", ".log")
                    documents = _documents(lines.read()) if is_whole else (lines, suffix == ".log")
                    yield from _read(str(file), *documents)
            except BadGzipFile as error:
                raise ConfigError(f"{file}: incomplete or damaged gzip file: {error}") from None


def _without_gz(path: Path) -> Path:
    return path.with_suffix("") if path.suffix == ".gz" else path


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        files = (file for file in path.rglob("*") if _without_gz(file).suffix in _SUFFIXES)
        return sorted(file for file in files if file.is_file())
    if path.is_file():
        return [path]
    raise ConfigError(f"PATH: received {str(path)!r}, expected a file, a folder or -")


def _read(source: str, lines: Iterable[bytes], is_log: bool) -> Iterator[tuple[str, Lines]]:
    numbered = enumerate(lines, start=1)
    while page := list(islice(numbered, _LINES_AT_ONCE)):
        numbered_lines = ((f"{source}:{number}", line.rstrip(b"\n")) for number, line in page)
        if is_log:
            numbered_lines = (
                (where, text) for where, line in numbered_lines for text in events_in(line)
            )
        yield source, sort_lines(numbered_lines)


def _documents(raw: bytes) -> tuple[list[bytes], bool]:
    """Return one document if the whole is JSON, else its lines, and True if it is a log."""
    try:
        load(raw)
    except EventError:
        lines = raw.split(b"\n")
        first = next((line.lstrip() for line in lines if line.strip()), b"")
        return lines, not (first.startswith(b"{") and MARKER in first)
    return [raw], False
