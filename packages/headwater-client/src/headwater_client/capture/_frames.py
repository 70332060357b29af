"""Reads and writes of pandas and Polars.

`wrap(owner, name, before, after)` replaces a function: `before` returns what the call reads or
writes, which `after` receives as `found`. If it is neither empty nor None, calls within the call
are not recorded. To *bind* a frame to datasets is to record that it has their content.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from headwater_client.capture._databases import record_query, record_text
from headwater_client.capture._hooks import Call, wrap, wrap_change, wrap_result
from headwater_client.capture._names import names_of
from headwater_client.capture._origins import bind, fields_of, forget_shared, origin_of, values_of
from headwater_client.capture._recorder import Capture, Captured

_PATHS = ("filepath_or_buffer", "path_or_buf", "path_or_buffer", "path", "io", "source", "file")
_TARGETS = ("path_or_buf", "path", "excel_writer", "file", "workbook", "target", "fname")
_SELECTIONS = (  # arguments that change the columns or their types
    *("usecols", "columns", "names", "index_col", "dtype", "converters", "header", "new_columns"),
    *("schema", "schema_overrides", "row_index_name", "include_file_paths", "has_header"),
)
_PANDAS_READS = (
    *("read_csv", "read_table", "read_fwf", "read_parquet", "read_json", "read_excel"),
    *("read_feather", "read_orc", "read_pickle", "read_hdf", "read_stata", "read_sas"),
    *("read_spss", "read_xml"),
)
_PANDAS_WRITES = (
    *("to_csv", "to_parquet", "to_json", "to_excel", "to_feather", "to_orc", "to_pickle"),
    *("to_stata", "to_hdf", "to_xml"),
)
_FORMATS = ("csv", "parquet", "ipc", "ndjson", "json", "avro", "excel", "delta", "iceberg")


def patch(module: ModuleType) -> None:
    """Wrap the functions of a library."""
    (_patch_pandas if module.__name__ == "pandas" else _patch_polars)(module)


def _patch_pandas(pandas: ModuleType) -> None:
    """Wrap the reads and writes of pandas, and the methods after which a frame has other contents.

    These are assignments by `[]`, `.loc` and the like, methods with `inplace`, and arrays that
    share values with a frame and may be changed outside of pandas.
    """
    for name in _PANDAS_READS:
        wrap(pandas, name, _reads(), after_read)
    for owner in (pandas.DataFrame, pandas.Series):
        for name in _PANDAS_WRITES:
            wrap(owner, name, _writes(), after_write)
        wrap(owner, "to_sql", _before_to_sql, _after_to_sql)
    for name in ("read_sql", "read_sql_query", "read_sql_table"):
        wrap(pandas, name, _no_names, _after_sql)
    for owner in ("_LocationIndexer", "_ScalarAccessIndexer"):
        indexer = getattr(sys.modules.get("pandas.core.indexing"), owner, None)
        wrap_change(indexer, "__setitem__", lambda indexer: _changed(indexer.obj))
    wrap_change(pandas.Series, "__setitem__", _changed)
    for name in ("_update_inplace", "_inplace_method"):
        wrap_change(pandas.DataFrame, name, _changed)
    for owner in (pandas.DataFrame, pandas.Series):
        for name in ("values", "array", "to_numpy", "__array__"):
            wrap_result(owner, name, forget_shared)


def _changed(frame: Any) -> Any:
    """Forget the sources of the frames that share values with a changing one; return that one."""
    for values in values_of(frame):
        forget_shared(values)
    return frame


def _patch_polars(polars: ModuleType) -> None:
    """Wrap the reads and writes of Polars, and the methods that change a frame in place."""
    for name in ("__setitem__", "extend", "insert_column", "replace_column", "vstack", "hstack"):
        wrap_change(polars.DataFrame, name, lambda frame: frame)
    for name in _FORMATS:
        wrap(polars, f"read_{name}", _reads(), after_read)
        wrap(polars, f"scan_{name}", _reads(), after_read)
        wrap(polars.DataFrame, f"write_{name}", _writes(), after_write)
        wrap(polars.LazyFrame, f"sink_{name}", _writes(), after_write)
    wrap(polars.LazyFrame, "collect", _no_names, _after_collect)
    wrap(polars, "read_database", _no_names, _after_sql)
    wrap(polars, "read_database_uri", _no_names, _after_uri)


def _reads() -> Callable[[Capture, Call], list[Captured]]:
    """Return the function that runs before a read: it returns the datasets of its path or source.

    An object that was read from a dataset, such as an object of boto3, stands for it.
    """

    def before(capture: Capture, call: Call) -> list[Captured]:
        source = call.get(0, *_PATHS)
        names = names_of(source, call.kwargs.get("filesystem"))
        return [Captured(*name) for name in names or origin_of(source) or ()]

    return before


def after_read(capture: Capture, call: Call, found: list[Captured] | None, result: Any) -> None:
    """Record a read, with the columns of the result if it has all columns of one dataset."""
    if not found:
        return
    is_whole = len(found) == 1 and not any(
        call.kwargs.get(name) is not None for name in _SELECTIONS
    )
    fields = fields_of(result) if is_whole else ()
    capture.add_reads([Captured(*item.key, fields) for item in found])
    bind(result, [item.key for item in found])


def _writes() -> Callable[[Capture, Call], list[Captured]]:
    """Return the function that runs before a write: it returns the datasets that it writes.

    Columns are those of the frame, unless arguments choose others.
    """

    def before(capture: Capture, call: Call) -> list[Captured]:
        frame, target = call.args[0], call.get(1, *_TARGETS)
        names = names_of(target, call.kwargs.get("filesystem"))
        has_all = not any(call.kwargs.get(name) is not None for name in ("columns", "header"))
        fields = fields_of(frame) if has_all else ()
        return [Captured(*name, fields, sources=origin_of(frame)) for name in names]

    return before


def after_write(capture: Capture, call: Call, found: list[Captured] | None, result: Any) -> None:
    """Record a write."""
    capture.add_writes(found or ())


def _no_names(capture: Capture, call: Call) -> None:
    return None


def _after_collect(capture: Capture, call: Call, found: None, result: Any) -> None:
    if names := origin_of(call.args[0]):
        bind(result, names)


def _after_sql(capture: Capture, call: Call, found: None, result: Any) -> None:
    """Bind the result to the datasets of the query; record it if its driver has no hooks."""
    sql, connection = call.get(0, "sql", "query", "table_name"), call.get(1, "con", "connection")
    query = record_query(capture, connection, sql)
    if query and not query.outputs and query.is_whole:
        bind(result, [item.key for item in query.inputs])


def _after_uri(capture: Capture, call: Call, found: None, result: Any) -> None:
    """Record the queries of `read_database_uri`; bind the result to all of their sources."""
    queries, uri = call.get(0, "query"), str(call.get(1, "uri"))
    texts = queries if isinstance(queries, list) else [queries]
    recorded = [record_text(capture, str(text), uri) for text in texts]
    if all(query and query.is_whole for query in recorded):
        bind(result, [item.key for query in recorded if query for item in query.inputs])


def _before_to_sql(capture: Capture, call: Call) -> bool:
    """Return True, so that the statements are not recorded: they do not name the sources."""
    return True


def _after_to_sql(capture: Capture, call: Call, found: bool, result: Any) -> None:
    """Record the table that a frame was written to, with the sources of the frame."""
    from headwater_client.capture._databases import database_of

    table, connection = call.get(1, "name"), call.get(2, "con")
    schema = call.get(3, "schema")
    database = database_of(connection)
    if database and (name := database.table((*([schema] if schema else []), str(table)))):
        frame, is_replaced = call.args[0], call.get(4, "if_exists") in ("replace", "delete_rows")
        # The user of a connection of SQLAlchemy may undo it; pandas commits one of sqlite3.
        kind = type(connection)
        is_replaced &= kind.__name__ != "Connection" or kind.__module__ == "sqlite3"
        change = "OVERWRITE" if is_replaced else None
        capture.add_writes([Captured(*name, sources=origin_of(frame), change=change)])
