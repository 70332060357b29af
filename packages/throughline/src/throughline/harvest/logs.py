"""Events that a console transport left in log files: Spark's stdout and stderr, Airflow's tasks'.

Files are read in the order of their last change (ctime, which neither a copy nor a touch can set
back), each from where it was read to. Of the thousand files that changed last that place is known;
an older one that changes again is read from its start, and what it holds is the same events.
"""

from __future__ import annotations

import gzip
import hashlib
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from io import BufferedIOBase
from pathlib import Path

from throughline.collect import Lines
from throughline.collect.logs import events_in
from throughline.errors import ConfigError
from throughline.harvest.harvester import Cursor, Portion
from throughline.harvest.joined import Joiner
from throughline.log import Refusal

_LOG = re.compile(r"(std(out|err)|.+\.(log|txt|out|err))([.-]?\d[\d.-]*)?(\.gz)?")
_LINES_AT_ONCE = 1_000
_EVENTS_AT_ONCE = 500
_PARTS_AT_ONCE = 200
_REMEMBERED = 1_000
_HEAD = 256
_LONGEST = 32 * 1024 * 1024
_TICK = 2_000_000_000  # nanoseconds in which a file may change without its time doing so

_Place = tuple[int, str]
"""How many bytes of a file were read (unzipped), and what it begins with."""


class LogFiles:
    """Log files, and the folders of such."""

    def __init__(self, kind: str, paths: Sequence[Path]) -> None:
        self._kind = kind
        self._paths = [path.absolute() for path in paths]

    @property
    def source(self) -> str:
        """The kind with the paths."""
        return f"{self._kind}:{'|'.join(sorted(map(str, self._paths)))}"

    def harvest(self, cursor: Cursor, since: datetime | None) -> Iterator[Portion]:
        """Read what is new in the files. Raises ConfigError."""
        places: dict[str, _Place] = {
            k: (at, head) for k, (at, head) in cursor.get("files", {}).items()
        }
        after = cursor.get("ctime", 0)
        lines, parts = Lines(), 0
        files = _files(self._paths)
        for path in self._paths:
            if not any(file.is_relative_to(path) for _, file in files):
                reason = "there is no log in it, by the names in docs/harvest.md"
                lines.refusals.append(Refusal(str(path), reason, ""))
        for changed, path in files:
            if changed < after - _TICK:
                continue
            for found, place in _read(path, places.get(str(path))):
                places.pop(str(path), None)  # the last that was read comes last
                places[str(path)] = place
                lines.entries += found.entries
                lines.refusals += found.refusals
                parts += 1
                if len(lines.entries) >= _EVENTS_AT_ONCE or parts >= _PARTS_AT_ONCE:
                    # Files that are yet to come changed later, so this is how far all were read.
                    yield Portion(lines, _cursor(changed, places))
                    lines, parts = Lines(), 0
            after = max(after, changed)
        yield Portion(lines, _cursor(after, places))


def _cursor(changed: int, places: dict[str, _Place]) -> Cursor:
    return {"ctime": changed, "files": dict(list(places.items())[-_REMEMBERED:])}


def _files(paths: Iterable[Path]) -> list[tuple[int, Path]]:
    """All files with the time of their change in nanoseconds, the earliest first."""
    found: dict[Path, int] = {}
    for path in paths:
        if not path.exists():
            raise ConfigError(f"PATH: received {str(path)!r}, expected a file or a folder of logs")
        inside = path.rglob("*") if path.is_dir() else [path]
        for file in inside:
            with suppress(OSError):  # it has gone since the folder was listed
                if (file == path or _LOG.fullmatch(file.name)) and file.is_file():
                    found[file] = file.stat().st_ctime_ns
    return sorted((changed, file) for file, changed in found.items())


def _read(path: Path, known: _Place | None) -> Iterator[tuple[Lines, _Place]]:
    """Read on in a file: what some lines hold, and the place to go on from."""
    joiner: Joiner[int] = Joiner()
    found = Lines()
    head, end = b"", 0
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            head = file.read(_HEAD)
            at = end = _resumed(file, head, known)
            for number, line in enumerate(iter(partial(file.readline, _LONGEST), b""), start=1):
                _place(path, joiner.feed(at, line.rstrip(b"\r\n")), found)
                if line.endswith(b"\n") or len(line) == _LONGEST:  # else it may go on
                    at += len(line)
                end = at if joiner.open_since is None else joiner.open_since
                if number % _LINES_AT_ONCE == 0:
                    yield found, (end, _digest(head, end))
                    found = Lines()
    except (OSError, EOFError, zlib.error) as error:  # a torn gzip file; one that has gone
        found.refusals.append(Refusal(str(path), f"it cannot be read to its end: {error}", ""))
    _place(path, joiner.close(), found)
    yield found, (end, _digest(head, end))


def _place(path: Path, whole: Iterable[tuple[int, bytes]], found: Lines) -> None:
    for at, line in whole:
        for text in events_in(line):
            found.add(text, f"{path}@{at}")


def _resumed(file: BufferedIOBase, head: bytes, known: _Place | None) -> int:
    """Go to where a file was read to; to its start if it is not the file that was read."""
    if known is not None and known[0] and known[1] == _digest(head, known[0]):
        file.seek(known[0] - 1)
        if file.read(1):
            return known[0]
    file.seek(0)
    return 0


def _digest(head: bytes, position: int) -> str:
    """What a file is known by: its beginning, as far as it was read."""
    return hashlib.sha256(head[:position]).hexdigest()[:16]
