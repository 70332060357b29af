"""Tail a spool folder: read the complete lines of every *.jsonl file below it.

The read position of a file is stored in the same transaction as its events, so a crash neither
loses nor duplicates events. A file that shrank, was rewritten or was replaced under the same name
is read from the start; events already ingested are recognized by their hash. A drained file that
has been idle for a while is renamed, drained once more after a grace period, and then removed.

Only regular files are read. An error in one file does not block the others; `stuck` lists the files
that cannot be read.
"""

from __future__ import annotations

import hashlib
import logging
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from headwater.collect.lines import sort_lines
from headwater.errors import ConfigError, LogError, UnstorableError
from headwater.log import Offset, storable
from headwater.projection.live import Batch, Live

log = logging.getLogger(__name__)

_CHUNK = 4 * 1024 * 1024
_HEAD = 256
_MAX_INTEGER = 2**63 - 1  # the largest integer of a database, for inodes
_KINDS = {stat.S_IFLNK: "symbolic link", stat.S_IFIFO: "FIFO", stat.S_IFSOCK: "socket"}
_DRAINED = ".drained"
_GRACE = 60.0


class Lag(NamedTuple):
    """The number of unread bytes, and of those in unterminated last lines."""

    bytes: int
    unended: int


class StuckFile(NamedTuple):
    """A spool file that cannot be read: its path below the folder, and the reason."""

    file: str
    reason: str


def stuck_files(folder: Path) -> tuple[StuckFile, ...]:
    """Return the spool files that cannot be opened, without reading them.

    A folder that is polled has `SpoolTail.stuck` instead.
    """
    stuck: list[StuckFile] = []

    def fail(path: str, error: Exception) -> None:
        stuck.append(StuckFile(storable(os.path.relpath(path, folder)), _reason(error)))

    for entry in _spool_files(folder, fail):
        try:
            _require_regular(entry.stat(follow_symlinks=False))
            with _open_regular(entry.path):
                pass
        except FileNotFoundError:
            continue  # removed since the folder was listed
        except OSError as error:
            fail(entry.path, error)
    return tuple(stuck)


def make_spool_folder(folder: Path) -> None:
    """Create the folder if it is missing. Raises ConfigError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(
            f"--spool: received {str(folder)!r}, expected a folder that can be created"
            f" ({error.strerror})"
        ) from None


class SpoolTail:
    """Ingest the lines that producers append to the files of a folder.

    `remove_after` and `grace` are in seconds; 0 for `remove_after` never removes files.
    `chunk_size` is the number of bytes that are read at once. Only one thread may use it.
    """

    def __init__(
        self,
        live: Live,
        folder: Path,
        remove_after: float = 0,
        grace: float = _GRACE,
        chunk_size: int = _CHUNK,
    ) -> None:
        """Create a reader of a folder, which is created if needed."""
        self._live = live
        self._folder = folder
        self._remove_after = remove_after
        self._grace = grace
        self._chunk_size = chunk_size
        self._offsets = live.log.offsets()
        # By path: the inode, size and modification time (nanoseconds) when it was last read.
        self._fingerprints: dict[str, tuple[int, int, int]] = {}
        self._stuck: dict[str, str] = {}
        make_spool_folder(folder)

    @property
    def stuck(self) -> tuple[StuckFile, ...]:
        """The files that could not be read at the last poll."""
        folder = storable(str(self._folder))
        return tuple(
            StuckFile(os.path.relpath(path, folder), reason) for path, reason in self._stuck.items()
        )

    def poll(self) -> int:
        """Ingest all new lines; return the number of bytes read.

        Raises LogError if the database does not respond; the next call then continues from the same
        place.
        """
        bytes_read = 0
        stuck: dict[str, str] = {}

        def fail(path: str, error: Exception) -> None:
            stuck[storable(path)] = _reason(error)

        for entry in _spool_files(self._folder, fail):
            try:
                bytes_read += self._read_file(entry)
            except FileNotFoundError:
                continue  # removed since the folder was listed
            except UnstorableError as error:
                fail(entry.path, error)
            except LogError:
                raise  # a database error, which affects every file
            except Exception as error:
                fail(entry.path, error)
        for path in stuck.keys() - self._stuck.keys():
            log.warning("spool file %s cannot be read: %s", path, stuck[path])
        self._stuck = stuck
        return bytes_read

    def _read_file(self, entry: os.DirEntry[str]) -> int:
        """Read a file if it has changed since the last poll; return the number of bytes read.

        A drained file is removed. Raises OSError if it cannot be read, or is no regular file.
        """
        status = entry.stat(follow_symlinks=False)
        _require_regular(status)
        name = storable(entry.path)
        fingerprint = (status.st_ino, status.st_size, status.st_mtime_ns)
        bytes_read = 0
        if self._fingerprints.get(name) != fingerprint:
            bytes_read = self._drain(entry.path, name)
            self._fingerprints[name] = fingerprint
        self._remove_drained(entry.path, name, status)
        return bytes_read

    def lag(self) -> Lag:
        """Return the unread bytes of the folder, and how many are in lines without an end.

        The rest of a polled file has no line end, so only files that were not polled are read; what
        was appended since the poll is merely unread.

        Deleted and unreadable files do not count.
        """
        unread = unended = 0
        for entry in _spool_files(self._folder):
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:
                continue  # removed since the folder was listed, or stuck
            if not stat.S_ISREG(status.st_mode):
                continue
            size = status.st_size
            name = storable(entry.path)
            offset = self._offsets.get(name)
            position = 0 if offset is None else min(offset.position, size)
            unread += size - position
            inode, last_size, _ = self._fingerprints.get(name, (0, 0, 0))
            if inode == status.st_ino:
                unended += max(min(last_size, size) - position, 0)
            elif not inode and position < size and not _has_line_end(entry.path, position):
                unended += size - position
        return Lag(unread, unended)

    def _drain(self, path: str, name: str) -> int:
        """Ingest the complete lines of a file after its last position; return the bytes read.

        `path` is the path to open, and `name` the same in a form that a database can store. Events
        and the new position are stored in one transaction.
        """
        bytes_read = 0
        with _open_regular(path) as file:
            inode = os.fstat(file).st_ino & _MAX_INTEGER
            position = self._position(file, name, inode)
            while chunk := _whole_lines(file, position, self._chunk_size):
                lines = sort_lines(_sources(chunk, name, position), self._live.log.redactor)
                position += len(chunk)
                bytes_read += len(chunk)
                offset = Offset(name, inode, position, _digest(file, position))
                self._live.ingest(Batch(lines.entries, lines.rejected_lines, offset))
                self._offsets[name] = offset
        return bytes_read

    def _position(self, file: int, name: str, inode: int) -> int:
        """Return the position to continue from; 0 if this is not the file read before.

        The digest of its ends distinguishes a rewritten file from one that only grew.
        """
        offset = self._offsets.get(name)
        if offset is None or offset.inode != inode or os.fstat(file).st_size < offset.position:
            return 0
        return offset.position if offset.head == _digest(file, offset.position) else 0

    def _remove_drained(self, path: str, name: str, status: os.stat_result) -> None:
        """Rename a drained file that is idle, and remove it after the grace period.

        A producer may still have the file open after it was renamed. What it writes until then is
        read.
        """
        offset = self._offsets.get(name)
        if not self._remove_after or offset is None or offset.position < status.st_size:
            return
        now = time.time()
        if path.endswith(_DRAINED):
            # A change of the inode (ctime), such as the renaming, begins the grace period.
            if now - status.st_ctime >= self._grace and os.stat(path).st_size == offset.position:
                os.unlink(path)
                self._forget(name)
        elif now - status.st_mtime >= self._remove_after:
            os.rename(path, path + _DRAINED)
            moved = Offset(name + _DRAINED, offset.inode, offset.position, offset.head)
            self._live.ingest(Batch(offset=moved))
            self._offsets[moved.path] = moved
            self._forget(name)

    def _forget(self, name: str) -> None:
        """Forget the position of a file that was removed or renamed."""
        self._live.log.forget_offset(name)
        self._offsets.pop(name, None)
        self._fingerprints.pop(name, None)


def _spool_files(
    folder: Path, fail: Callable[[str, OSError], None] = lambda _path, _error: None
) -> Iterator[os.DirEntry[str]]:
    """Yield the entries below a folder with the name of a spool file, in order.

    `fail` gets the path of a folder that cannot be listed. Links to folders are not followed.
    """
    folders = [str(folder)]
    while folders:
        path = folders.pop()
        try:
            with os.scandir(path) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
            folders_inside = [entry for entry in entries if entry.is_dir(follow_symlinks=False)]
        except FileNotFoundError:
            continue
        except OSError as error:
            fail(path, error)
            continue
        folders += [entry.path for entry in reversed(folders_inside)]
        for entry in entries:
            is_spool_file = entry.name.endswith((".jsonl", ".jsonl" + _DRAINED))
            if is_spool_file and not entry.is_dir(follow_symlinks=False):
                yield entry


@contextmanager
def _open_regular(path: str) -> Iterator[int]:
    """Open a regular file; reject anything that replaced it since it was listed."""
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        _require_regular(os.fstat(file))
        yield file
    finally:
        os.close(file)


def _require_regular(status: os.stat_result) -> None:
    """Raise OSError unless it is a regular file: a link may point anywhere, a FIFO never end."""
    if not stat.S_ISREG(status.st_mode):
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), "special file")
        raise OSError(f"it is a {kind}; expected a regular file: replace or remove it")


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return str(error) if isinstance(error, UnstorableError) else f"{type(error).__name__}: {error}"


def _whole_lines(file: int, position: int, size: int) -> bytes:
    """Return the next complete lines, about `size` bytes; empty if there is none.

    A line that is longer than `size` is read as a whole.
    """
    while True:
        chunk = os.pread(file, size, position)
        end = chunk.rfind(b"\n")
        if end >= 0 or len(chunk) < size:
            return chunk[: end + 1]
        size *= 2


def _has_line_end(path: str, position: int) -> bool:
    """Return True if a file has a line end from a position on, or cannot be read."""
    try:
        with _open_regular(path) as file:
            while chunk := os.pread(file, _CHUNK, position):
                if b"\n" in chunk:
                    return True
                position += len(chunk)
    except OSError:
        return True
    return False


def _sources(chunk: bytes, name: str, position: int) -> Iterator[tuple[str, bytes]]:
    """Yield each line of a chunk with its source: the file and the byte at which it starts."""
    for line in chunk.split(b"\n"):
        yield f"{name}@{position}", line
        position += len(line) + 1


def _digest(file: int, position: int) -> str:
    """Return a digest of the first 256 bytes of a file, and of the last 256 before a position.

    It shows if the part that was read is still the same. `file` is a descriptor.
    """
    first, last = os.pread(file, min(_HEAD, position), 0), max(position - _HEAD, _HEAD)
    return hashlib.sha256(first + os.pread(file, max(position - last, 0), last)).hexdigest()
