"""The tail of a spool folder: every *.jsonl below it, each read as far as it holds whole lines.

How far each file was read is stored in the transaction that stores its events, so a crash at any
point neither loses nor repeats. A file that shrank, or became another file under the same name, is
read from its start; events that were taken already are recognised by their hash. A drained file
that was idle for long is renamed, drained once more after a grace, and only then removed.
"""

from __future__ import annotations

import hashlib
import logging
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from throughline.collect.lines import sort_lines
from throughline.log import Offset
from throughline.projection.live import Batch, Live

log = logging.getLogger(__name__)

_CHUNK = 4 * 1024 * 1024
_HEAD = 256
_DRAINED = ".drained"
_GRACE = 60.0


class Lag(NamedTuple):
    """Bytes that are not yet taken in, and how many of them are last lines without an end."""

    bytes: int
    unended: int


class SpoolTail:
    """Take what producers append to the files of a folder."""

    def __init__(
        self, live: Live, folder: Path, remove_after: float = 0, grace: float = _GRACE
    ) -> None:
        self._live = live
        self._folder = folder
        self._remove_after = remove_after
        self._grace = grace
        self._offsets = live.log.offsets()
        self._looked_at: dict[str, tuple[int, int]] = {}
        self._complained: set[str] = set()
        folder.mkdir(parents=True, exist_ok=True)

    def poll(self) -> int:
        """Take all that is new; answers the number of bytes read."""
        taken = 0
        for entry in _spool_files(self._folder):
            try:
                status = entry.stat()
                found = (status.st_ino, status.st_size)
                if self._looked_at.get(entry.path) != found:
                    taken += self._drain(entry.path)
                    self._looked_at[entry.path] = found
                self._retire(entry.path, status)
            except FileNotFoundError:
                continue  # removed since the folder was listed
            except OSError as error:
                self._complain(entry.path, error)
        return taken

    def _complain(self, path: str, error: OSError) -> None:
        """Say once that a file cannot be read; the others must not wait for it."""
        if path not in self._complained:
            self._complained.add(path)
            log.warning("spool file %s cannot be read: %s", path, error)

    def lag(self) -> Lag:
        """What of the folder is not yet taken in."""
        behind = unended = 0
        for entry in _spool_files(self._folder):
            try:
                size = entry.stat().st_size
            except FileNotFoundError:
                continue  # removed since the folder was listed
            offset = self._offsets.get(entry.path)
            rest = size if offset is None else max(size - offset.position, 0)
            behind += rest
            unended += rest if rest and _is_unended(entry.path, size - rest) else 0
        return Lag(behind, unended)

    def _drain(self, path: str) -> int:
        taken = 0
        with open(path, "rb") as file:
            inode = os.fstat(file.fileno()).st_ino
            position = self._position(file.fileno(), path, inode)
            while chunk := _whole_lines(file.fileno(), position):
                lines = sort_lines(_sources(chunk, path, position))
                position += len(chunk)
                taken += len(chunk)
                offset = Offset(path, inode, position, _head(file.fileno(), position))
                self._live.take(Batch(lines.entries, lines.refusals, offset))
                self._offsets[path] = offset
        return taken

    def _position(self, file: int, path: str, inode: int) -> int:
        """Where to go on reading, or 0 when this is not the file that was read before."""
        known = self._offsets.get(path)
        if known is None or known.inode != inode or os.fstat(file).st_size < known.position:
            return 0
        return known.position if known.head == _head(file, known.position) else 0

    def _retire(self, path: str, status: os.stat_result) -> None:
        offset = self._offsets.get(path)
        if not self._remove_after or offset is None or offset.position < status.st_size:
            return
        now = time.time()
        if path.endswith(_DRAINED):
            if now - status.st_ctime >= self._grace and os.stat(path).st_size == offset.position:
                os.unlink(path)
                self._forget(path)
        elif now - status.st_mtime >= self._remove_after:
            aside = path + _DRAINED
            os.rename(path, aside)
            moved = Offset(aside, offset.inode, offset.position, offset.head)
            self._live.take(Batch(offset=moved))
            self._offsets[aside] = moved
            self._forget(path)

    def _forget(self, path: str) -> None:
        self._live.log.forget_offset(path)
        self._offsets.pop(path, None)
        self._looked_at.pop(path, None)


def _spool_files(folder: Path) -> Iterator[os.DirEntry[str]]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except FileNotFoundError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from _spool_files(Path(entry.path))
        elif entry.name.endswith((".jsonl", ".jsonl" + _DRAINED)):
            yield entry


def _whole_lines(file: int, position: int) -> bytes:
    """The next bytes up to the last line end among them; nothing while a line is not whole."""
    size = _CHUNK
    while True:
        chunk = os.pread(file, size, position)
        end = chunk.rfind(b"\n")
        if end >= 0 or len(chunk) < size:
            return chunk[: end + 1]
        size *= 2


def _is_unended(path: str, position: int) -> bool:
    try:
        with open(path, "rb") as file:
            return not _whole_lines(file.fileno(), position)
    except OSError:
        return False


def _sources(chunk: bytes, path: str, position: int) -> Iterator[tuple[str, bytes]]:
    for line in chunk.split(b"\n"):
        yield f"{path}@{position}", line
        position += len(line) + 1


def _head(file: int, position: int) -> str:
    return hashlib.sha256(os.pread(file, min(_HEAD, position), 0)).hexdigest()
