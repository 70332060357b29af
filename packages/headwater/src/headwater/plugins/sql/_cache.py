"""A cache of results by their arguments, with a limit on its memory."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from hashlib import blake2b
from typing import Generic, TypeVar

Result = TypeVar("Result")
Others = TypeVar("Others", bound=Hashable)


class TextCache(Generic[Others, Result]):
    """Results of reading texts. The least recently used ones are removed; texts are not kept.

    `size_of` estimates the memory of a result with its arguments. The cache is safe for threads;
    two of them may read the same text at the same time.
    """

    def __init__(self, most: int, size_of: Callable[[Result, Others], int]) -> None:
        """Create a cache for results whose sizes together are at most `most`."""
        self._most, self._size_of, self._size = most, size_of, 0
        self._results: OrderedDict[tuple[bytes, Others], tuple[Result, int]] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def size(self) -> int:
        """Return the sum of the sizes of the results."""
        return self._size

    def get(self, text: str, others: Others, read: Callable[[], Result]) -> Result:
        """Return the result of a text and other arguments; `read` computes it.

        `others` are the other arguments on which the result depends.
        """
        key = blake2b(text.encode(errors="surrogatepass"), digest_size=16).digest(), others
        with self._lock:
            if key in self._results:
                self._results.move_to_end(key)
                return self._results[key][0]
        result = read()
        size = self._size_of(result, others)
        with self._lock:
            if key not in self._results:
                self._results[key] = result, size
                self._size += size
            while self._size > self._most:
                _, (_, removed) = self._results.popitem(last=False)
                self._size -= removed
        return result
