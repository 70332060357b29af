"""Import events that a console transport wrote to log files of Spark or Airflow.

Files are read in the order of their last change (ctime, which cannot be set back, neither by a copy
nor by touch), each from its last position. Positions are stored for the thousand files that changed
last. An older file that changes again is read from its start, which yields the same events.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from io import BufferedIOBase
from pathlib import Path

from headwater.collect.lines import Lines
from headwater.collect.logs import events_in
from headwater.errors import ConfigError
from headwater.plugins.harvest.harvester import Cursor, Portion
from headwater.plugins.harvest.joined import Joiner
from headwater.redaction import Redactor
from headwater.unzip import open_unzipped

_LOG = re.compile(r"(std(out|err)|.+\.(log|txt|out|err))([.-]?\d[\d.-]*)?(\.gz)?")
_LINES_AT_ONCE = 1_000
_EVENTS_AT_ONCE = 500
_PARTS_AT_ONCE = 200
_MOST_PLACES = 1_000
_HEAD = 256
_LONGEST = 32 * 1024 * 1024
_TICK = 2_000_000_000  # resolution of ctime in nanoseconds

_Position = tuple[int, str]
"""The number of bytes read of a file (unzipped), and a digest of its beginning."""


class LogFiles:
    """Log files and folders of log files."""

    def __init__(self, kind: str, paths: Sequence[Path]) -> None:
        self._kind = kind
        self._paths = [path.absolute() for path in paths]  # `source` is the key of what was read

    @property
    def source(self) -> str:
        """The kind and the paths."""
        return f"{self._kind}:{'|'.join(sorted(map(str, self._paths)))}"

    def harvest(
        self, cursor: Cursor, since: datetime | None, redactor: Redactor
    ) -> Iterator[Portion]:
        """Yield the new events of the files. Raises ConfigError.

        A file or folder without log files is reported as a rejected line, not as an error.
        """
        places: dict[str, _Position] = {
            k: (at, head) for k, (at, head) in cursor.get("files", {}).items()
        }
        after = cursor.get("ctime", 0)
        lines, parts = Lines(redactor), 0
        files = _files(self._paths)
        for path in self._paths:
            if not any(file.is_relative_to(path) for _, file in files):
                reason = "no log file found; docs/how-to/harvest.md lists the supported file names"
                lines.add_problem(str(path), reason)
        for changed, path in files:
            if changed < after - _TICK:  # read before; equal times may hide a later change
                continue
            for found, place in _read_file(path, places.get(str(path)), redactor):
                places.pop(str(path), None)  # keep the order of reading
                places[str(path)] = place
                lines.entries += found.entries
                lines.rejected_lines += found.rejected_lines
                parts += 1
                if len(lines.entries) >= _EVENTS_AT_ONCE or parts >= _PARTS_AT_ONCE:
                    # The remaining files changed later, so all files are read up to here.
                    yield Portion(lines, _cursor(changed, places))
                    lines, parts = Lines(redactor), 0
            after = max(after, changed)
        yield Portion(lines, _cursor(after, places))


def _cursor(changed: int, places: dict[str, _Position]) -> Cursor:
    return {"ctime": changed, "files": dict(list(places.items())[-_MOST_PLACES:])}


def _files(paths: Iterable[Path]) -> list[tuple[int, Path]]:
    """Return all files with the time of their last change in nanoseconds, earliest first.

    Only names that look like those of logs count in a folder. Raises ConfigError for a missing
    path.
    """
    changes: dict[Path, int] = {}
    for path in paths:
        if not path.exists():
            raise ConfigError(f"PATH: received {str(path)!r}, expected a file or a folder of logs")
        candidates = path.rglob("*") if path.is_dir() else [path]
        for file in candidates:
            with suppress(OSError):  # removed since the folder was listed
                if (file == path or _LOG.fullmatch(file.name)) and file.is_file():
                    changes[file] = file.stat().st_ctime_ns
    return sorted((changed, file) for file, changed in changes.items())


def _read_file(
    path: Path, position: _Position | None, redactor: Redactor
) -> Iterator[tuple[Lines, _Position]]:
    """Yield the events of some lines of a file, and the position to continue from.

    `position` is the last one of the file; None to read it from the start. An incomplete last line
    is read again by the next harvest.
    """
    joiner: Joiner[int] = Joiner()
    lines = Lines(redactor)
    head, end = b"", 0
    try:
        with open_unzipped(path) as file:
            head = file.read(_HEAD)
            at = end = _seek(file, head, position)
            for number, line in enumerate(iter(partial(file.readline, _LONGEST), b""), start=1):
                _add_events(path, joiner.feed(at, line.rstrip(b"\r\n")), lines)
                if line.endswith(b"\n") or len(line) == _LONGEST:  # else it may continue
                    at += len(line)
                end = at if joiner.open_since is None else joiner.open_since
                if number % _LINES_AT_ONCE == 0:
                    yield lines, (end, _digest(head, end))
                    lines = Lines(redactor)
    except OSError as error:  # a removed file, a truncated gzip file
        lines.add_problem(str(path), f"cannot be read to the end: {error}")
    _add_events(path, joiner.close(), lines)
    yield lines, (end, _digest(head, end))


def _add_events(path: Path, numbered: Iterable[tuple[int, bytes]], lines: Lines) -> None:
    for at, line in numbered:
        for text in events_in(line):
            lines.add(text, f"{path}@{at}")


def _seek(file: BufferedIOBase, head: bytes, position: _Position | None) -> int:
    """Seek to the last position of a file; to its start if it is another file.

    `head` is the beginning of the file. The digest in the position shows if it is the same file.
    """
    if position is not None and position[0] and position[1] == _digest(head, position[0]):
        file.seek(position[0] - 1)
        if file.read(1):
            return position[0]
    file.seek(0)
    return 0


def _digest(head: bytes, position: int) -> str:
    """Return a digest of the beginning of a file, up to the read position."""
    return hashlib.sha256(head[:position]).hexdigest()[:16]
