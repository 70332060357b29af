"""Reads and writes of PyArrow."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from headwater_client.capture._frames import after_write
from headwater_client.capture._hooks import Call, wrap
from headwater_client.capture._names import names_of
from headwater_client.capture._origins import bind, fields_of, origin_of
from headwater_client.capture._recorder import Capture, Captured

_READS = (
    "read_table",
    "read_pandas",
    "ParquetDataset",
    "read_csv",
    "open_csv",
    "read_feather",
    "dataset",
)
_WRITES = ("write_table", "write_csv", "write_feather", "write_to_dataset", "write_dataset")
_SELECTIONS = ("columns", "read_options", "convert_options", "schema", "filters")
_PATHS = ("source", "input_file", "path_or_paths", "where")
_TARGETS = ("where", "output_file", "dest", "root_path", "base_dir")


def patch(module: ModuleType) -> None:
    """Wrap the functions of a module of PyArrow. A dataset counts as read when it is opened."""
    for name in _READS:
        wrap(module, name, _before_read, _after_read)
    for name in _WRITES:
        wrap(module, name, _before_write, after_write)


def _before_read(capture: Capture, call: Call) -> list[Captured]:
    names = names_of(call.get(0, *_PATHS), call.kwargs.get("filesystem"))
    return [Captured(*name) for name in names]


def _after_read(capture: Capture, call: Call, found: list[Captured] | None, result: Any) -> None:
    if not found:
        return
    is_whole = len(found) == 1 and not any(call.kwargs.get(name) for name in _SELECTIONS)
    fields = fields_of(result) if is_whole else ()
    capture.add_reads([Captured(*item.key, fields) for item in found])
    bind(result, [item.key for item in found])


def _before_write(capture: Capture, call: Call) -> list[Captured]:
    # write_table(table, where), write_csv(data, output_file), write_dataset(data, base_dir)
    data, target = call.get(0, "table", "data", "df"), call.get(1, *_TARGETS)
    names = names_of(target, call.kwargs.get("filesystem"))
    return [Captured(*name, fields_of(data), sources=origin_of(data)) for name in names]
