"""What a request may do, by its API key; the access control stores it in the request's scope."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.types import Scope

_KEY = "headwater.access"


@dataclass(frozen=True, slots=True)
class Access:
    """What a request may do besides what its path and method need."""

    has_key: bool
    """True if it was sent with a valid key."""
    may_write: bool = False
    """True if its key has the scope `write`; False without a key."""
    may_read_sql: bool = True
    """False if its key lacks the scope `sql`: SQL and code are hidden from the response."""


def set_access(scope: Scope, access: Access) -> None:
    """Store what a request may do."""
    scope[_KEY] = access


def access_of(scope: Scope) -> Access:
    """Return what a request may do; that of a request without a key if nothing was stored."""
    found: Access = scope.get(_KEY, _WITHOUT_KEY)
    return found


_WITHOUT_KEY = Access(has_key=False)
