"""Values of a state that are updated after events instead of being computed again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from headwater.graph.current import generations_of
from headwater.projection import State

Value = TypeVar("Value")


def kept(state: State, create: Callable[[State], Value]) -> Value:
    """Return the value that a function creates once per state; the value updates itself."""
    values = generations_of(state).kept
    if create not in values:
        values[create] = create(state)
    value: Value = values[create]
    return value
