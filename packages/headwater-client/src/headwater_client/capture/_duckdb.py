"""Queries, reads and writes of DuckDB.

A query may name tables, files and variables of Python: frames whose sources are known, or objects
that were registered as a view. A name without a database is in the current one, which ATTACH and
USE change. Functions named `_before_…` run before a call and return what `_after_…` gets as
`found`.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from types import FrameType, ModuleType
from typing import Any
from urllib.parse import quote
from weakref import WeakKeyDictionary, ref

from headwater_client.capture._changes import Tables
from headwater_client.capture._databases import add, is_filled
from headwater_client.capture._executions import Execution, Transaction
from headwater_client.capture._hooks import Call, wrap
from headwater_client.capture._names import Database, Name, database_of_url, is_temporary, names_of
from headwater_client.capture._origins import bind, origin_of
from headwater_client.capture._recorder import Capture, Captured
from headwater_client.capture._sql import tables_of

_QUERIES = ("sql", "query", "execute", "executemany", "from_query")
_BUILT = ("sql", "query", "from_query")
"""Functions whose query runs when its result is used, unless it changes data."""
_READS = ("read_parquet", "read_csv", "read_json", "from_parquet", "from_csv_auto")
_WRITES = ("write_parquet", "to_parquet", "write_csv", "to_csv")
_RESULTS = (
    *("df", "fetchdf", "fetch_df", "to_df", "pl", "arrow", "to_arrow_table", "fetch_arrow_table"),
    *("fetch_record_batch", "fetch_arrow_reader", "to_arrow_reader"),
)
_FRAMES = ("pandas", "polars", "pyarrow", "duckdb", "_duckdb")
_CHANGES = re.compile(r"\b(?:attach|detach)\b", re.IGNORECASE)
_SPELLED = """
    SELECT table_name FROM duckdb_tables() WHERE lower(table_name) = ? AND NOT temporary UNION ALL
    SELECT view_name FROM duckdb_views() WHERE lower(view_name) = ? AND NOT temporary
"""
_CALL = compile(
    "_headwater_call[0](*_headwater_call[1], **_headwater_call[2])", "<headwater>", "eval"
)
_TABLE = compile("_headwater_table[0](_headwater_table[1])", "<headwater>", "eval")
_module: ModuleType | None = None


def patch(module: ModuleType) -> None:
    """Wrap the functions of DuckDB. A query counts when it is built, even if it runs later.

    Those of the module use its default connection, those of `DuckDBPyConnection` their own; a
    `DuckDBPyRelation` is a query that is not run yet.
    """
    global _module
    _module = module
    for owner in (module, module.DuckDBPyConnection):
        for name in _QUERIES:
            before = partial(_before_query, is_built=name in _BUILT)
            wrap(owner, name, before, _after_query, _called_in_the_frame_of_the_user)
        for name in _READS:
            wrap(owner, name, _before_read, _after_read)
    for owner in (module, module.DuckDBPyConnection):
        for name in ("begin", "commit", "rollback"):
            wrap(owner, name, partial(_before_transaction, name.upper()), _after_transaction)
    wrap(module.DuckDBPyConnection, "register", _before_register, _after_register)
    wrap(module.DuckDBPyConnection, "append", _before_append, _after_append)
    for owner in (module.DuckDBPyRelation, module.DuckDBPyConnection):
        for name in _RESULTS:
            wrap(owner, name, _nothing, _after_result)
    for name in _WRITES:
        wrap(module.DuckDBPyRelation, name, _before_write, _after_write)


def _called_in_the_frame_of_the_user(original: Any, args: Any, kwargs: Any) -> Any:
    """Call a function where DuckDB finds the variables of the user, which a query may name."""
    frame = sys._getframe(2)
    scope = {**frame.f_locals, "_headwater_call": (original, args, kwargs)}
    return eval(_CALL, frame.f_globals, scope)


def _before_query(capture: Capture, call: Call, *, is_built: bool) -> Any:
    """Return what must be determined before a query runs: its text, tables, objects and connection.

    The variables are looked up now, because the frame that has them may end, and the tables that it
    changes, because it may drop them. Return None for a query that is no text.
    """
    is_method = bool(call.args) and not isinstance(call.args[0], str)
    sql = call.get(1 if is_method else 0, "query")
    if not isinstance(sql, str) or _module is None:
        return None
    connection = call.args[0] if is_method else call.kwargs.get("connection")
    connection = connection or _module.default_connection()
    found = tables_of(sql, "duckdb")
    known = _connection(connection) if found.changes_tables else _connections.get(connection)
    execution = Execution(call.started)
    if known is not None and not (found.used or _CHANGES.search(sql)):
        known.look_up_changed(connection, found)
        existing = ((parts, _exists(connection, parts)) for parts in found.looked_up)
        execution.existing = {parts: exists for parts, exists in existing if exists is not None}
    tables, objects = _without_objects(found, call.frame, known)
    parameters = call.get(2 if is_method else 1, "parameters", "params")
    return sql, tables, objects, connection, parameters, execution, is_built


def _exists(connection: Any, parts: tuple[str, ...]) -> bool | None:
    """Return True if the transaction of a connection sees a table or view; None if unknown."""
    assert _module is not None
    name = ".".join('"' + part.replace('"', '""') + '"' for part in parts)
    try:  # without variables, in which DuckDB would find tables of Python
        eval(_TABLE, {"__builtins__": {}}, {"_headwater_table": (connection.table, name)})
    except (_module.CatalogException, _module.InvalidInputException):
        return False
    return True


def _without_objects(
    found: Tables, frame: FrameType, connection: _Connection | None
) -> tuple[Tables, list[Any]]:
    """Split the names in a text into tables, and the Python objects that variables name.

    `frame` is that of the caller. A registered view comes first, then a temporary table, then a
    variable with a frame of a known library.
    """
    reads, objects = [], []
    for parts in found.reads:
        name = parts[0].lower() if len(parts) == 1 else ""
        if connection and name in connection.registered:
            objects.append(connection.registered[name]())
            continue
        is_table = connection is not None and name in connection.temporary
        variables = frame.f_locals if parts[0] in frame.f_locals else frame.f_globals
        value = variables.get(parts[0]) if name and not is_table else None
        if type(value).__module__.partition(".")[0] in _FRAMES:
            objects.append(value)
        else:
            reads.append(parts)
    return replace(found, reads=reads), objects


class _Connection(Database):
    """The database that a connection uses, and its attached databases."""

    def __init__(self) -> None:
        super().__init__("", ["", "main"], "duckdb")
        self.catalog = ""
        """The name of the current database in the connection."""
        self.is_default = True
        """True while names without a database refer to the file that was opened."""
        self.registered: dict[str, Callable[[], Any]] = {}
        """References to the registered objects, by the name of the view in lower case."""
        self._spelled: dict[str, str] = {}
        """The created spelling of permanent tables and views, by name in lower case."""
        self.transaction = Transaction()

    def update(self, connection: Any) -> None:
        """Update the attached databases from the connection."""
        with connection.cursor() as cursor:  # a query on the connection would end its result
            query = "SELECT database_name, path, type FROM duckdb_databases()"
            rows = cursor.execute(query).fetchall()
            if not self.catalog:
                self.catalog = cursor.execute("SELECT current_database()").fetchone()[0]
        self.attached = {name: _attached(path, kind) for name, path, kind in rows if name != "temp"}
        self._use(self.catalog, self.defaults[1])

    def look_up(self, connection: Any, tables: Tables) -> None:
        """Add the created spelling of tables, and temporary tables from before the recording.

        Names that another connection to the same databases does not see are temporary tables.
        """
        for parts in (*tables.writes, *tables.reads):
            name = parts[-1].lower()
            if name in self.temporary or name in self._spelled:
                continue
            with connection.cursor() as cursor:
                row = cursor.execute(_SPELLED, [name, name]).fetchone()
            if row or parts in tables.writes:  # of a transaction that is not committed
                self._spelled[name] = row[0] if row else parts[-1]
            elif len(parts) == 1:
                self.temporary.add(name)

    def look_up_changed(self, connection: Any, tables: Tables) -> None:
        """Look up the spelling of the existing tables that a text changes."""
        targets = [change.target for change in tables.changes]
        targets = [parts for parts in targets if _exists(connection, parts)]
        is_open = self.transaction.is_open  # other connections do not see what it created
        self.look_up(connection, Tables(writes=targets) if is_open else Tables(reads=targets))

    def use(self, parts: tuple[str, ...]) -> None:
        """Change the current database and schema, as USE does; without a name, they are unknown."""
        self.is_default = False
        if len(parts) == 1 and parts[0] not in self.attached:
            parts = self.catalog, parts[0]
        self._use(parts[0] if parts else "", "".join(parts[1:]) or "main")

    def _use(self, catalog: str, schema: str) -> None:
        current = self.attached.get(catalog)
        self.catalog = catalog
        self.namespace = current.namespace if current else ""
        self.defaults = [*(current.defaults[:-1] if current else [""]), schema]

    def table(self, parts: tuple[str, ...]) -> Name | None:
        """Return the name of a table; None if its database is in memory or unknown.

        The table is spelled as it was created, not as in the query.
        """
        parts = *parts[:-1], self._spelled.get(parts[-1].lower(), parts[-1])
        if len(parts) == 2 and parts[0] in self.attached or len(parts) > 2 or self.namespace:
            return super().table(parts)
        name = super().table(parts)
        return name if name and is_temporary(name) else None

    def forget(self, parts: tuple[str, ...]) -> None:
        """Forget the spelling of a table that was dropped or renamed."""
        self._spelled.pop(parts[-1].lower(), None)

    def is_plain(self, parts: tuple[str, ...]) -> bool:
        """Return True if the server completes a name in a text in the same way as DuckDB."""
        return self.is_default and not (len(parts) > 1 and parts[0] in self.attached)


def _attached(path: str | None, kind: str) -> Database | None:
    """Return an attached database; None if it is in memory or has no file."""
    if not path or not os.path.isfile(path):
        return None
    return database_of_url(f"{kind}:///{quote(os.path.abspath(path))}")


_connections: WeakKeyDictionary[Any, _Connection] = WeakKeyDictionary()


def _connection(connection: Any, *, is_changed: bool = False) -> _Connection:
    """Return the databases of a connection; update them if they may have changed."""
    known = _connections.get(connection)
    if known is None:
        known, is_changed = _Connection(), True
        _connections[connection] = known
    if is_changed:
        known.update(connection)
    return known


def _after_query(capture: Capture, call: Call, found: Any, result: Any) -> None:
    """Record a query. The statements of a text with USE are recorded one by one.

    The meaning of names depends on their order. `found` is what `_before_query` returned. A query
    is only built (`is_built`) by functions such as `sql`: it runs when its result is used, so that
    its end is unknown, unless it changes something. The result is bound to the sources of the query
    if all are known.
    """
    if found is None:
        return
    sql, tables, objects, connection, parameters, execution, is_built = found
    database = _connection(connection, is_changed=bool(_CHANGES.search(sql)))
    if not is_built or tables.writes or tables.files_written or tables.changes:
        execution = replace(execution, ended=datetime.now(UTC))
    statements = list(execution.statements(sql, "duckdb")) if tables.depends_on_order else []
    if len(statements) > 1:
        for text, part in statements:
            own, variables = _without_objects(tables_of(text, "duckdb"), call.frame, database)
            _record(capture, (text, own, variables, connection, parameters, part), database, result)
    else:
        about = sql, tables, objects, connection, parameters, execution
        _record(capture, about, database, result)


def _record(capture: Capture, about: Any, database: _Connection, result: Any) -> None:
    """Record a text with its tables, Python objects, connection, parameters and execution.

    Inputs are the tables, the files, and the datasets that the objects are the content of; if those
    of an object are unknown, or parameters may name tables, the inputs are not known completely.
    The result is bound to the inputs if all are known.
    """
    sql, tables, objects, connection, parameters, execution = about
    for parts in tables.used:
        database.use(parts)
    for name in tables.transactions:
        database.transaction.apply(name)
    execution.transaction = database.transaction if database.transaction.is_open else None
    files = [Captured(*name) for path in tables.files_read for name in names_of(path)]
    origins = [origin_of(value) for value in objects]
    others = [Captured(*name) for names in origins for name in names or ()]
    is_known = None not in origins and not is_filled(sql, tables, parameters)
    database.look_up(connection, tables)
    names = (*tables.reads, *tables.writes, *(change.table for change in tables.changes))
    written = [name for path in tables.files_written for name in names_of(path)]
    query = add(
        *(capture, sql, "duckdb", tables, database, (*files, *others)),
        files=[Captured(*name) for name in written],
        is_known=is_known,
        is_readable=all(map(database.is_plain, names)),
        execution=execution,
    )
    for change in tables.changes:
        database.forget(change.target)
    sources = tuple(i.key for i in query.inputs) if query and query.is_whole else None
    capture.add_writes([Captured(*name, sources=sources) for name in written])
    if result is not None and sources:
        bind(result, sources)


def _place_of(call: Call, name: str) -> tuple[Any, str]:
    """Return the connection and the name that a method or a function of the module received."""
    is_method = type(call.args[0]).__name__ == "DuckDBPyConnection" if call.args else False
    if is_method or _module is None:
        return call.args[0], call.get(1, name)
    return _module.default_connection(), call.get(0, name)


def _before_transaction(statement: str, capture: Capture, call: Call) -> Any:
    connection = call.args[0] if call.args else _module and _module.default_connection()
    return statement, connection


def _after_transaction(capture: Capture, call: Call, found: Any, result: Any) -> None:
    statement, connection = found
    _connection(connection).transaction.apply(statement)


def _before_register(capture: Capture, call: Call) -> Any:
    return _place_of(call, "view_name"), call.get(2, "python_object")


def _after_register(capture: Capture, call: Call, found: Any, result: Any) -> None:
    """Store a reference to the registered object."""
    (connection, view), value = found
    registered = _connection(connection).registered
    try:
        registered[view.lower()] = ref(value)
    except TypeError:
        registered[view.lower()] = lambda: None


def _before_append(capture: Capture, call: Call) -> Any:
    return _place_of(call, "table_name"), origin_of(call.get(2, "df"))


def _after_append(capture: Capture, call: Call, found: Any, result: Any) -> None:
    """Record that rows of a frame are added to a table."""
    (connection, table), sources = found
    is_known = sources is not None
    others = [Captured(*name) for name in sources or ()]
    add(
        *(capture, f"INSERT INTO {table} FROM df", "duckdb"),
        *(Tables(writes=[(table,)]), _connection(connection), others),
        is_known=is_known,
    )


def _before_read(capture: Capture, call: Call) -> list[Captured]:
    is_method = type(call.args[0]).__name__ == "DuckDBPyConnection" if call.args else False
    value = call.get(1 if is_method else 0, "path_or_buffer", "file_glob", "file_globs", "name")
    return [Captured(*name) for name in names_of(value)]


def _after_read(capture: Capture, call: Call, found: list[Captured] | None, result: Any) -> None:
    if found:
        capture.add_reads(found)
        bind(result, [item.key for item in found])


def _nothing(capture: Capture, call: Call) -> None:
    return None


def _after_result(capture: Capture, call: Call, found: None, result: Any) -> None:
    if call.args and (names := origin_of(call.args[0])):
        bind(result, names)


def _before_write(capture: Capture, call: Call) -> list[Captured]:
    sources = origin_of(call.args[0])
    return [Captured(*name, sources=sources) for name in names_of(call.get(1, "file_name"))]


def _after_write(capture: Capture, call: Call, found: list[Captured] | None, result: Any) -> None:
    capture.add_writes(found or ())
