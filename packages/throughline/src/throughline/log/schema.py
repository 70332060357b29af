"""The tables of the log. Change them only by a migration.

`events` is the log: `seq` is the order of arrival, `hash` the identity (SHA-256 of the canonical
JSON of `body`), `kind` the format of `body` ("openlineage", or since version 3 "alias" for two
joined names). Times are microseconds since 1970 in UTC. `offsets` stores the read position of each
spool file, `refused` the rejected lines, `keys` the hashes of API keys, `meta` the version of this
schema. Since version 2, `deliveries` stores the cursor of each backend, `dead_letters` the events
that it rejected, and `alerts` the causes for which rules fired. Since version 4, `snapshots` stores
the state after the events up to a `seq`, in parts, with its `format` and the greatest times of
these events. `snapshots` may be emptied at any time. Since version 5, `finding_states` stores
which findings are muted or acknowledged: `id` identifies a finding by its kind and subject,
`fingerprint` its content. Since version 6, a key needs the scope `sql` to see SQL and code; keys
that could read before have it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    insert,
    select,
    update,
)

from throughline.errors import LogError

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
    if text.isascii():
        return text
    return text.encode(errors="backslashreplace").decode()


class _String(TypeDecorator[str]):
    """A column of strings, stored and compared as `storable` returns them."""

    impl = String
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Any) -> str | None:
        """Return the value to send to the database."""
        return value if value is None else storable(value)


class _Text(_String):
    """A `_String` of any length."""

    impl = Text
    cache_ok = True


metadata = MetaData()
_Sequence = BigInteger().with_variant(Integer, "sqlite")

meta = Table(
    "meta",
    metadata,
    Column("key", _String(64), primary_key=True),
    Column("value", _Text, nullable=False),
)
events = Table(
    "events",
    metadata,
    Column("seq", _Sequence, primary_key=True, autoincrement=True),
    Column("hash", _String(64), nullable=False, unique=True),
    Column("kind", _String(32), nullable=False),
    Column("event_time", BigInteger, nullable=False, index=True),
    Column("received_at", BigInteger, nullable=False),
    Column("body", _Text, nullable=False),
    sqlite_autoincrement=True,
)
offsets = Table(
    "offsets",
    metadata,
    Column("path", _Text, primary_key=True),
    Column("inode", BigInteger, nullable=False),
    Column("position", BigInteger, nullable=False),
    Column("head", _String(64), nullable=False),
)
refused = Table(
    "refused",
    metadata,
    Column("id", _Sequence, primary_key=True, autoincrement=True),
    Column("hash", _String(64), nullable=False, unique=True),
    Column("received_at", BigInteger, nullable=False),
    Column("source", _Text, nullable=False),
    Column("reason", _Text, nullable=False),
    Column("line", _Text, nullable=False),
)
keys = Table(
    "keys",
    metadata,
    Column("name", _String(64), primary_key=True),
    Column("hash", _String(64), nullable=False, unique=True),
    Column("scopes", _Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
)
deliveries = Table(
    "deliveries",
    metadata,
    Column("backend", _String(64), primary_key=True),
    Column("seq", BigInteger, nullable=False),
    Column("moved_at", BigInteger),
    Column("error", _Text),
    Column("error_at", BigInteger),
)
dead_letters = Table(
    "dead_letters",
    metadata,
    Column("backend", _String(64), primary_key=True),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("reason", _Text, nullable=False),
    Column("refused_at", BigInteger, nullable=False),
    Column("is_retried", Boolean, nullable=False),
)
alerts = Table(
    "alerts",
    metadata,
    Column("rule", _String(64), primary_key=True),
    Column("cause", _Text, primary_key=True),
    Column("body", _Text, nullable=False),
    Column("fired_at", BigInteger, nullable=False),
    Column("pending", _Text, nullable=False),
    Column("error", _Text),
)
snapshots = Table(
    "snapshots",
    metadata,
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("part", Integer, primary_key=True, autoincrement=False),
    Column("format", _String(64), nullable=False),
    Column("event_time", BigInteger, nullable=False),
    Column("received_at", BigInteger, nullable=False),
    Column("data", LargeBinary, nullable=False),
)
finding_states = Table(
    "finding_states",
    metadata,
    Column("id", _String(64), primary_key=True),
    Column("kind", _String(64), nullable=False),
    Column("subject", _Text, nullable=False),
    Column("state", _String(16), nullable=False),
    Column("fingerprint", _String(64), nullable=False),
    Column("until", BigInteger),
    Column("note", _Text),
    Column("changed_at", BigInteger, nullable=False),
)


def _add_scope_sql(connection: Connection) -> None:
    """Add the scope `sql` to keys that could read, so that they still see SQL and code."""
    for name, scopes in connection.execute(select(keys.c.name, keys.c.scopes)).all():
        if "read" in scopes.split(","):
            more = ",".join(sorted({*scopes.split(","), "sql"}))
            connection.execute(update(keys).where(keys.c.name == name).values(scopes=more))


_MIGRATIONS: dict[int, Callable[[Connection], None]] = {6: _add_scope_sql}
"""Migrations of data, by the schema version that they produce.

Other versions only added tables, which are created before any migration, or a kind of row.
"""


def prepare(connection: Connection) -> None:
    """Create the tables of an empty store, or migrate those of an older version."""
    metadata.create_all(connection)
    row = connection.execute(select(meta.c.value).where(meta.c.key == "schema_version")).first()
    if row is None:
        connection.execute(insert(meta).values(key="schema_version", value=str(VERSION)))
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
            f"the store has schema version {found}, this throughline supports up to {VERSION}:"
            " install a newer throughline or use another database"
        )
    for version in sorted(version for version in _MIGRATIONS if version > found):
        _MIGRATIONS[version](connection)
    connection.execute(
        update(meta).where(meta.c.key == "schema_version").values(value=str(VERSION))
    )
