"""Tables that Spark's listener omits: those of scalar subqueries, which the SQL text names.

A table is added only if its full name is certain: if the text names it with the same catalog as a
reported table, or without a catalog and with the same schema. A name without a schema may be a
session view.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from headwater.sql.reader import TableParts
from headwater.sql.text import scalar_tables

_Name = tuple[str, str]
"""The namespace and the name of a dataset."""
_GLOBAL_VIEWS = "global_temp"


def omitted_tables(text: str, reported: Iterable[_Name]) -> list[_Name]:
    """Return the tables of scalar subqueries, named like the reported tables of a Spark text.

    `reported` has the namespace and the name of each table that the run lists, and so do the
    results. Without a reported table of the same schema, or with several possible names, a table is
    left out.
    """
    inside, others = scalar_tables(text, "spark")
    if not inside:
        return []
    names = set(reported)
    known = {place for table in others for name in names if (place := _above(table, name))}
    found: set[_Name] = set()
    for table in inside:
        places = {
            (place.namespace, place.prefix + place.join.join(table[place.skipped :]))
            for place in known
            if len(table) > place.skipped + 1 and _fits(table, place.skipped, place.above)
        }
        if len(places) == 1:
            found |= places
    return sorted(found - names)


class _Place(NamedTuple):
    """The rule by which the name of a dataset follows from the parts of its table in a text."""

    namespace: str
    prefix: str
    """The text before the name."""
    join: str
    """The text between the parts."""
    skipped: int
    """The number of first parts that the name omits (the catalog)."""
    above: TableParts
    """The first parts that other tables must share to have the same place."""


def _above(table: TableParts, name: _Name) -> _Place | None:
    """Return how the dataset's name follows from the table's; None if it is another table's."""
    lower = name[1].lower()
    for skipped in (0, 1):
        parts = table[skipped:]
        for prefix, join in (("", "."), ("table/", "/")):  # the second one is that of Glue
            if len(parts) > 1 and lower == prefix + join.join(parts).lower():
                above = table[:1] if skipped else table[:-1]
                return _Place(name[0], prefix, join, skipped, above)
    return None


def _fits(table: TableParts, skipped: int, above: TableParts) -> bool:
    """Return True if a table is in the same catalog, or the same schema, as a reported table."""
    own = table[: len(above)] if skipped else table[:-1]
    is_session_view = table[-2].lower() == _GLOBAL_VIEWS
    same = [part.lower() for part in own] == [part.lower() for part in above]
    return same and not is_session_view
