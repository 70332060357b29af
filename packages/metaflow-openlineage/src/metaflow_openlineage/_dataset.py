"""Datasets as values: what was read or written, before any OpenLineage class is imported."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

# One dataset can be read in many versions (a join over a wide foreach); an event names this many.
MAX_VERSIONS = 20

Field: TypeAlias = tuple[str, str] | tuple[str, str, str]
"""The name and type of a column, and its description if it has one."""

Direct: TypeAlias = Literal["IDENTITY", "TRANSFORMATION", "AGGREGATION"]
"""The value of the source column goes into the target column."""
Indirect: TypeAlias = Literal["JOIN", "GROUP_BY", "FILTER", "SORT", "WINDOW", "CONDITIONAL"]
"""The source column only decides which rows or values the target has."""

ColumnSource: TypeAlias = "tuple[Dataset, str] | tuple[Dataset, str, Direct | Indirect]"
"""A source column, optionally with the transformation (OpenLineage's subtypes)."""


@dataclass(frozen=True)
class Dataset:
    """A dataset by its OpenLineage name, with what is known about it.

    `symlink` is the (namespace, name) of the logical table behind a physical location, `fields`
    are (name, type) or (name, type, description), `facets` any further OpenLineage dataset facets
    by their key, `commit` what Iceberg reports of the commit that wrote it. `column_lineage` maps a
    column to its sources, `row_lineage` lists the columns that decide which rows there are.
    `sources` are the inputs of the step that feed an output; None means that nobody stated them.
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
    sources: tuple[Dataset, ...] | None = None


def merge(datasets: Iterable[Dataset]) -> list[Dataset]:
    """One entry per dataset and version; what is said without a version holds for every version."""
    named: dict[tuple[str, str], dict[str | None, Dataset]] = {}
    for each in datasets:
        versions = named.setdefault((each.namespace, each.name), {})
        known = versions.get(each.version)
        versions[each.version] = _combine(known, each) if known else each
    merged = []
    for versions in named.values():
        general = versions.pop(None, None) if len(versions) > 1 else None
        kept = list(versions.values())[:MAX_VERSIONS]
        merged += [_combine(each, general) if general else each for each in kept]
    return merged


def _combine(one: Dataset, other: Dataset) -> Dataset:
    """The later word on each point wins, except that silence takes nothing back."""
    said = {key: value for key, value in vars(other).items() if value not in (None, (), {})}
    for key in ("column_lineage", "facets"):
        said[key] = {**getattr(one, key), **getattr(other, key)}
    said["row_lineage"] = (*one.row_lineage, *other.row_lineage)
    return replace(one, **said)


def fields_of(value: object) -> tuple[tuple[str, str], ...]:
    """Columns and types of a pandas or polars frame or a pyarrow table, told by its type's name."""
    table: Any = value
    columns: Iterable[tuple[object, object]] = ()
    match type(value).__module__.partition(".")[0], type(value).__name__:
        case (("pandas" | "polars"), "DataFrame"):
            columns = zip(table.columns, table.dtypes, strict=True)
        case "pyarrow", ("Table" | "RecordBatch"):
            columns = ((column.name, column.type) for column in table.schema)
    return tuple((str(name), str(dtype)) for name, dtype in columns)
