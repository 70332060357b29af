"""Permissions that the API key of a request grants, stored in the ASGI scope."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.types import Scope

_KEY = "headwater.access"


@dataclass(frozen=True, slots=True)
class Access:
    """Permissions of a request that endpoints check themselves."""

    has_key: bool
    """True if it was sent with a valid key."""
    may_write: bool = False
    """True if its key has the scope `write`; False without a key."""
    may_read_sql: bool = True
    """False if its key lacks the scope `sql`: SQL and code are hidden from the response."""


def set_access(scope: Scope, access: Access) -> None:
    """Store the permissions of a request."""
    scope[_KEY] = access


def access_of(scope: Scope) -> Access:
    """Return the permissions of a request; those without a key if none were stored."""
    found: Access = scope.get(_KEY, _WITHOUT_KEY)
    return found


_WITHOUT_KEY = Access(has_key=False)
