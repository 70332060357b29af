"""The interface of the reader of SQL texts, and the types of its results.

A plugin adds the reader, see `Plugin.sql`. Without one, only changes of tables (`sql.changes`) are
read from SQL texts, and all other lineage is what the producers reported.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Literal, NamedTuple, Protocol

from headwater.plugin import load_all


class Kind(NamedTuple):
    """Type, subtype and masking of a transformation."""

    type: str
    subtype: str
    masking: bool = False

    def over(self, inner: Kind) -> Kind:
        """Return the kind of a dependency that passes through `inner` and then through this one.

        An indirect step makes the whole path indirect; of direct steps the strongest one counts.
        """
        if self.type == _INDIRECT:
            return self
        if inner.type == _INDIRECT:
            return inner
        subtype = max(self.subtype, inner.subtype, key=_STRENGTH.index)
        return Kind(_DIRECT, subtype, self.masking or inner.masking)


_DIRECT, _INDIRECT = "DIRECT", "INDIRECT"
_STRENGTH = ("IDENTITY", "TRANSFORMATION", "AGGREGATION")


Table = tuple[str, str, str]
"""Database, schema and name."""


class Origin(NamedTuple):
    """A column that another column, or all rows of a table, depend on."""

    table: Table
    column: str
    kind: Kind


Origins = frozenset[Origin]

KnownColumns = tuple[tuple[Table, tuple[str, ...]], ...]
"""The columns of the tables whose schema is known, in their order."""


class Arguments(NamedTuple):
    """The arguments of `read_script` besides the text."""

    dialect: str
    """A dialect of sqlglot."""
    database: str
    """The database of names without one."""
    schema: str
    """The schema of names without one."""
    target: Table | None
    """The table that a query alone defines, as in a dbt model."""
    known: KnownColumns
    """The columns of tables, with lower-case names."""
    reported: frozenset[Table] = frozenset()
    """Tables that the run reported. A name without a schema is the only table with this name."""
    stated: KnownColumns = ()
    """The columns of tables that only SQL texts of earlier runs state, with lower-case names. A
    table without columns exists, but its columns are unknown."""


class Written(NamedTuple):
    """The columns that the statements of a text write into one table, and their sources."""

    sources: frozenset[Table]
    columns: tuple[tuple[str, Origins], ...]
    rows: Origins
    """Columns that determine the rows, and those whose values go into unknown columns."""
    has_all_columns: bool
    """True if `columns` has every column that is written."""
    has_unknown_columns: bool
    """True if some of the used columns are unknown, or the tables to which they belong."""
    unplaced: frozenset[str] = frozenset()
    """The names, in lower case, of query columns that go into unknown columns by position."""


class ColumnChange(NamedTuple):
    """A change of the columns of a table by a statement, such as ALTER TABLE t ADD a int."""

    table: Table
    """ANY_TABLE if it is unknown which tables changed."""
    kind: Literal["CREATE", "CREATE IF MISSING", "ADD", "REMOVE", "RENAME", "DROP", "UNKNOWN"]
    """ADD, REMOVE and RENAME are changes of columns, and DROP is one of the table. After UNKNOWN,
    the columns of the table are unknown."""
    names: tuple[str, ...] = ()
    """The columns, spelled as in the catalog; of RENAME, the former and the new name. None: they
    are unknown."""
    is_certain: bool = True
    """False if the statement may not have run, as in a block."""


ANY_TABLE: Table = ("", "", "")


class Unread(NamedTuple):
    """The reason why a text could not be read."""

    reason: str


class Script(NamedTuple):
    """The tables and columns that the statements of a text read and write."""

    written: tuple[tuple[Table, Written], ...]
    used: frozenset[tuple[Table, str]]
    """The columns that the statements name, even if no written table depends on them."""
    is_complete: bool
    """True if every column that the statements use is in `used`, or an origin in `written`."""
    spellings: Mapping[str, str]
    """The spelling of the columns that the statements define, by lower-case name."""
    skipped: tuple[str, ...]
    """The first words of statements, such as CALL, whose effects are unknown."""
    passed: frozenset[Table] = frozenset()
    """The tables that a statement reads after an earlier one wrote them."""
    replaced: frozenset[Table] = frozenset()
    """Those of `passed` that no statement reads before."""
    changes: tuple[ColumnChange, ...] = ()
    """The changes of the columns of tables, in their order. Temporary tables have none."""


TableParts = tuple[str, ...]
"""The parts of a table's name as the text spells them."""


class LocalNames(NamedTuple):
    """Lower-case names of queries and functions of a text that are no tables of it."""

    names: frozenset[str] = frozenset()
    temporary: frozenset[str] = frozenset()
    """Those of temporary tables."""
    tables: frozenset[tuple[str, ...]] = frozenset()
    """Names, in parts, of the text's tables that share a name with a common table expression."""
    aliases: frozenset[str] = frozenset()
    """Those of subqueries, functions and lists of values in FROM."""

    def has(self, name: str) -> bool:
        """Return True if a dataset's name is one of these and not a table of the text.

        `name` is that of a dataset, with any number of parts.
        """
        parts = tuple(name.lower().split("."))
        if parts[-1] in self.names:
            return True
        same = [table for table in self.tables if table[-1] == parts[-1]]
        return bool(same) and not any(
            parts[-count:] == table[-count:]
            for table in same
            for count in (min(len(table), len(parts)),)
        )


class Edge(NamedTuple):
    """A table or column that another one is computed from."""

    target: str
    """`TABLE` or `TABLE.COLUMN`; `TABLE.*` means all rows."""
    source: str
    kind: str
    """`table`, or the subtype of the transformation."""


class SqlFile(NamedTuple):
    """The edges of a file, and the tables that it writes, defines, changes or drops."""

    edges: frozenset[Edge]
    targets: frozenset[str]
    unread: tuple[str, ...]
    """The errors of unsupported statements."""
    uncertain: frozenset[str]
    """The statements, without comments, that may have further edges, such as CALL and `*`."""


class SqlReader(Protocol):
    """The functions that read SQL texts, without running them."""

    def missing(self) -> tuple[str, str] | None:
        """Return why no text can be read on this machine, and what to do; None if texts can."""

    def dialect_of(self, reported: str | None, namespace: str) -> str | None:
        """Return the reader's name of a dialect: the reported one, or that of a namespace."""

    def read_script(self, text: str, arguments: Arguments) -> Script | Unread:
        """Return what one or more statements read and write, or why one cannot be read."""

    def local_names(self, text: str, dialect: str) -> LocalNames:
        """Return the names of the common table expressions and temporary tables of a text."""

    def scalar_tables(
        self, text: str, dialect: str
    ) -> tuple[frozenset[TableParts], frozenset[TableParts]]:
        """Return the tables of a text in scalar subqueries, and all others.

        Both are empty if the text has no scalar subquery or cannot be parsed.
        """

    def read_file(self, text: str, name: str, dialect: str) -> SqlFile:
        """Return the edges that a file states. Raises ImportError if a package is missing."""


@cache
def reader() -> SqlReader | None:
    """Return the reader of the first plugin that has one; None without such a plugin."""
    return next(iter(load_all("sql")), None)
