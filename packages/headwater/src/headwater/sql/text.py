"""The SQL text of a run, with the names of the datasets that the run reported."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

from headwater.sql.names import TableNames, parts_of

if TYPE_CHECKING:  # they need the extra `sql`
    from headwater.sql.results import Arguments, KnownColumns, Script


@cache
def missing_reader() -> tuple[str, str] | None:
    """Return why no SQL can be read on this machine, and what to do; None if it can.

    The compiled parser of sqlglot, which `sqlglot[c]` and `sqlglot[rs]` install, is not used: its
    steps cannot be counted, so the time for a text would be unlimited.
    """
    if find_spec("sqlglot") is None:
        return "is not installed", "pip install 'headwater[sql]'"
    try:
        distribution("sqlglotc")
    except PackageNotFoundError:
        return None
    return "does not work with the compiled parser of sqlglot", "pip uninstall sqlglotc"


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
        """Return a text with the names of a namespace, that of `first`."""
        others = frozenset(name for namespace, name in names if namespace == first[0])
        return cls(text, dialect, *first, others, is_only_target)

    def read(self, known: KnownColumns = ()) -> Script | str:
        """Return what the text reads and writes, or why it cannot be read."""
        from headwater.sql.results import Unread
        from headwater.sql.script import read_script

        arguments = self.arguments(known)
        if isinstance(arguments, str):
            return arguments
        found = read_script(self.text, arguments)
        return found.reason if isinstance(found, Unread) else found

    def arguments(self, known: KnownColumns = ()) -> Arguments | str:
        """Return the arguments for reading the text, or why it cannot be read."""
        from headwater.sql.dialects import dialect_of
        from headwater.sql.results import Arguments

        dialect = dialect_of(self.dialect, self.namespace)
        if dialect is None:
            return f"its dialect is unknown: {self.dialect or self.namespace}"
        tables = self.tables()
        if tables.is_ambiguous:
            return "two of its datasets differ in case only"
        target = parts_of(self.first) if self.is_only_target else None
        reported = frozenset(map(parts_of, self.others))
        return Arguments(dialect, *tables.defaults, target, known, reported)

    def tables(self) -> TableNames:
        """Return the names of the tables of the text."""
        return TableNames(self.first, sorted(self.others))

    def unread_reason(self) -> str | None:
        """Return why the text, or a statement of it, cannot be read; None if all can."""
        read = self.read()
        if isinstance(read, str):
            return read
        return f"the effect of {read.skipped[0]} is unknown" if read.skipped else None
