"""The interface of backends.

A backend consists of two classes: its settings, a subclass of `models.BackendSettings`, and the
class that sends events, which is created from them and names them as `settings_class`. It is found
by its `type` among the `backends` of all plugins (`headwater.plugin`). Only one thread at a time
calls it. A backend that needs events in its own form sends the `payloads` of a delivery by its
`Rewriting`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from headwater.events import Event
from headwater.log import read_entry
from headwater.projection import State
from headwater.redaction import DEFAULT, Redactor


@dataclass(frozen=True, slots=True)
class Delivery:
    """An event to deliver."""

    seq: int
    """Its position in the log."""
    body: str
    """Its JSON as stored in the log: as received, without secrets."""
    reading: Callable[[], AbstractContextManager[State]]
    """Opens the state, for backends that need more than one event. Close it before sending."""
    was_sent: Callable[[str], bool] = lambda _hash: False
    """Returns True if the event of a hash was sent to the backend before."""
    redactor: Redactor = DEFAULT
    """Masks secrets in responses of the backend that an error quotes."""

    @property
    def event(self) -> Event:
        """The parsed event; not cached. Raises EventError."""
        return read_entry(self.body)


class Backend(Protocol):
    """Sends events to one destination. It may keep connections open until `close`."""

    def send(self, delivery: Delivery) -> None:
        """Send one event; it has arrived when this returns.

        Raises:
            UnavailableError: the event may be accepted later.
            DeliveryError: the event is rejected permanently.
        """

    def close(self) -> None:
        """Release all resources."""


@runtime_checkable
class Processing(Protocol):
    """A backend that processes accepted events later."""

    def failed(self) -> Iterator[str]:
        """Yield the backend's ids of accepted events of the last day that it could not process.

        Raises UnavailableError or DeliveryError.
        """
