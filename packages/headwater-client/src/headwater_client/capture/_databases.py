"""Record the SQL texts of SQLAlchemy's engines, and of the drivers that pandas and Polars use.

A text is *whole* if all that it reads are known datasets: tables of a known database, and no values
from Python. It is *readable* if the server can complete the names in it. `Tables` are the names in
a text, as `_sql.tables_of` finds them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from types import ModuleType
from typing import Any

from headwater_client.capture._changes import TableChange, Tables
from headwater_client.capture._executions import Execution, Transaction
from headwater_client.capture._names import Database, database_of_url, is_temporary
from headwater_client.capture._recorder import (
    Capture,
    Captured,
    CapturedQuery,
    current,
    log,
    paused,
)
from headwater_client.capture._sql import tables_of

_EXECUTION, _TRANSACTION = "_headwater_execution", "_headwater_transaction"
_LOOKED_UP = ("sqlite", "postgres")
"""Databases in which a query between two statements of the user has no effect."""
_WITH_TRANSACTIONS = ("sqlite", "postgres", "mssql", "duckdb")
"""Databases in which a transaction can undo DROP TABLE; in others, it is committed at once."""


def patch(module: ModuleType) -> None:
    """Listen to the statements and transactions of all engines of SQLAlchemy."""
    event = sys.modules["sqlalchemy.event"]
    event.listen(module.Engine, "before_cursor_execute", _before_execute)
    event.listen(module.Engine, "after_cursor_execute", _after_execute)
    for name in ("commit", "commit_twophase"):
        event.listen(module.Engine, name, _quietly(Transaction.commit))
    for name in ("rollback", "rollback_twophase"):
        event.listen(module.Engine, name, _quietly(Transaction.roll_back))
    event.listen(module.Engine, "savepoint", _quietly(Transaction.save))
    event.listen(module.Engine, "rollback_savepoint", _quietly(Transaction.roll_back_to))


def _quietly(change: Callable[..., None]) -> Callable[..., None]:
    """Return a listener that changes the transaction of a connection."""

    def listener(connection: Any, *arguments: Any) -> None:
        try:
            if (known := connection.info.get(_TRANSACTION)) is not None:
                is_of_savepoint = change in (Transaction.save, Transaction.roll_back_to)
                change(known, *(arguments[:1] if is_of_savepoint else ()))
        except Exception as error:  # lineage must never break a transaction
            log.debug("changes of tables are not recorded: %r", error)

    return listener


def _before_execute(
    connection: Any, cursor: Any, statement: str, parameters: Any, context: Any, many: bool
) -> None:
    """Store the start and, if needed, which tables exist of those that are created or dropped."""
    if current() is None:
        return
    try:
        execution = connection.info[_EXECUTION] = Execution()
        database = database_of(connection)
        if database is not None and database.dialect in _LOOKED_UP:
            found = tables_of(statement, database.dialect)
            for parts in found.looked_up:
                if len(parts) <= 2:
                    with paused():
                        inspector = sys.modules["sqlalchemy"].inspect(connection)
                        schema = parts[0] if len(parts) == 2 else None
                        execution.existing[parts] = inspector.has_table(parts[-1], schema)
    except Exception as error:  # lineage must never break a query
        log.debug("a query is not recorded completely: %r", error)


def _after_execute(
    connection: Any, cursor: Any, statement: str, parameters: Any, context: Any, many: bool
) -> None:
    """Record a statement that an engine has executed; SQLAlchemy calls this after each one."""
    capture = current()
    if capture is None:
        return
    try:
        if database := database_of(connection):
            execution = connection.info.pop(_EXECUTION, None) or Execution()
            execution = replace(execution, ended=datetime.now(UTC))
            found = tables_of(statement, database.dialect)
            if not _is_committed(connection, found, database.dialect):
                execution.transaction = connection.info.setdefault(_TRANSACTION, Transaction())
            _record_statements(capture, statement, parameters, database, found, execution)
            if found.transactions and (known := connection.info.get(_TRANSACTION)) is not None:
                for name in found.transactions:
                    known.apply(name)
    except Exception as error:  # lineage must never break a query
        log.debug("a query is not recorded: %r", error)


def _record_statements(
    capture: Capture,
    sql: str,
    parameters: Any,
    database: Database,
    found: Tables,
    execution: Execution,
) -> None:
    """Record a text; if it changes whole tables, as DROP does, record each statement by itself.

    Then each statement has its own time, so that reads, changes and writes of a table are in order.
    """
    texts = [(sql, execution)]
    if found.changes_tables and ";" in sql:
        texts = list(execution.statements(sql, database.dialect))
    for text, own in texts:
        tables = found if text == sql else tables_of(text, database.dialect)
        is_known = not is_filled(text, tables, parameters)
        add(capture, text, database.dialect, tables, database, is_known=is_known, execution=own)


def _is_committed(connection: Any, found: Tables, dialect: str) -> bool:
    """Return True if the changes of a statement are not part of an open transaction."""
    if not found.changes:
        return True
    driver = getattr(connection.connection, "dbapi_connection", None)
    options = connection.get_execution_options()
    has_autocommit = getattr(driver, "autocommit", None) is True
    has_autocommit |= options.get("isolation_level") == "AUTOCOMMIT"
    has_ended = getattr(driver, "in_transaction", None) is False
    return has_autocommit or has_ended or dialect not in _WITH_TRANSACTIONS


def is_filled(sql: str, found: Tables, parameters: Any) -> bool:
    """Return True if a text writes parameters from Python, whose sources are unknown."""
    is_written = bool(found.writes) and not (found.reads or found.files_read)
    has_values = parameters is not None and len(parameters) > 0
    return is_written and has_values and sql.lstrip()[:6].upper() != "DELETE"


def database_of(connection: Any) -> Database | None:
    """Return the database of an engine or connection of SQLAlchemy or sqlite3; None for others.

    A str is the URL of a database. The result for an engine is cached in its attribute
    `_headwater`. In SQLite, other files may be attached, and temporary tables exist only in the
    connection.
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

    The hooks of SQLAlchemy and DuckDB record it; those of DuckDB also bind the result, so that None
    is returned here, as for an unknown database. A text of one word is the name of a table.
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
    execution: Execution | None = None,
) -> CapturedQuery | None:
    """Add the datasets that a text names; tables have names only in a known database.

    `others` are further inputs, and `files` are the files that the text writes. `is_known` is False
    if the text also reads other data. `is_readable` is False if the server cannot complete the
    names in the text. Temporary tables are replaced by their sources in the returned query. A table
    that is created only if it does not exist is not written if it existed; if that is unknown
    (None), the query is not whole. In an open transaction, a removal or another write without rows
    counts once it is committed.
    """
    execution = execution or Execution()
    existed = [execution.existing.get(parts) for parts in found.conditional]
    if any(existed):
        return None
    if database is not None:
        for parts in found.temporary:
            database.temporary.add(parts[-1].lower())
            capture.add_temporary(database.temporary_table(parts))
    how = {"is_known": is_known and None not in existed, "is_readable": is_readable}
    query = _query(sql, dialect, found, database, others, files, execution, **how)
    _apply(found, execution)
    if database is not None:
        for change in found.changes:
            if change.kind == "DROP":
                database.temporary.discard(change.table[-1].lower())
                capture.drop_temporary(database.temporary_table(change.table))
    if query is None:
        return None
    if execution.transaction is not None and not all(item.has_rows for item in query.outputs):
        execution.transaction.add(capture, query)
        return query
    return capture.add_query(query)


def _apply(found: Tables, execution: Execution) -> None:
    """Update which tables exist after a statement."""
    for change in found.changes:
        execution.existing[change.target] = False
        execution.existing[change.table] = change.kind != "DROP"
    execution.existing.update(dict.fromkeys((*found.writes, *found.created), True))


def _query(
    sql: str,
    dialect: str,
    found: Tables,
    database: Database | None,
    others: Sequence[Captured] = (),
    files: Sequence[Captured] = (),
    execution: Execution | None = None,
    *,
    is_known: bool = True,
    is_readable: bool = True,
) -> CapturedQuery | None:
    """Return a text with its datasets, without recording it; None if it names none.

    The arguments are those of `add`.
    """
    execution = execution or Execution()
    names = _names(database, found.reads)
    inputs = [*others, *(Captured(*name) for name in names)]
    # A transaction may undo it. Until then, it is a write, which later queries read.
    replaced = [] if execution.transaction else _names(database, found.replaced)
    outputs = [
        Captured(*name, change="OVERWRITE" if name in replaced else None)
        for name in _names(database, found.writes)
    ]
    for change in found.changes if database else ():
        if not (change.is_conditional and execution.existing.get(change.target) is False):
            outputs += _changed(database, change)
    inputs += [Captured(*item.former) for item in outputs if item.former]
    if not (inputs or outputs or files):
        return None
    is_readable = is_readable and not others and not found.files_read and not found.files_written
    is_whole = len(names) == len(found.reads) and is_known
    about = sql, dialect, tuple(inputs), tuple(outputs), is_readable, is_whole
    return CapturedQuery(*about, execution.started, tuple(files), execution.ended)


def _changed(database: Database | None, change: TableChange) -> list[Captured]:
    """Return the dataset of a table that was dropped, emptied or renamed."""
    name = database.table(change.table) if database else None
    former = database.table(change.former) if database and change.former else None
    if name is None or (change.former and (former is None or is_temporary(former))):
        return []
    return [Captured(*name, change=change.kind, former=former)]


def _names(database: Database | None, tables: Iterable[tuple[str, ...]]) -> list[tuple[str, str]]:
    named = [database.table(parts) for parts in tables] if database else []
    return [name for name in named if name]
