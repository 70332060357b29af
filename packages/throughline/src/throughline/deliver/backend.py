"""The seam that backends are plugged into.

A backend is a pair: `XConfig`, a frozen dataclass that says what can be written about it in the
deliver file, and `X`, a class with `config_class = XConfig` that is made of one and sends. `X` is
found by its `type`: in `settings.BUILT_IN`, or as an entry point `throughline.backends` of another
package. Only one thread at a time calls it. One that takes events only in its own way sends
`bodies` of the delivery by its `Rewriting`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from throughline.log import read_entry
from throughline.projection import State
from throughline.spec import Event


@dataclass(frozen=True, slots=True)
class Delivery:
    """An event on its way out."""

    seq: int
    """Its place in the log."""
    body: str
    """Its JSON as the log keeps it: as it was received, without secrets."""
    known: Callable[[], AbstractContextManager[State]]
    """Opens all that is known, the whole run among it: for backends that an event says too little.

    It holds up whoever writes: take what is needed, leave it, then send.
    """
    was_told: Callable[[str], bool] = lambda _hash: False
    """Whether the backend was sent the event of this hash before."""

    @property
    def event(self) -> Event:
        """The event as parsed, each time anew. Raises EventError."""
        return read_entry(self.body)


class Backend(Protocol):
    """What sends events to one place. It may keep connections open until `close`."""

    def send(self, delivery: Delivery) -> None:
        """Send one event; it has arrived when this returns.

        Raises UnavailableError if it may be taken later, DeliveryError if never.
        """

    def close(self) -> None:
        """Give back what was opened."""


@runtime_checkable
class Processing(Protocol):
    """What a backend has besides that takes events first and processes them later."""

    def failed(self) -> Iterator[str]:
        """Its own ids of the events of the last day that it took and could not process.

        Raises UnavailableError or DeliveryError.
        """
