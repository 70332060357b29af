"""Queries, reads and writes of DuckDB."""

from __future__ import annotations

import os
import re
import sys
from types import FrameType, ModuleType
from typing import Any
from weakref import WeakKeyDictionary

from headwater_client.capture._databases import add
from headwater_client.capture._hooks import Call, wrap
from headwater_client.capture._names import Database, Name, names_of
from headwater_client.capture._recorder import Capture, Captured, bind, origin_of
from headwater_client.capture._sql import Tables, tables_of

_QUERIES = ("sql", "query", "execute", "from_query")
_READS = ("read_parquet", "read_csv", "read_json", "from_parquet", "from_csv_auto")
_WRITES = ("write_parquet", "to_parquet", "write_csv", "to_csv")
_RESULTS = (
    *("df", "fetchdf", "fetch_df", "to_df", "pl", "arrow", "to_arrow_table", "fetch_arrow_table"),
    *("fetch_record_batch", "fetch_arrow_reader", "to_arrow_reader"),
)
_FRAMES = ("pandas", "polars", "pyarrow", "duckdb", "_duckdb")
_CHANGES = re.compile(r"\b(?:attach|detach|use|set|search_path)\b", re.IGNORECASE)
_CALL = compile(
    "_headwater_call[0](*_headwater_call[1], **_headwater_call[2])", "<headwater>", "eval"
)
_module: ModuleType | None = None


def patch(module: ModuleType) -> None:
    """Wrap the functions of DuckDB. A query counts when it is built, even if it runs later."""
    global _module
    _module = module
    for owner in (module, module.DuckDBPyConnection):
        for name in _QUERIES:
            wrap(owner, name, _before_query, _after_query, _called_in_the_frame_of_the_user)
        for name in _READS:
            wrap(owner, name, _before_read, _after_read)
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


def _before_query(capture: Capture, call: Call) -> Any:
    is_method = bool(call.args) and not isinstance(call.args[0], str)
    sql = call.get(1 if is_method else 0, "query")
    if not isinstance(sql, str) or _module is None:
        return None
    connection = call.args[0] if is_method else call.kwargs.get("connection")
    connection = connection or _module.default_connection()
    found = tables_of(sql, "duckdb")
    tables, objects = _without_objects(found, call.frame)
    return sql, tables, objects, connection


def _without_objects(found: Tables, frame: FrameType) -> tuple[Tables, list[Any]]:
    """Split the names in a text into tables, and the Python objects that variables name."""
    reads, objects = [], []
    for parts in found.reads:
        variables = frame.f_locals if parts[0] in frame.f_locals else frame.f_globals
        value = variables.get(parts[0]) if len(parts) == 1 else None
        if type(value).__module__.partition(".")[0] in _FRAMES:
            objects.append(value)
        else:
            reads.append(parts)
    tables = Tables(reads, found.writes, found.files_read, found.files_written, found.temporary)
    return tables, objects


class _Attached(Database):
    """The database of a connection, and those that are attached to it."""

    def __init__(self, current: str, schema: str, paths: dict[str, str | None]) -> None:
        super().__init__(_namespace(paths.get(current)), [current, schema], "duckdb")
        self._paths = paths

    def table(self, parts: tuple[str, ...]) -> Name | None:
        """Return the name of a table; None if its database is in memory or no file."""
        if len(parts) > 1 and parts[0] in self._paths:
            namespace = _namespace(self._paths[parts[0]])
            schema = parts[1:-1] or ("main",)
            return (namespace, ".".join((parts[0], *schema, parts[-1]))) if namespace else None
        return super().table(parts) if self.namespace else None


def _namespace(path: str | None) -> str:
    return f"duckdb://{os.path.abspath(path)}" if path and os.path.isfile(path) else ""


_databases: WeakKeyDictionary[Any, Database] = WeakKeyDictionary()


def _database(connection: Any, sql: str) -> Database | None:
    """Return the databases of a connection; query them again only if a text may change them."""
    known = _databases.get(connection)
    if known is None or _CHANGES.search(sql):
        with connection.cursor() as cursor:
            query = "SELECT database_name, path FROM duckdb_databases()"
            paths = dict(cursor.execute(query).fetchall())
            current, schema = cursor.execute(
                "SELECT current_database(), current_schema()"
            ).fetchone()
        known = _databases[connection] = _Attached(current, schema, paths)
    return known


def _after_query(capture: Capture, call: Call, found: Any, result: Any) -> None:
    if found is None:
        return
    sql, tables, objects, connection = found
    database = _database(connection, sql) if tables.reads or tables.writes else None
    if database is not None:
        capture.add_temporary(
            name for parts in tables.temporary if (name := database.table(parts)) is not None
        )
    files = [Captured(*name) for path in tables.files_read for name in names_of(path)]
    origins = [origin_of(value) for value in objects]
    others = [Captured(*name) for names in origins for name in names or ()]
    is_known = None not in origins
    query = add(capture, sql, "duckdb", tables, database, (*files, *others), is_known=is_known)
    is_whole = query is not None and capture.is_whole(query)
    sources = tuple(i.key for i in query.inputs) if query and is_whole else None
    written = [name for path in tables.files_written for name in names_of(path)]
    capture.add_writes([Captured(*name, sources=sources) for name in written])
    if result is not None and sources:
        bind(result, sources)


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
