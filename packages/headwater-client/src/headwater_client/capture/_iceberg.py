"""Scans and commits of PyIceberg, with snapshot ids."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from headwater_client.capture._hooks import Call, wrap
from headwater_client.capture._names import name_of_path
from headwater_client.capture._origins import bind, origin_of
from headwater_client.capture._recorder import Capture, Captured

_SCANS = (
    "to_arrow",
    "to_arrow_batch_reader",
    "to_pandas",
    "to_polars",
    "to_duckdb",
    "to_ray",
    "count",
)
_WRITES = ("append", "overwrite", "dynamic_partition_overwrite", "upsert", "delete", "add_files")


def patch(module: ModuleType) -> None:
    """Wrap scans, which count when they are executed, and transactions, when they are committed."""
    for name in _SCANS:
        wrap(module.DataScan, name, _before_scan, _after_scan)
    for name in _WRITES:
        wrap(module.Transaction, name, _before_change, _after_change)
    wrap(module.Transaction, "commit_transaction", _before_commit, _after_commit)


def _before_scan(capture: Capture, call: Call) -> list[Captured]:
    scan = call.args[0]
    snapshot = scan.snapshot()
    name = name_of_path(scan.table_metadata.location)
    version = str(snapshot.snapshot_id) if snapshot else None
    fields = _fields(scan.table_metadata.schema())
    return [Captured(*name, fields, version)] if name else []


def _after_scan(capture: Capture, call: Call, found: list[Captured] | None, result: Any) -> None:
    if found:
        capture.add_reads(found)
        bind(result, [item.key for item in found])


def _fields(schema: Any) -> tuple[tuple[str, str], ...]:
    return tuple((column.name, str(column.field_type)) for column in schema.fields[:500])


def _before_change(capture: Capture, call: Call) -> bool:
    return True  # the files that it reads and writes are parts of the table


def _after_change(capture: Capture, call: Call, found: bool, result: Any) -> None:
    """Remember the sources of a change until its transaction is committed."""
    transaction = call.args[0]
    data = call.get(1, "df", "file_paths", "delete_filter")
    is_data = type(data).__module__.partition(".")[0] == "pyarrow"
    sources = origin_of(data) if is_data else None
    changes = vars(transaction).setdefault("_headwater_sources", [])
    changes.append(sources)


def _before_commit(capture: Capture, call: Call) -> bool:
    return bool(vars(call.args[0]).get("_headwater_sources"))


def _after_commit(capture: Capture, call: Call, found: bool, result: Any) -> None:
    """Record a committed transaction as one write, with the sources of all of its changes.

    They are unknown if those of one change are. The version is the new snapshot.
    """
    if not found or (name := name_of_path(result.location())) is None:
        return
    changes = vars(call.args[0]).pop("_headwater_sources")
    names = None if None in changes else tuple(dict.fromkeys(n for c in changes for n in c))
    snapshot = result.current_snapshot()
    version = str(snapshot.snapshot_id) if snapshot else None
    capture.add_writes([Captured(*name, _fields(result.schema()), version, names)])
