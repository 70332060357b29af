"""Decompress gzip and deflate in portions of limited size."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from gzip import BadGzipFile
from io import BufferedIOBase
from pathlib import Path

from headwater.errors import BodyError

__all__ = ["PORTION", "BadGzipFile", "Unzip", "open_unzipped"]

PORTION = 1024 * 1024
"""Largest number of bytes that are decompressed at once."""

_WINDOW_BITS = {"gzip": 31, "deflate": 15}
"""zlib's `wbits` by Content-Encoding; `deflate` is a zlib stream (RFC 9110)."""

_MOST_MEMBERS = 1_000
"""Largest number of consecutive gzip streams: even an empty one takes time."""


class Unzip:
    """A decompressor of one body; without an encoding, it passes bytes on. Raises BodyError.

    `feed` takes the chunks in order, and then `check_end` is called. `encoding` is the header
    Content-Encoding.
    """

    def __init__(self, encoding: str) -> None:
        """Create a decompressor for a Content-Encoding. Raises BodyError if it is not supported."""
        self._encoding = encoding.strip().lower() or "identity"
        self._members = 1
        self._stream = None
        if self._encoding in _WINDOW_BITS:
            self._stream = zlib.decompressobj(_WINDOW_BITS[self._encoding])
        elif self._encoding != "identity":
            raise BodyError("Content-Encoding", self._encoding, "gzip, deflate or none")

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the decompressed bytes of a chunk in portions.

        A body may have several gzip streams, one after the other.
        """
        if self._stream is None:
            yield chunk
            return
        try:
            while chunk:
                if self._stream.eof:
                    self._stream = self._next_member()
                yield self._stream.decompress(chunk, PORTION)
                chunk = self._stream.unconsumed_tail or self._stream.unused_data
        except zlib.error as error:
            raise BodyError("$", str(error), f"a {self._encoding} stream") from None

    def check_end(self) -> None:
        """Raise BodyError if the compressed body is incomplete."""
        if self._stream is not None and not self._stream.eof:
            raise BodyError("$", f"a {self._encoding} stream that ends too early", "a complete one")

    def _next_member(self) -> zlib._Decompress:
        """Return a decompressor for the next gzip stream of the body (RFC 1952, 2.2)."""
        if self._encoding != "gzip":
            raise BodyError("$", "bytes after its end", f"one {self._encoding} stream")
        self._members += 1
        if self._members > _MOST_MEMBERS:
            raise BodyError(
                "$",
                f"more than {_MOST_MEMBERS} gzip streams in one body",
                f"at most {_MOST_MEMBERS}; compress more events together",
            )
        return zlib.decompressobj(_WINDOW_BITS["gzip"])


@contextmanager
def open_unzipped(path: Path) -> Iterator[BufferedIOBase]:
    """Open a file for reading, `*.gz` decompressed.

    Raises:
        BadGzipFile: while reading, the file turns out to be incomplete or damaged; an OSError.
    """
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        try:
            yield file
        except (EOFError, zlib.error) as error:
            raise BadGzipFile(str(error)) from None
