"""Exceptions of headwater, with the exit code of a command in brackets.

HeadwaterError [1]
  · EventError            an invalid event: path, value received, expectation
    · BodyError           a body that is not valid JSON
      · TooLargeError     a body larger than allowed
    · LimitError          an event that exceeds a limit on depth, items or characters
  · ConfigError [2]       a setting that cannot be used, and what to give instead
    · ExposureError       a server open to the network without an API key
    · OptionError         an option or argument of a command that cannot be used
  · BusyError             the server is overloaded; the request may be retried
  · SlowBodyError       a body that does not arrive in time
  · DeadlineError         a query that exceeds its time limit
  · LargeAnswerError      an answer that is larger than allowed, and what to request instead
  · LogError [3]          the store cannot be opened or written
    · UnstorableError     the store rejects a value, permanently
  · NotFoundError         no node of that name; has the most similar names
    · AmbiguousError      a short name that matches several nodes
  · DeliveryError         a backend rejects an event permanently
    · UnavailableError    a backend is unavailable; the event may be resent
  · ServerError [3]       the server of --url does not respond, or its response is invalid
    · MissingQueryError   no plugin adds this query
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = [
    "AmbiguousError",
    "BodyError",
    "BusyError",
    "ConfigError",
    "DeadlineError",
    "DeliveryError",
    "EventError",
    "ExposureError",
    "LargeAnswerError",
    "LimitError",
    "LogError",
    "MissingQueryError",
    "NotFoundError",
    "OptionError",
    "ServerError",
    "SlowBodyError",
    "HeadwaterError",
    "TooLargeError",
    "UnavailableError",
    "UnstorableError",
]


class HeadwaterError(Exception):
    """Base class of all errors that headwater raises deliberately."""

    exit_code = 1


class EventError(HeadwaterError):
    """An event is invalid: `path` is the place, `received` and `expected` are texts."""

    def __init__(self, path: str, received: object, expected: str) -> None:
        self.path = path
        self.received = shown(received)
        self.expected = expected
        super().__init__(f"{path}: received {self.received}, expected {expected}")


class BodyError(EventError):
    """A body or a line is not JSON."""


class TooLargeError(BodyError):
    """A body is larger than the server accepts."""


class LimitError(EventError):
    """An event exceeds a limit; `received` and `allowed` are texts."""

    def __init__(self, path: str, received: str, allowed: str) -> None:
        super().__init__(path, None, allowed)
        self.received = received
        self.args = (f"{path}: received {received}, allowed {allowed}",)


class ConfigError(HeadwaterError):
    """A setting has a value that cannot be used."""

    exit_code = 2


class ExposureError(ConfigError):
    """The server would be reachable from other machines without an API key."""


class OptionError(ConfigError):
    """An option or argument of a command cannot be used; the message begins with its name."""


class BusyError(HeadwaterError):
    """The server is overloaded; the request may be retried later."""


class SlowBodyError(HeadwaterError):
    """A body did not arrive in time."""


class DeadlineError(HeadwaterError):
    """A query exceeds its time limit."""


class LargeAnswerError(HeadwaterError):
    """An answer is larger than allowed."""


class LogError(HeadwaterError):
    """The store cannot be opened, read or written."""

    exit_code = 3


class UnstorableError(LogError):
    """The store rejects a value; other values can still be stored."""


class NotFoundError(HeadwaterError):
    """No node has the requested name; `nearest` are similar names."""

    def __init__(self, message: str, nearest: Sequence[str] = ()) -> None:
        self.nearest = tuple(nearest)
        super().__init__(message)


class AmbiguousError(NotFoundError):
    """A name matches more than one node; `nearest` are the ids of these nodes.

    `name` is the requested name. The message begins with it.
    """

    def __init__(self, name: str, reason: str, ids: Sequence[str]) -> None:
        self.name = name
        super().__init__(f"{name!r} {reason}", ids)


class DeliveryError(HeadwaterError):
    """A backend rejects an event permanently."""


class UnavailableError(DeliveryError):
    """A backend is unavailable.

    `retry_after` is its Retry-After in seconds. If `is_doubtful`, the event itself may be the
    cause: after some attempts, delivery continues with the next event.
    """

    def __init__(self, message: str, retry_after: float = 0, *, is_doubtful: bool = False) -> None:
        self.retry_after = retry_after
        self.is_doubtful = is_doubtful
        super().__init__(message)


class ServerError(HeadwaterError):
    """The server did not respond, or its response is invalid."""

    exit_code = 3


class MissingQueryError(ServerError):
    """No installed plugin of the client or the server adds the query."""


def shown(value: object) -> str:
    """Format a value for an error message, shortened; None is `nothing`."""
    if value is None:
        return "nothing"
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:117]}..."


def how_to_install(extra: str = "", package: str = "headwater") -> str:
    """Return the sentence that says how to install a package, with an extra if one is given."""
    return f"In a clone, run: pip install './packages/{package}{extra and f'[{extra}]'}'"
