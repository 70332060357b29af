"""From the columns that a file has to the columns that its table has."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import types as T

from lakehouse.errors import BadSourceFile

RECEIVED = "received "
"""Prefix of columns with the file's original value, if the table's type may not fit it."""


@dataclass(frozen=True)
class Drift:
    """How a file's columns differ from the table's."""

    file: str
    unknown: tuple[str, ...]
    """In the file only: left out, and reported."""
    missing: tuple[str, ...]
    """In the table only: null, as in the years before TLC added them."""
    narrowed: tuple[str, ...] = ()
    """Columns whose file type may not fit the table's, such as 1.5 for a whole number. Values
    that do not fit become null and are kept as `RECEIVED`."""


def conform(
    schema: T.StructType, columns: dict[str, str], required: frozenset[str], file: str
) -> tuple[list[str], Drift]:
    """Return what to select of a file: typed `columns` and, after them, the `RECEIVED` ones.

    Column names are matched case-insensitively (Airport_fee).

    Raises:
        BadSourceFile: a required column is missing, or a column has another kind of value, such as
            text for a number.
    """
    found = {field.name.lower(): field for field in schema}
    missing = tuple(name for name in columns if name not in found)
    unknown = tuple(field.name for name, field in found.items() if name not in columns)
    problems = [f"{name} is missing" for name in sorted(required & set(missing))]
    for name, type_ in columns.items():
        if name in found and not _fits(found[name].dataType, T._parse_datatype_string(type_)):
            problems.append(f"{name} is {found[name].dataType.simpleString()} instead of {type_}")
    if problems:
        raise BadSourceFile(
            f"{file} is not of the schema it should have: {'; '.join(problems)}. It has "
            f"{', '.join(schema.names)}. Get the publisher's own file, then run the task again."
        )
    narrowed = tuple(
        name
        for name, type_ in columns.items()
        if name in found and _narrows(found[name].dataType, T._parse_datatype_string(type_))
    )
    typed = [
        f"{'TRY_CAST' if name in narrowed else 'CAST'}"
        f"({f'`{found[name].name}`' if name in found else 'NULL'} AS {type_}) AS `{name}`"
        for name, type_ in columns.items()
    ]
    received = [f"`{found[name].name}` AS `{RECEIVED}{name}`" for name in narrowed]
    return [*typed, *received], Drift(file, unknown, missing, narrowed)


WHOLE_NUMBERS = (T.ByteType, T.ShortType, T.IntegerType, T.LongType)
"""Integer types, narrowest first."""


def _narrows(given: T.DataType, wanted: T.DataType) -> bool:
    """Return True if a value of one type may not be representable in the other, an integer type."""
    if not isinstance(wanted, WHOLE_NUMBERS) or not isinstance(given, T.NumericType):
        return False
    if not isinstance(given, WHOLE_NUMBERS):
        return True
    return WHOLE_NUMBERS.index(type(given)) > WHOLE_NUMBERS.index(type(wanted))


def _fits(given: T.DataType, wanted: T.DataType) -> bool:
    """Whether a value of one kind can be one of the other: any number for any number, and so on."""
    kinds = (T.NumericType, (T.TimestampType, T.TimestampNTZType), T.StringType, T.DateType)
    return isinstance(given, T.NullType) or any(
        isinstance(given, kind) and isinstance(wanted, kind) for kind in kinds
    )
