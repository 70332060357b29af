"""SQL texts: of SQLAlchemy's engines, and of the drivers that pandas and Polars use.

A text is *whole* if all that it reads are known datasets: tables of a known database, and no values
from Python. It is *readable* if the server can complete the names in it. `Tables` are the names in
a text, as `_sql.tables_of` finds them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from types import ModuleType
from typing import Any

from headwater_client.capture._names import Database, database_of_url
from headwater_client.capture._recorder import Capture, Captured, CapturedQuery, current, log
from headwater_client.capture._sql import Tables, tables_of


def patch(module: ModuleType) -> None:
    """Listen to the statements of all engines of SQLAlchemy."""
    event = sys.modules["sqlalchemy.event"]
    event.listen(module.Engine, "after_cursor_execute", _after_execute)


def _after_execute(
    connection: Any, cursor: Any, statement: str, parameters: Any, context: Any, many: bool
) -> None:
    """Record a statement that an engine has executed; SQLAlchemy calls this after each one."""
    capture = current()
    if capture is None:
        return
    try:
        if database := database_of(connection):
            found = tables_of(statement, database.dialect)
            is_known = not is_filled(statement, found, parameters)
            add(capture, statement, database.dialect, found, database, is_known=is_known)
    except Exception as error:  # lineage must never break a query
        log.debug("a query is not recorded: %r", error)


def is_filled(sql: str, found: Tables, parameters: Any) -> bool:
    """Return True if a text writes parameters from Python, whose sources are unknown."""
    is_written = bool(found.writes) and not (found.reads or found.files_read)
    has_values = parameters is not None and len(parameters) > 0
    return is_written and has_values and sql.lstrip()[:6].upper() != "DELETE"


def database_of(connection: Any) -> Database | None:
    """Return the database of an engine or connection of SQLAlchemy or sqlite3; None for others.

    A text is the URL of a database. The result for an engine is kept in its attribute `_headwater`.
    In SQLite, other files may be attached, and temporary tables exist only in the connection.
    """
    module = type(connection).__module__
    if module.startswith("sqlalchemy."):
        engine = getattr(connection, "engine", connection)
        if (known := getattr(engine, "_headwater", None)) is not None:
            return known or None
        url = engine.url.render_as_string(hide_password=True)
        schema = getattr(engine.dialect, "default_schema_name", None)
        database = database_of_url(url, schema)
        engine._headwater = database or False
        return database
    if module == "sqlite3":
        rows = connection.execute("PRAGMA database_list").fetchall()
        paths = {row[1]: row[2] for row in rows}
        database = _sqlite(paths.get("main", ""))
        if database is not None:
            database.attached = {name: _sqlite(path) for name, path in paths.items()}
            del database.attached["main"]
            database.attached.pop("temp", None)
            query = "SELECT name FROM sqlite_temp_master"
            database.temporary = {row[0].lower() for row in connection.execute(query).fetchall()}
        return database
    if isinstance(connection, str):
        return database_of_url(connection)
    return None


def _sqlite(path: str) -> Database | None:
    return database_of_url(f"sqlite:///{path}") if path else None


def record_query(capture: Capture, connection: Any, sql: Any) -> CapturedQuery | None:
    """Return the query that pandas or Polars ran; record it if its driver has no hooks.

    Those of SQLAlchemy record it by itself. Those of DuckDB also bind the result, so that it is
    None here, as it is for an unknown database. A text that is one word is the name of a table.
    """
    if type(connection).__module__.startswith(("duckdb", "_duckdb")):
        return None  # its own hooks record it
    database = database_of(connection)
    text = str(sql)
    if database is None:
        return None
    if text.isidentifier():
        text = f"SELECT * FROM {text}"
    if type(connection).__module__.startswith("sqlalchemy."):
        query = _query(text, database.dialect, tables_of(text, database.dialect), database)
        return capture.resolve(query) if query else None
    return record(capture, text, database)


def record_text(capture: Capture, sql: str, url: str) -> CapturedQuery | None:
    """Record a text that ran on the database of a URL."""
    database = database_of_url(url)
    return record(capture, sql, database) if database else None


def record(
    capture: Capture, sql: str, database: Database, others: Sequence[Captured] = ()
) -> CapturedQuery | None:
    """Record a text; `others` are inputs that it does not name. None if it names no dataset."""
    return add(capture, sql, database.dialect, tables_of(sql, database.dialect), database, others)


def add(
    capture: Capture,
    sql: str,
    dialect: str,
    found: Tables,
    database: Database | None,
    others: Sequence[Captured] = (),
    *,
    files: Sequence[Captured] = (),
    is_known: bool = True,
    is_readable: bool = True,
) -> CapturedQuery | None:
    """Add the datasets that a text names; tables have names only in a known database.

    `others` are further inputs, and `files` are the files that the text writes. `is_known` is False
    if the text also reads other data. `is_readable` is False if the server cannot complete the
    names in the text. Temporary tables are replaced by their sources in the returned query.
    """
    if database is not None:
        for parts in found.temporary:
            database.temporary.add(parts[-1].lower())
            capture.add_temporary(database.temporary_table(parts))
    how = {"is_known": is_known, "is_readable": is_readable}
    query = _query(sql, dialect, found, database, others, files, **how)
    if database is not None:
        for parts in found.dropped:
            database.temporary.discard(parts[-1].lower())
            capture.drop_temporary(database.temporary_table(parts))
    return capture.add_query(query) if query else None


def _query(
    sql: str,
    dialect: str,
    found: Tables,
    database: Database | None,
    others: Sequence[Captured] = (),
    files: Sequence[Captured] = (),
    *,
    is_known: bool = True,
    is_readable: bool = True,
) -> CapturedQuery | None:
    """Return a text with its datasets, without recording it; None if it names none.

    The arguments are those of `add`.
    """
    names = _names(database, found.reads)
    inputs = (*others, *(Captured(*name) for name in names))
    outputs = tuple(Captured(*name) for name in _names(database, found.writes))
    if not (inputs or outputs or files):
        return None
    is_readable = is_readable and not others and not found.files_read and not found.files_written
    is_whole = len(names) == len(found.reads) and is_known
    query = CapturedQuery(sql, dialect, tuple(inputs), outputs, is_readable, is_whole)
    return replace(query, files=tuple(files))


def _names(database: Database | None, tables: Iterable[tuple[str, ...]]) -> list[tuple[str, str]]:
    named = [database.table(parts) for parts in tables] if database else []
    return [name for name in named if name]
