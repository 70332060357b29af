"""Datasets as plain values, independent of OpenLineage's classes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

# Maximum versions of one dataset in an event; a join of a wide foreach can read many.
MAX_VERSIONS = 20

Field: TypeAlias = tuple[str, str] | tuple[str, str, str]
"""The name and type of a column, and its description if it has one."""

Direct: TypeAlias = Literal["IDENTITY", "TRANSFORMATION", "AGGREGATION"]
"""The target value is computed from the source column."""
Indirect: TypeAlias = Literal["JOIN", "GROUP_BY", "FILTER", "SORT", "WINDOW", "CONDITIONAL"]
"""The source column only affects which rows or values the target has."""

ColumnSource: TypeAlias = "tuple[Dataset, str] | tuple[Dataset, str, Direct | Indirect]"
"""A source column, optionally with the transformation (OpenLineage's subtypes)."""


@dataclass(frozen=True)
class Dataset:
    """A dataset by its OpenLineage name, with its metadata.

    `symlink` is the (namespace, name) of the logical table behind a physical location, `fields`
    are (name, type) or (name, type, description), `facets` any further OpenLineage dataset facets
    by their key, `layer` the storage layer (iceberg), `commit` the Iceberg commit report of the
    write. `column_lineage` maps a column to its sources, `row_lineage` lists the columns that
    determine the rows. `sources` are the inputs of the step that feed an output; None means that
    they are not reported.
    """

    namespace: str
    name: str
    version: str | None = None
    type: str | None = None
    fields: tuple[Field, ...] = ()
    rows: int | None = None
    size: int | None = None
    symlink: tuple[str, str] | None = None
    column_lineage: Mapping[str, Iterable[ColumnSource]] = field(default_factory=dict)
    row_lineage: Iterable[ColumnSource] = ()
    facets: Mapping[str, Any] = field(default_factory=dict)
    commit: Mapping[str, Any] = field(default_factory=dict)
    layer: str | None = None
    sources: tuple[Dataset, ...] | None = None


def merge(datasets: Iterable[Dataset]) -> list[Dataset]:
    """Merge datasets by name and version; metadata without a version applies to every version.

    At most MAX_VERSIONS of a dataset are returned.
    """
    named: dict[tuple[str, str], dict[str | None, Dataset]] = {}
    for dataset in datasets:
        versions = named.setdefault((dataset.namespace, dataset.name), {})
        existing = versions.get(dataset.version)
        versions[dataset.version] = _combine(existing, dataset) if existing else dataset
    merged = []
    for versions in named.values():
        general = versions.pop(None, None) if len(versions) > 1 else None
        limited = list(versions.values())[:MAX_VERSIONS]
        merged += [_combine(item, general) if general else item for item in limited]
    return merged


def _combine(one: Dataset, other: Dataset) -> Dataset:
    """Merge two descriptions; later values take precedence unless they are empty."""
    reported = {key: value for key, value in vars(other).items() if value not in (None, (), {})}
    for key in ("column_lineage", "facets"):
        reported[key] = {**getattr(one, key), **getattr(other, key)}
    reported["row_lineage"] = (*one.row_lineage, *other.row_lineage)
    return replace(one, **reported)


def fields_of(value: object) -> tuple[tuple[str, str], ...]:
    """Return the columns and types of a pandas or polars frame or a pyarrow table."""
    table: Any = value
    columns: Iterable[tuple[object, object]] = ()
    match type(value).__module__.partition(".")[0], type(value).__name__:
        case (("pandas" | "polars"), "DataFrame"):
            columns = zip(table.columns, table.dtypes, strict=True)
        case "pyarrow", ("Table" | "RecordBatch"):
            columns = ((column.name, column.type) for column in table.schema)
    return tuple((str(name), str(dtype)) for name, dtype in columns)
