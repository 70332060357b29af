"""API keys: shown once when created, stored as hashes.

A key is 256 random bits, so SHA-256 is sufficient. The slow, salted hashes that passwords require
would only slow down every request.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import delete, insert, select
from typing_extensions import TypedDict

from headwater.errors import ConfigError, NotFoundError
from headwater.events import shown_time
from headwater.log import schema
from headwater.log.store import EventLog

SCOPES = ("read", "write", "admin", "sql")
"""The scopes of a key: run queries, send events, do everything, and receive SQL and code."""

_PREFIX = "hw_"  # so that people and scanners recognize a key; older keys have `tl_`
_NAME = re.compile(r"[\w.@-]{1,64}")


class KeyInfo(TypedDict):
    """A key without its text."""

    name: str
    scopes: list[str]
    createdAt: str


@dataclass(frozen=True, slots=True)
class Key:
    """A stored key: `hash` is the SHA-256 of its text, `created_at` in microseconds."""

    name: str
    scopes: frozenset[str]
    created_at: int
    hash: str

    def may(self, scope: str) -> bool:
        """Return True if the key has a scope; `admin` includes all."""
        return scope in self.scopes or "admin" in self.scopes

    def info(self) -> KeyInfo:
        """Return the key without its hash."""
        created = shown_time(self.created_at)
        return {"name": self.name, "scopes": sorted(self.scopes), "createdAt": created}


def hash_of(text: str) -> str:
    """Return the stored hash of a key."""
    return hashlib.sha256(text.encode()).hexdigest()


def add_key(log: EventLog, name: str, scopes: Collection[str]) -> str:
    """Create a key and return its text, which is not stored.

    Raises:
        ConfigError: the name is invalid or in use, or a scope is invalid.
        LogError: the database does not respond, or another process adds the name at the same time.

    `scopes` are some of SCOPES. The text is shown once and cannot be found again.
    """
    if not _NAME.fullmatch(name):
        raise ConfigError(f"name: received {name!r}, expected 1 to 64 letters, digits or . _ - @")
    if not scopes or not set(scopes) <= set(SCOPES):
        received = ", ".join(scopes)
        raise ConfigError(f"scopes: received {received!r}, expected some of {', '.join(SCOPES)}")
    text = f"{_PREFIX}{secrets.token_urlsafe(32)}"
    row = {"name": name, "hash": hash_of(text), "scopes": ",".join(sorted(set(scopes)))}
    with log.writing() as connection:
        if connection.execute(select(schema.keys).where(schema.keys.c.name == name)).first():
            raise ConfigError(f"name: a key {name!r} already exists; remove it or use another name")
        connection.execute(insert(schema.keys), {**row, "created_at": time.time_ns() // 1_000})
    return text


def keys_of(log: EventLog) -> list[Key]:
    """Return every key, by name."""
    rows = log.fetch(select(schema.keys).order_by(schema.keys.c.name))
    return [Key(r.name, frozenset(r.scopes.split(",")), r.created_at, r.hash) for r in rows]


def remove_key(log: EventLog, name: str) -> None:
    """Delete a key. Raises NotFoundError, with the existing names, if there is no such key."""
    with log.writing() as connection:
        deleted = connection.execute(delete(schema.keys).where(schema.keys.c.name == name))
    if not deleted.rowcount:
        raise NotFoundError(f"there is no key {name!r}", [key.name for key in keys_of(log)])
