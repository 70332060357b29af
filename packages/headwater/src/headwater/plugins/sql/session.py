"""The tables of a database session: those of the catalog, and temporary tables.

A temporary table exists in one session only, so it is not a dataset. It is stored as the permanent
tables, files and columns that it was created from, and these are the inputs of its readers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pydantic import TypeAdapter
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect, NormalizationStrategy

from headwater.plugins.sql._kinds import IDENTITY
from headwater.plugins.sql.relations import NONE, Relation
from headwater.plugins.sql.steps import Steps, UnreadError
from headwater.sql.reader import Origin, Origins, Table

Columns = Mapping[Table, Mapping[str, str]]
"""The types of the columns of tables, by name and in their order."""


@dataclass(frozen=True)
class SessionTable:
    """A temporary table: its columns, and the sources of its rows."""

    columns: tuple[tuple[str, Origins], ...] = ()
    is_whole: bool = False
    """True if `columns` has all columns in their order."""
    rows: Origins = NONE
    tables: tuple[Table, ...] = ()
    files: tuple[str, ...] = ()

    def emptied(self) -> SessionTable:
        """Return this table without rows."""
        return SessionTable(tuple((name, NONE) for name, _ in self.columns), self.is_whole)

    def with_rows(
        self,
        columns: Mapping[str, Origins],
        rows: Origins,
        tables: Iterable[Table],
        files: Iterable[str],
    ) -> SessionTable:
        """Return this table with the sources of additional rows."""
        own = dict(self.columns)
        for name, origins in columns.items():
            own[name] = own.get(name, NONE) | origins
        return SessionTable(
            tuple(own.items()),
            self.is_whole,
            self.rows | rows,
            tuple(dict.fromkeys((*self.tables, *tables))),
            tuple(dict.fromkeys((*self.files, *files))),
        )


Temporary = Mapping[str, SessionTable]
"""The temporary tables of one session, by name."""

SESSIONS: TypeAdapter[dict[str, dict[str, SessionTable]]] = TypeAdapter(
    dict[str, dict[str, SessionTable]]
)
"""Reads and writes the temporary tables of sessions, by session id, as JSON."""


@dataclass(frozen=True)
class Session:
    """The database, user, catalog and temporary tables with which a statement ran.

    `columns` has the known columns of tables; a table that is missing there has unknown columns.
    """

    database: str
    user: str
    columns: Columns
    temporary: Temporary = field(default_factory=dict)
    dialect: str = "redshift"
    schema: str = "public"
    """The schema of a table without one."""
    used_schema: str = ""
    """The schema of a table without one, if the script states it, as by USE."""
    variables: Mapping[str, SessionTable] = field(default_factory=dict)
    """The sources of the variables that the script sets; columns of the same name hide them."""
    has_shapes: bool = False
    """True if statements get a digest of their shape."""
    reported: frozenset[Table] = frozenset()
    """Tables whose columns may be unknown."""
    fixed: frozenset[Table] = frozenset()
    """Tables whose columns a producer reported. Statements of the script do not change them."""
    stated: frozenset[Table] = frozenset()
    """Tables whose columns in `columns` only the texts of earlier runs state."""
    steps: Steps = field(default_factory=Steps, compare=False)
    """The steps that remain for reading the statement or script."""

    def is_temporary(self, found: exp.Table) -> bool:
        """Return True for a name of a temporary table.

        `found` is the name in a statement, with its schema if there is one.
        """
        if found.db:
            return found.db in ("pg_temp", "global_temp")  # the latter of Spark
        return found.name.startswith(("#", "@")) or found.name in self.temporary

    def table(self, found: exp.Table) -> Table:
        """Return the table of a name, with the session's database and schema where it has none.

        The schema is that of USE; else that of the only known or reported table of the name; else
        the default one. A known dataset may have fewer parts: the result is then spelled like it,
        as ("", "", "t"). Raises UnreadError for a wildcard of BigQuery, which stands for several
        tables.
        """
        name, schema = found.name, found.db
        if "*" in name and self.dialect == "bigquery":
            raise UnreadError(f"{found.sql()} stands for several tables")
        if self.is_temporary(found):
            return self.database, f"pg_temp_{self.user}", name
        if not schema and self.used_schema:
            schema = self.used_schema
        elif not schema:
            every = (*self.columns, *self.reported)
            having = {own for above, own, last in every if (above, last) == (self.database, name)}
            schema = having.pop() if len(having) == 1 else self.schema
        table = found.catalog or self.database, schema, name
        shorter = (table, ("", schema, name), ("", "", name))  # datasets without these parts
        return next((known for known in shorter if known in self.columns), table)

    def relation(self, found: exp.Table) -> Relation:
        """Return the columns of a name.

        A table without known columns is assumed to have every requested column.
        """
        if self.is_temporary(found):
            own = self.temporary.get(found.name, SessionTable())
            return Relation(own.columns, own.rows, own.is_whole)
        table = self.table(found)
        columns = self.columns.get(table, {})
        return Relation(
            tuple((name, _itself(table, name)) for name in columns),
            is_whole=bool(columns),
            other=lambda name: _itself(table, name),
        )

    def spell(self, parsed: exp.Expr) -> dict[str, str]:
        """Spell all identifiers of a statement as in the catalog.

        Return how the dialect spells the columns that the statement defines, by lower-case name.

        Unquoted names are lower case. Redshift keeps the case of quoted names only if
        enable_case_sensitive_identifier is on, so a quoted name that is neither in the catalog nor
        defined by the statement refers to the lower-case name, if that exists.

        The statement is changed in place. Afterwards, names can be compared exactly.
        """
        spellings: dict[str, str] = {}
        folded = _FOLDED.get(Dialect.get_or_raise(self.dialect).normalization_strategy, str)
        mixed: list[exp.Identifier] = []
        for found in parsed.walk():
            if isinstance(found, exp.Identifier):
                if found.this != found.this.lower():
                    mixed.append(found)
            elif isinstance(found, _DEFINING):
                for name in _defined(found):
                    spelled = name.name if name.quoted else folded(name.name)
                    spellings.setdefault(name.name.lower(), spelled)
        quoted = [identifier for identifier in mixed if identifier.quoted]
        names: set[str] = set()
        if quoted:
            names = {name for table, own in self.columns.items() for name in (*table, *own)}
            names |= {
                identifier.this
                for identifier in quoted
                if isinstance(identifier.parent, _DEFINITIONS)
            }
        for identifier in mixed:
            lower = identifier.this.lower()
            is_kept = identifier.quoted and (identifier.this in names or lower not in names)
            if not is_kept:
                identifier.set("this", lower)
        return spellings


_FOLDED = {
    NormalizationStrategy.LOWERCASE: str.lower,
    NormalizationStrategy.UPPERCASE: str.upper,
}
"""The spelling of names without quotes, by dialect; other dialects keep the case."""


def _defined(found: exp.Expr) -> Iterable[exp.Identifier]:
    """Return the names of the columns that an expression defines in a query or a table."""
    if isinstance(found, exp.Column):
        is_result = isinstance(found.parent, exp.Select)
        names = [found.this] if is_result and found.arg_key == "expressions" else []
    elif isinstance(found, exp.Alias):
        names = [found.args.get("alias")]
    else:
        names = [found.this] if isinstance(found, exp.ColumnDef) else found.expressions
    return (name for name in names if isinstance(name, exp.Identifier))


_DEFINING = (exp.Alias, exp.ColumnDef, exp.Column, exp.Aliases, exp.Schema)
_DEFINITIONS = (exp.Alias, exp.TableAlias, exp.ColumnDef)


def _itself(table: Table, name: str) -> Origins:
    return frozenset({Origin(table, name, IDENTITY)})
