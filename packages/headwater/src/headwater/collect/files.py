"""Read files of events: JSON Lines, one event, an array, or logs that contain events."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from functools import partial
from io import BufferedIOBase
from itertools import islice
from pathlib import Path

from headwater.collect.lines import Lines, sort_lines
from headwater.collect.logs import MARKER, events_in
from headwater.errors import ConfigError, EventError
from headwater.events import load
from headwater.redaction import Redactor
from headwater.unzip import BadGzipFile, open_unzipped

_LINES_AT_ONCE = 1_000
_LARGEST_TEXT = 2**30
_SUFFIXES = (".json", ".jsonl", ".log")


def read_files(
    paths: Iterable[str], redactor: Redactor, largest: int = _LARGEST_TEXT
) -> Iterator[tuple[str, Lines]]:
    """Return each file with its contents, in portions; `-` is the standard input.

    In a folder, read all *.json, *.jsonl and *.log, also with .gz. In a log, ignore lines without
    an event.

    Raises:
        ConfigError: a path does not exist; or, while iterating, a gzip file is damaged, or a line
            or a file that is one document has more than `largest` bytes, decompressed.

    A folder is read in order of the paths. `Lines` has the events of at most 1,000 lines, with
    those that were rejected; it is empty for an empty document. Tests pass a smaller `largest`.
    """
    return _contents_of([(path, _files(path)) for path in paths], redactor, largest)


def _contents_of(
    paths: Iterable[tuple[str, list[Path]]], redactor: Redactor, largest: int
) -> Iterator[tuple[str, Lines]]:
    """Yield the name of each file, or `-` for the standard input, with its lines in portions."""
    for path, files in paths:
        if path == "-":
            raw = _bounded(sys.stdin.buffer.read(largest + 1), largest, path)
            yield from _read(redactor, path, *_documents(raw))
        for file in files:
            try:
                with open_unzipped(file) as opened:
                    yield from _read(redactor, str(file), *_contents(file, opened, largest))
            except BadGzipFile as error:
                raise ConfigError(f"{file}: incomplete or damaged gzip file: {error}") from None


def _contents(file: Path, opened: BufferedIOBase, largest: int) -> tuple[Iterable[bytes], bool]:
    """Return the lines of a file, or its only document, and True if it is a log.

    `largest` is the limit in bytes of a line, or of a file that is one document. *.jsonl and *.log
    are read line by line; any other file as a whole, since its contents decide. Raises ConfigError,
    for a line only when it is read.
    """
    suffix = _without_gz(file).suffix
    if suffix not in (".jsonl", ".log"):
        return _documents(_bounded(opened.read(largest + 1), largest, file))
    lines = iter(partial(opened.readline, largest + 1), b"")
    return (_bounded(line, largest, file) for line in lines), suffix == ".log"


def _bounded(text: bytes, largest: int, source: Path | str) -> bytes:
    """Return a text; raise ConfigError if it has more than `largest` bytes."""
    if len(text) > largest:
        raise ConfigError(
            f"{source}: received a document or line of more than {largest} bytes, which is the"
            " limit: split it, for instance into JSON Lines"
        )
    return text


def _without_gz(path: Path) -> Path:
    return path.with_suffix("") if path.suffix == ".gz" else path


def _files(name: str) -> list[Path]:
    """Return the files of a path, sorted; none for the standard input.

    Raises ConfigError if it is missing.
    """
    if name == "-":
        return []
    path = Path(name)
    if path.is_dir():
        files = (file for file in path.rglob("*") if _without_gz(file).suffix in _SUFFIXES)
        return sorted(file for file in files if file.is_file())
    if path.is_file():
        return [path]
    raise ConfigError(f"PATH: received {name!r}, expected a file, a folder or -")


def _read(
    redactor: Redactor, source: str, lines: Iterable[bytes], is_log: bool
) -> Iterator[tuple[str, Lines]]:
    """Yield the parsed lines of a source, in portions; the source of a line ends with its number.

    `is_log` is True if only the events within lines count. Each portion comes with the source, and
    has the events and rejected lines of 1,000 lines.
    """
    numbered = enumerate(lines, start=1)
    while page := list(islice(numbered, _LINES_AT_ONCE)):
        numbered_lines = ((f"{source}:{number}", line.rstrip(b"\n")) for number, line in page)
        if is_log:
            numbered_lines = (
                (where, text) for where, line in numbered_lines for text in events_in(line)
            )
        yield source, sort_lines(numbered_lines, redactor)


def _documents(raw: bytes) -> tuple[list[bytes], bool]:
    """Return one document if the file is JSON, else its lines, and True if it is a log.

    Lines are those of JSON Lines if the first one starts like an event, otherwise those of a log.
    """
    try:
        load(raw)
    except EventError:
        lines = raw.split(b"\n")
        first = next((line.lstrip() for line in lines if line.strip()), b"")
        return lines, not (first.startswith(b"{") and MARKER in first)
    return [raw], False
