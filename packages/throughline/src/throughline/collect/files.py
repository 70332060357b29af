"""Files of events, read once: JSON Lines, one event, an array, or logs with events in them."""

from __future__ import annotations

import gzip
import sys
import zlib
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from throughline.collect.lines import Lines, sort_lines
from throughline.collect.logs import SIGN, events_in
from throughline.errors import ConfigError, EventError
from throughline.spec import load

_LINES_AT_ONCE = 1_000
_SUFFIXES = (".json", ".jsonl", ".log")


def read_files(paths: Iterable[str]) -> Iterator[tuple[str, Lines]]:
    """Each file with what it holds, in portions; `-` is the standard input.

    Of a folder, all *.json, *.jsonl and *.log in it, and the same with .gz. In a log, lines without
    an event are nothing.
    """
    for path in paths:
        if path == "-":
            yield from _read("-", *_documents(sys.stdin.buffer.read()))
            continue
        for file in _files(Path(path)):
            suffix = _unzipped(file).suffix
            with gzip.open(file) if _unzipped(file) != file else file.open("rb") as lines:
                try:
                    is_whole = suffix not in (".jsonl", ".log")
                    found = _documents(lines.read()) if is_whole else (lines, suffix == ".log")
                    yield from _read(str(file), *found)
                except (gzip.BadGzipFile, EOFError, zlib.error) as error:
                    raise ConfigError(f"{file}: it is not a whole gzip file: {error}") from None


def _unzipped(path: Path) -> Path:
    return path.with_suffix("") if path.suffix == ".gz" else path


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        found = (file for file in path.rglob("*") if _unzipped(file).suffix in _SUFFIXES)
        return sorted(file for file in found if file.is_file())
    if path.is_file():
        return [path]
    raise ConfigError(f"PATH: received {str(path)!r}, expected a file, a folder or -")


def _read(source: str, lines: Iterable[bytes], is_log: bool) -> Iterator[tuple[str, Lines]]:
    numbered = enumerate(lines, start=1)
    while part := list(islice(numbered, _LINES_AT_ONCE)):
        found = ((f"{source}:{number}", line.rstrip(b"\n")) for number, line in part)
        if is_log:
            found = ((where, text) for where, line in found for text in events_in(line))
        yield source, sort_lines(found)


def _documents(raw: bytes) -> tuple[list[bytes], bool]:
    """One document when the whole is JSON, else its lines; and whether they are those of a log."""
    try:
        load(raw)
    except EventError:
        lines = raw.split(b"\n")
        first = next((line.lstrip() for line in lines if line.strip()), b"")
        return lines, not (first.startswith(b"{") and SIGN in first)
    return [raw], False
