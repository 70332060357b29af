"""The names of datasets as those of SQL tables.

A dataset of a database is named `database.schema.table`, `schema.table` or `table`, as the
OpenLineage naming specification says for its platform. Names are compared without case, as unquoted
SQL names are, and by their last parts, because not every producer reports all of them.
"""

from __future__ import annotations

from collections.abc import Iterable

Parts = tuple[str, str, str]
"""Database, schema and table, in lower case; unknown parts are empty."""


class TableNames:
    """The names of the datasets that a run uses on one platform.

    Tables that the run did not report are named like `first`, one of its datasets.

    `first` and `others` are names of datasets in one namespace, such as `shop.public.orders`.
    """

    def __init__(self, first: str, others: Iterable[str]) -> None:
        self._first = first
        self._prefixes = first.split(".")[:-1]
        names = dict.fromkeys((first, *others))
        self._known = {parts_of(name): name for name in names}
        self.is_ambiguous = len(self._known) < len(names)
        """True if two names differ in case only."""

    @property
    def is_upper(self) -> bool:
        """Return True if the platform spells names without quotes in upper case."""
        return self._first.isupper()

    @property
    def defaults(self) -> tuple[str, str]:
        """Return the database and the schema of tables without one."""
        return parts_of(self._first)[:2]

    def name(self, table: tuple[str, str, str]) -> str:
        """Return the name of the dataset of a table.

        `table` is a name as spelled in a text: database, schema and table, empty where it has none.
        A known dataset whose last parts are equal is returned, without case. Otherwise, missing
        parts are those of `first`: `orders` becomes `shop.public.orders`.
        """
        wanted = [part.lower() for part in table if part]
        for parts, name in self._known.items():
            own = [part for part in parts if part]
            count = min(len(own), len(wanted))
            if own[-count:] == wanted[-count:]:
                return name
        count = len(self._prefixes) + 1
        stated = [part for part in table if part][-count:]
        if self.is_upper:
            stated = [part.upper() if part.islower() else part for part in stated]
        return ".".join((*self._prefixes[: count - len(stated)], *stated))


def parts_of(name: str) -> Parts:
    """Return the last three parts of a dataset's name."""
    database, schema, table = (["", "", *name.lower().split(".")])[-3:]
    return database, schema, table
