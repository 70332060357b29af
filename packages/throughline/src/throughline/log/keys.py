"""API keys: made here, shown once, kept as hashes.

A key is 256 random bits, so its SHA-256 says nothing about it and cannot be found by trying: the
slow, salted hashes that passwords need would only make each request slow.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from sqlalchemy import delete, insert, select

from throughline.errors import ConfigError, NotFoundError
from throughline.log import schema
from throughline.log.store import EventLog
from throughline.spec import shown_time

SCOPES = ("read", "write", "admin")
"""What a key may do: ask, bring events, and everything."""

_NAME = re.compile(r"[\w.@-]{1,64}")


@dataclass(frozen=True, slots=True)
class Key:
    """A key as it is kept: `hash` is the SHA-256 of its text, `created_at` in microseconds."""

    name: str
    scopes: frozenset[str]
    created_at: int
    hash: str

    def may(self, scope: str) -> bool:
        """Whether the key has a scope; `admin` is all of them."""
        return scope in self.scopes or "admin" in self.scopes

    def shown(self) -> dict[str, Any]:
        """The key as JSON, without its hash."""
        created = shown_time(self.created_at)
        return {"name": self.name, "scopes": sorted(self.scopes), "createdAt": created}


def hash_of(text: str) -> str:
    """What is kept of a key."""
    return hashlib.sha256(text.encode()).hexdigest()


def add_key(log: EventLog, name: str, scopes: Collection[str]) -> str:
    """Make a key; its text, which cannot be had again.

    Raises:
        ConfigError: the name is taken or no name, or a scope is none.
    """
    if not _NAME.fullmatch(name):
        raise ConfigError(f"name: received {name!r}, expected 1 to 64 letters, digits or . _ - @")
    if not scopes or not set(scopes) <= set(SCOPES):
        given = ", ".join(scopes)
        raise ConfigError(f"scopes: received {given!r}, expected some of {', '.join(SCOPES)}")
    text = f"tl_{secrets.token_urlsafe(32)}"
    row = {"name": name, "hash": hash_of(text), "scopes": ",".join(sorted(set(scopes)))}
    with log.writing() as connection:
        if connection.execute(select(schema.keys).where(schema.keys.c.name == name)).first():
            raise ConfigError(f"name: there is a key {name!r} already: remove it, or name another")
        connection.execute(insert(schema.keys), {**row, "created_at": time.time_ns() // 1_000})
    return text


def keys_of(log: EventLog) -> list[Key]:
    """Every key, by name."""
    with log.reading() as connection:
        rows = connection.execute(select(schema.keys).order_by(schema.keys.c.name)).all()
    return [Key(r.name, frozenset(r.scopes.split(",")), r.created_at, r.hash) for r in rows]


def remove_key(log: EventLog, name: str) -> None:
    """Take a key away.

    Raises:
        NotFoundError: there is no key of that name; carries those that there are.
    """
    with log.writing() as connection:
        gone = connection.execute(delete(schema.keys).where(schema.keys.c.name == name))
    if not gone.rowcount:
        raise NotFoundError(f"there is no key {name!r}", [key.name for key in keys_of(log)])
