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

import sqlalchemy as sa

from headwater.errors import LogError

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


class _String(sa.TypeDecorator[str]):
    """A column of strings, stored and compared as `storable` returns them."""

    impl = sa.String
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Any) -> str | None:
        """Return the value to send to the database."""
        return value if value is None else storable(value)


class _Text(_String):
    """A `_String` of any length."""

    impl = sa.Text
    cache_ok = True


metadata = sa.MetaData()
_Sequence = sa.BigInteger().with_variant(sa.Integer, "sqlite")

meta = sa.Table(
    "meta",
    metadata,
    sa.Column("key", _String(64), primary_key=True),
    sa.Column("value", _Text, nullable=False),
)
events = sa.Table(
    "events",
    metadata,
    sa.Column("seq", _Sequence, primary_key=True, autoincrement=True),
    sa.Column("hash", _String(64), nullable=False, unique=True),
    sa.Column("kind", _String(32), nullable=False),
    sa.Column("event_time", sa.BigInteger, nullable=False, index=True),
    sa.Column("received_at", sa.BigInteger, nullable=False),
    sa.Column("body", _Text, nullable=False),
    sqlite_autoincrement=True,
)
offsets = sa.Table(
    "offsets",
    metadata,
    sa.Column("path", _Text, primary_key=True),
    sa.Column("inode", sa.BigInteger, nullable=False),
    sa.Column("position", sa.BigInteger, nullable=False),
    sa.Column("head", _String(64), nullable=False),
)
refused = sa.Table(
    "refused",
    metadata,
    sa.Column("id", _Sequence, primary_key=True, autoincrement=True),
    sa.Column("hash", _String(64), nullable=False, unique=True),
    sa.Column("received_at", sa.BigInteger, nullable=False),
    sa.Column("source", _Text, nullable=False),
    sa.Column("reason", _Text, nullable=False),
    sa.Column("line", _Text, nullable=False),
)
keys = sa.Table(
    "keys",
    metadata,
    sa.Column("name", _String(64), primary_key=True),
    sa.Column("hash", _String(64), nullable=False, unique=True),
    sa.Column("scopes", _Text, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
)
deliveries = sa.Table(
    "deliveries",
    metadata,
    sa.Column("backend", _String(64), primary_key=True),
    sa.Column("seq", sa.BigInteger, nullable=False),
    sa.Column("moved_at", sa.BigInteger),
    sa.Column("error", _Text),
    sa.Column("error_at", sa.BigInteger),
)
dead_letters = sa.Table(
    "dead_letters",
    metadata,
    sa.Column("backend", _String(64), primary_key=True),
    sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("reason", _Text, nullable=False),
    sa.Column("refused_at", sa.BigInteger, nullable=False),
    sa.Column("is_retried", sa.Boolean, nullable=False),
)
alerts = sa.Table(
    "alerts",
    metadata,
    sa.Column("rule", _String(64), primary_key=True),
    sa.Column("cause", _Text, primary_key=True),
    sa.Column("body", _Text, nullable=False),
    sa.Column("fired_at", sa.BigInteger, nullable=False),
    sa.Column("pending", _Text, nullable=False),
    sa.Column("error", _Text),
)
snapshots = sa.Table(
    "snapshots",
    metadata,
    sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("part", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("format", _String(64), nullable=False),
    sa.Column("event_time", sa.BigInteger, nullable=False),
    sa.Column("received_at", sa.BigInteger, nullable=False),
    sa.Column("data", sa.LargeBinary, nullable=False),
)
finding_states = sa.Table(
    "finding_states",
    metadata,
    sa.Column("id", _String(64), primary_key=True),
    sa.Column("kind", _String(64), nullable=False),
    sa.Column("subject", _Text, nullable=False),
    sa.Column("state", _String(16), nullable=False),
    sa.Column("fingerprint", _String(64), nullable=False),
    sa.Column("until", sa.BigInteger),
    sa.Column("note", _Text),
    sa.Column("changed_at", sa.BigInteger, nullable=False),
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
    """Create the tables of an empty store, or migrate those of an older version."""
    metadata.create_all(connection)
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
