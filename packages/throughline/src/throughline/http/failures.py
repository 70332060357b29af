"""Turn errors into JSON responses with the matching HTTP status."""

from __future__ import annotations

from fastapi import Response

from throughline.errors import (
    BodyError,
    BusyError,
    EventError,
    LogError,
    NotFoundError,
    SlowBodyError,
    ThroughlineError,
    TooLargeError,
)
from throughline.http.routes import answer, unavailable


def failure(error: ThroughlineError) -> Response:
    """Return the response to a failed request."""
    if isinstance(error, NotFoundError):
        return answer({"code": 404, "message": str(error), "nearest": error.nearest}, 404)
    if isinstance(error, EventError):
        is_large = isinstance(error, TooLargeError)
        status = 413 if is_large else 400 if isinstance(error, BodyError) else 422
        return answer({"code": status, "message": str(error), **described(error)}, status)
    if isinstance(error, LogError | BusyError):
        return unavailable(error)
    status = 408 if isinstance(error, SlowBodyError) else 400
    return answer({"code": status, "message": str(error)}, status)


def described(error: EventError) -> dict[str, str]:
    """Describe a problem of an event: path, value received and value expected."""
    return {"path": error.path, "received": error.received, "expected": error.expected}
