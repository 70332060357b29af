"""Report lineage errors once per process without failing the flow."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

_warned = False


def warn(message: str) -> None:
    """Write the first warning of this process to stderr, in one line; drop later ones."""
    global _warned
    if not _warned:
        _warned = True
        shown = "".join(char if char.isprintable() else repr(char)[1:-1] for char in message)
        sys.stderr.write(f"metaflow-openlineage: {shown}\n")


def harmless(hook: Callable[P, R]) -> Callable[P, R | None]:
    """Make a hook safe: an exception becomes a warning, and the result None.

    The alarm of @timeout may occur while a hook runs; it belongs to the step and is raised.
    """

    @functools.wraps(hook)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> R | None:
        try:
            return hook(*args, **kwargs)
        except Exception as error:
            if type(error).__name__ == "TimeoutException":
                raise
            warn(f"lineage is incomplete, {hook.__name__} failed: {type(error).__name__}: {error}")
            return None

    return guarded
