"""The table of the results of reading SQL texts, which can be emptied at any time.

`key` identifies a text with the schemas that were known, `version` the code that read it. `result`
is packed and has a check sum, see `headwater.plugins.sql.results`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import sqlalchemy as sa

from headwater.log import EventLog
from headwater.log.schema import String

_PAGE = 1_000

metadata = sa.MetaData()
_results = sa.Table(
    "sql_results",
    metadata,
    sa.Column("key", sa.LargeBinary(16), primary_key=True),
    sa.Column("version", String(32), nullable=False),
    sa.Column("result", sa.LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)


def results_of(log: EventLog, version: str) -> Iterator[tuple[bytes, bytes]]:
    """Yield the keys and packed results of a version of the reader. Raises LogError."""
    columns = _results.c
    with log.reading() as connection:
        query = sa.select(columns.key, columns.result).where(columns.version == version)
        for key, packed in connection.execution_options(yield_per=_PAGE).execute(query):
            yield bytes(key), bytes(packed)


def remove_other_versions(log: EventLog, version: str) -> None:
    """Remove the results of other versions of the reader. Raises LogError."""
    is_other = _results.c.version != version
    if log.value(sa.select(sa.func.count()).select_from(_results).where(is_other)):
        with log.writing() as connection:
            connection.execute(sa.delete(_results).where(is_other))


def add(log: EventLog, version: str, rows: Sequence[tuple[bytes, bytes]]) -> None:
    """Store packed results by key, in place of former ones. Raises LogError."""
    found = [{"key": key, "version": version, "result": packed} for key, packed in rows]
    with log.writing() as connection:
        connection.execute(sa.delete(_results).where(_results.c.key.in_([key for key, _ in rows])))
        connection.execute(sa.insert(_results), found)


def remove(log: EventLog, keys: Sequence[bytes]) -> None:
    """Remove results. Raises LogError."""
    for start in range(0, len(keys), _PAGE // 2):
        with log.writing() as connection:
            some = keys[start : start + _PAGE // 2]
            connection.execute(sa.delete(_results).where(_results.c.key.in_(some)))
