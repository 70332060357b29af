"""Convert the columns of a file to the columns of its table."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import types as T

from lakehouse.errors import BadSourceFile

RECEIVED = "received "
"""Prefix of columns with the file's original value, if the table's type may not fit it."""


@dataclass(frozen=True)
class Drift:
    """Differences between a file's columns and its table's."""

    file: str
    unknown: tuple[str, ...]
    """Columns of the file only: ignored and reported."""
    missing: tuple[str, ...]
    """Columns of the table only: null, as in the years before TLC added them."""
    narrowed: tuple[str, ...] = ()
    """Columns whose type in the file may not fit the table's, such as 1.5 for a whole number.
    Values that do not fit become null and are kept in a `RECEIVED` column."""


def conform(
    schema: T.StructType, columns: dict[str, str], required: frozenset[str], file: str
) -> tuple[list[str], Drift]:
    """Return the SELECT expressions for a file: typed `columns`, then the `RECEIVED` ones.

    Column names are matched case-insensitively (Airport_fee).

    Raises:
        BadSourceFile: a required column is missing, or a column has the wrong kind of value, such
            as text instead of numbers.
    """
    fields = {field.name.lower(): field for field in schema}
    missing = tuple(name for name in columns if name not in fields)
    unknown = tuple(field.name for name, field in fields.items() if name not in columns)
    problems = [f"{name} is missing" for name in sorted(required & set(missing))]
    for name, type_ in columns.items():
        if name in fields and not _fits(fields[name].dataType, T._parse_datatype_string(type_)):
            problems.append(f"{name} is {fields[name].dataType.simpleString()} instead of {type_}")
    if problems:
        raise BadSourceFile(
            f"{file} does not have the expected schema: {'; '.join(problems)}. Its columns are "
            f"{', '.join(schema.names)}. Download the publisher's file, then run the task again."
        )
    narrowed = tuple(
        name
        for name, type_ in columns.items()
        if name in fields and _narrows(fields[name].dataType, T._parse_datatype_string(type_))
    )
    typed = [
        f"{'TRY_CAST' if name in narrowed else 'CAST'}"
        f"({f'`{fields[name].name}`' if name in fields else 'NULL'} AS {type_}) AS `{name}`"
        for name, type_ in columns.items()
    ]
    received = [f"`{fields[name].name}` AS `{RECEIVED}{name}`" for name in narrowed]
    return [*typed, *received], Drift(file, unknown, missing, narrowed)


WHOLE_NUMBERS = (T.ByteType, T.ShortType, T.IntegerType, T.LongType)
"""Integer types, narrowest first."""


def _narrows(source: T.DataType, target: T.DataType) -> bool:
    """Return True if the target is an integer type that may not represent all source values."""
    if not isinstance(target, WHOLE_NUMBERS) or not isinstance(source, T.NumericType):
        return False
    if not isinstance(source, WHOLE_NUMBERS):
        return True
    return WHOLE_NUMBERS.index(type(source)) > WHOLE_NUMBERS.index(type(target))


def _fits(source: T.DataType, target: T.DataType) -> bool:
    """Return True if both types are of the same kind, such as two kinds of numbers."""
    kinds = (T.NumericType, (T.TimestampType, T.TimestampNTZType), T.StringType, T.DateType)
    return isinstance(source, T.NullType) or any(
        isinstance(source, kind) and isinstance(target, kind) for kind in kinds
    )
