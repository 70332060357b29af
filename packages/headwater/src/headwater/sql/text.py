"""The SQL text of a run, with the names of the datasets that the run reported.

`reader()` returns the plugin that reads SQL, or None if it is not installed. A table in a text
often lacks its database and schema: they are those of `first`, a dataset of the run.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple, Protocol

from headwater.sql.names import TableNames, parts_of
from headwater.sql.reader import (
    Arguments,
    KnownColumns,
    LocalNames,
    Script,
    TableParts,
    Unread,
    reader,
)


class _Named(Protocol):
    """A dataset by name."""

    @property
    def namespace(self) -> str: ...

    @property
    def name(self) -> str: ...


_MISSING = "is not installed", "pip install 'headwater[sql]'"


@cache
def missing_reader() -> tuple[str, str] | None:
    """Return why no SQL can be read on this machine, and what to do; None if it can."""
    return _MISSING if (found := reader()) is None else found.missing()


def dialect_of(reported: str | None, namespace: str) -> str | None:
    """Return the reader's name of a dialect: the reported one, or that of a namespace."""
    return None if (found := reader()) is None else found.dialect_of(reported, namespace)


def local_names(text: str, dialect: str) -> LocalNames:
    """Return the names of the common table expressions and temporary tables of a text."""
    return LocalNames() if (found := reader()) is None else found.local_names(text, dialect)


def scalar_tables(text: str, dialect: str) -> tuple[frozenset[TableParts], frozenset[TableParts]]:
    """Return the tables of a text in scalar subqueries, and all others; both may be empty."""
    found = reader()
    return found.scalar_tables(text, dialect) if found else (frozenset(), frozenset())


def input_of_table(
    namespace: str, name: str, inputs: Iterable[_Named], outputs: Iterable[_Named]
) -> tuple[str, str] | None:
    """Return the name of the reported input that a table in a SQL text refers to; None without one.

    It is the input of that name in the text's namespace. If no input or output there has the name,
    it is the only input with that name in another namespace, as in federated queries.
    """
    places = {item.namespace for item in inputs if item.name == name}
    if namespace in places:
        return namespace, name
    is_target = any((item.namespace, item.name) == (namespace, name) for item in outputs)
    return (places.pop(), name) if len(places) == 1 and not is_target else None


class SqlText(NamedTuple):
    """A text, and the datasets of one namespace that its names refer to."""

    text: str
    dialect: str | None
    """As reported; without one, it is that of the namespace."""
    namespace: str
    first: str
    """The dataset whose prefix the names of other tables have."""
    others: frozenset[str]
    is_only_target: bool
    """True if `first` is the only dataset that the text writes."""

    @classmethod
    def of(
        cls,
        text: str,
        dialect: str | None,
        first: tuple[str, str],
        names: Iterable[tuple[str, str]],
        *,
        is_only_target: bool = False,
    ) -> SqlText:
        """Return a text with the names of a namespace, that of `first`.

        `first` and `names` are namespaces with names of datasets; those of other namespaces do not
        count. `is_only_target` is True if the run wrote no other dataset.
        """
        others = frozenset(name for namespace, name in names if namespace == first[0])
        return cls(text, dialect, *first, others, is_only_target)

    def read(self, known: KnownColumns = (), stated: KnownColumns = ()) -> Script | str:
        """Return what the text reads and writes, or why it cannot be read.

        `known` has the columns of tables, so that `*` can be expanded, and `stated` those that only
        earlier texts state. The result is cached by the plugin.
        """
        arguments = self.arguments(known, stated)
        if isinstance(arguments, str):
            return arguments
        assert (sql := reader()) is not None  # it knows the dialect
        found = sql.read_script(self.text, arguments)
        return found.reason if isinstance(found, Unread) else found

    def arguments(self, known: KnownColumns = (), stated: KnownColumns = ()) -> Arguments | str:
        """Return the arguments for reading the text, or why it cannot be read.

        `known` and `stated` are those of `read`. The reason is a phrase that follows the name of a
        run. If the text writes only `first`, a query without a target, as in a dbt model, defines
        that table.
        """
        dialect = dialect_of(self.dialect, self.namespace)
        if dialect is None:
            return f"its dialect is unknown: {self.dialect or self.namespace}"
        tables = self.tables()
        if tables.is_ambiguous:
            return "two of its datasets differ in case only"
        target = parts_of(self.first) if self.is_only_target else None
        reported = frozenset(map(parts_of, self.others))
        return Arguments(dialect, *tables.defaults, target, known, reported, stated)

    def tables(self) -> TableNames:
        """Return the names of the tables of the text."""
        return TableNames(self.first, sorted(self.others))

    def unread_reason(self) -> str | None:
        """Return why the text, or a statement of it, cannot be read; None if all can."""
        read = self.read()
        if isinstance(read, str):
            return read
        return f"the effect of {read.skipped[0]} is unknown" if read.skipped else None
