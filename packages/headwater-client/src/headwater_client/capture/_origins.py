"""The datasets whose content objects of libraries have.

An object is *bound* to these datasets until it changes. They are the sources of what it is written
to.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterable
from typing import Any

from headwater_client.capture._names import Name
from headwater_client.capture._recorder import _is_inside

_MOST_COLUMNS = 500
# The datasets that an object is a copy of, by its id, while it exists and is unchanged.
_origins: dict[int, tuple[Any, tuple[Name, ...], Any]] = {}


_BOUND = frozenset(("pandas", "polars", "pyarrow", "duckdb", "_duckdb", "botocore", "s3fs"))
"""Libraries whose objects do not change, or whose changes are detected."""


def bind(value: Any, names: Iterable[Name]) -> None:
    """Record that an object has the content of datasets; objects that may change are ignored.

    Its present state (`_state`) is kept too, so that `origin_of` detects changes. Objects without
    weak references are ignored, because an id may be used again after the object is gone.
    """
    key = id(value)
    if type(value).__module__.partition(".")[0] not in _BOUND:
        return
    try:
        reference = weakref.ref(value, lambda _: _origins.pop(key, None))
    except TypeError:
        return
    _origins[key] = (reference, tuple(names), _state(value))


def origin_of(value: Any) -> tuple[Name, ...] | None:
    """Return the datasets whose content an object has; None if they are unknown."""
    reference, names, state = _origins.get(id(value), (None, (), None))
    if reference is None or reference() is not value or state != _state(value):
        return None
    return tuple(names)


def forget(value: Any) -> None:
    """Forget the datasets of an object, because it changes."""
    _origins.pop(id(value), None)


def forget_shared(array: Any) -> None:
    """Forget the sources of the frames that share values with an array, which may change them.

    Arrays that a recorded call uses are ignored.
    """
    if _is_inside.get():
        return
    for key, (reference, *_) in list(_origins.items()):
        if any(_is_shared(values, array) for values in values_of(reference())):
            _origins.pop(key, None)


def values_of(frame: Any) -> list[Any]:
    """Return the arrays of a frame or a series of pandas."""
    return [block.values for block in frame._mgr.blocks] if hasattr(frame, "_mgr") else []


def _is_shared(values: Any, array: Any) -> bool:
    """Return True if two arrays may share memory, such as extension arrays of the same type."""
    numpy = sys.modules["numpy"]
    if not isinstance(array, numpy.ndarray):
        return type(values) is type(array)
    for name in ("_ndarray", "_data"):  # of datetimes and of integers with missing values
        values = getattr(values, name, values) if not isinstance(values, numpy.ndarray) else values
    return isinstance(values, numpy.ndarray) and bool(numpy.may_share_memory(values, array))


def _state(value: Any) -> Any:
    """Return a value that differs after columns of a frame are added, removed or replaced."""
    library = type(value).__module__.partition(".")[0]
    if library == "polars":
        return id(getattr(value, "_df", None)), getattr(value, "shape", None)
    if library != "pandas" or not hasattr(value, "_mgr"):
        return None
    blocks = tuple(id(block.values) for block in value._mgr.blocks)
    return id(value._mgr), blocks, value.shape


def fields_of(value: Any) -> tuple[tuple[str, str], ...]:
    """Return the columns and types of a pandas or Polars frame or a PyArrow table.

    Empty for other objects, for more than 500 columns, and if a column has a name that is no text.
    """
    module, kind = type(value).__module__.partition(".")[0], type(value).__name__
    columns: Iterable[tuple[Any, Any]] = ()
    if module in ("pandas", "polars") and kind == "DataFrame":
        columns = zip(value.columns, value.dtypes, strict=True)
    elif module == "pyarrow" and kind in ("Table", "RecordBatch"):
        columns = ((column.name, column.type) for column in value.schema)
    described = [(name, str(dtype)) for name, dtype in columns]
    is_named = all(isinstance(name, str) for name, _ in described)
    return tuple(described) if is_named and len(described) <= _MOST_COLUMNS else ()
