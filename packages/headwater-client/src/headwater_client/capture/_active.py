"""Start and end captures."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from headwater_client.capture._hooks import install
from headwater_client.capture._recorder import Capture, _current, _roots


@contextmanager
def capturing(capture: Capture) -> Iterator[Capture]:
    """Record the calls of this thread, and of the threads that it starts, in a capture.

    A capture within another one has that as its parent. `_roots` has those without a parent.
    """
    install()
    capture.parent = _current.get() or (_roots[0] if len(_roots) == 1 else None)
    token = _current.set(capture)
    is_root = capture.parent is None
    if is_root:
        _roots.append(capture)
    try:
        yield capture
    finally:
        _current.reset(token)
        if is_root:
            _roots.remove(capture)


def start(capture: Capture) -> None:
    """Record the calls of this process until its end."""
    install()
    _roots.append(capture)
