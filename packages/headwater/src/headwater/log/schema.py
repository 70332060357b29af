"""The tables of the log. Change them, and those of plugins, only by a migration.

`events` is the log: `seq` is the order of arrival, `hash` the identity (SHA-256 of the canonical
JSON of `body`), `kind` the format of `body` ("openlineage", or since version 3 "alias" for two
joined names). Times are microseconds since 1970 in UTC. `offsets` stores the read position of each
spool file, `refused` the rejected lines, `keys` the hashes of API keys, `meta` the version of this
schema. Since version 4, `snapshots` stores the state after the events up to a `seq`, in parts, with
its `format` and the greatest times of these events. `snapshots` may be emptied at any time. Since
version 6, a key needs the scope `sql` to see SQL and code; keys that could read before have it.
Versions 2 and 5 added tables that plugins define today.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sqlalchemy as sa

from headwater.errors import LogError
from headwater.plugin import load_all

VERSION = 6
OPENLINEAGE = "openlineage"
ALIAS = "alias"


def storable(text: str) -> str:
    """Return a text that every database can store; NUL and lone surrogates become escapes.

    PostgreSQL cannot store NUL, and UTF-8 cannot encode lone surrogates. Both occur in lines
    that are not JSON, backend responses, file names and request paths.
    """
    if "\0" in text:
        text = text.replace("\0", "\\u0000")
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="backslashreplace").decode()
    return text


class String(sa.TypeDecorator[str]):
    """A column of strings, stored and compared as `storable` returns them."""

    impl = sa.String
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Any) -> str | None:
        """Return the value to send to the database."""
        return value if value is None else storable(value)


class Text(String):
    """A `String` of any length."""

    impl = sa.Text
    cache_ok = True


metadata = sa.MetaData()
_Sequence = sa.BigInteger().with_variant(sa.Integer, "sqlite")

meta = sa.Table(
    "meta",
    metadata,
    sa.Column("key", String(64), primary_key=True),
    sa.Column("value", Text, nullable=False),
)
events = sa.Table(
    "events",
    metadata,
    sa.Column("seq", _Sequence, primary_key=True, autoincrement=True),
    sa.Column("hash", String(64), nullable=False, unique=True),
    sa.Column("kind", String(32), nullable=False),
    sa.Column("event_time", sa.BigInteger, nullable=False, index=True),
    sa.Column("received_at", sa.BigInteger, nullable=False),
    sa.Column("body", Text, nullable=False),
    sqlite_autoincrement=True,
)
offsets = sa.Table(
    "offsets",
    metadata,
    sa.Column("path", Text, primary_key=True),
    sa.Column("inode", sa.BigInteger, nullable=False),
    sa.Column("position", sa.BigInteger, nullable=False),
    sa.Column("head", String(64), nullable=False),
)
refused = sa.Table(
    "refused",
    metadata,
    sa.Column("id", _Sequence, primary_key=True, autoincrement=True),
    sa.Column("hash", String(64), nullable=False, unique=True),
    sa.Column("received_at", sa.BigInteger, nullable=False),
    sa.Column("source", Text, nullable=False),
    sa.Column("reason", Text, nullable=False),
    sa.Column("line", Text, nullable=False),
)
keys = sa.Table(
    "keys",
    metadata,
    sa.Column("name", String(64), primary_key=True),
    sa.Column("hash", String(64), nullable=False, unique=True),
    sa.Column("scopes", Text, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
)
snapshots = sa.Table(
    "snapshots",
    metadata,
    sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("part", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("format", String(64), nullable=False),
    sa.Column("event_time", sa.BigInteger, nullable=False),
    sa.Column("received_at", sa.BigInteger, nullable=False),
    sa.Column("data", sa.LargeBinary, nullable=False),
)


def _add_scope_sql(connection: sa.Connection) -> None:
    """Add the scope `sql` to keys that could read, so that they still see SQL and code."""
    for name, scopes in connection.execute(sa.select(keys.c.name, keys.c.scopes)).all():
        if "read" in scopes.split(","):
            more = ",".join(sorted({*scopes.split(","), "sql"}))
            connection.execute(sa.update(keys).where(keys.c.name == name).values(scopes=more))


_MIGRATIONS: dict[int, Callable[[sa.Connection], None]] = {6: _add_scope_sql}
"""Migrations of data, by the schema version that they produce.

Other versions only added tables, which are created before any migration, or a kind of row.
"""


def prepare(connection: sa.Connection) -> None:
    """Create the tables of an empty store, or migrate those of an older version.

    Raises LogError if the schema version is newer than VERSION, or not a number.
    """
    for tables in (metadata, *load_all("tables")):
        tables.create_all(connection)
    row = connection.execute(sa.select(meta.c.value).where(meta.c.key == "schema_version")).first()
    if row is None:
        connection.execute(sa.insert(meta).values(key="schema_version", value=str(VERSION)))
        return
    if not (row.value.isascii() and row.value.isdigit() and int(row.value) > 0):
        raise LogError(
            f"the store has schema version {row.value!r}, expected a number from 1 to {VERSION}:"
            " it is damaged. Restore a backup. If only this value is wrong, correct it with"
            f" SQL: UPDATE meta SET value = '{VERSION}' WHERE key = 'schema_version'"
        )
    found = int(row.value)
    if found > VERSION:
        raise LogError(
            f"the store has schema version {found}, this headwater supports up to {VERSION}:"
            " install a newer headwater or use another database"
        )
    for version in sorted(version for version in _MIGRATIONS if version > found):
        _MIGRATIONS[version](connection)
    connection.execute(
        sa.update(meta).where(meta.c.key == "schema_version").values(value=str(VERSION))
    )
