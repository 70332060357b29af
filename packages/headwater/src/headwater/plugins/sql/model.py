"""The inputs and the output of one SQL statement, and functions that fill them in.

Readers of statements (`statements`, `_changes`) create a `Statement` and fill it by these
functions. `script` combines the statements of a text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from sqlglot import exp

from headwater.plugins.sql._query import Reader
from headwater.plugins.sql.relations import NONE, Relation
from headwater.plugins.sql.session import Session, SessionTable, Temporary
from headwater.plugins.sql.steps import UnreadError
from headwater.sql.reader import Origins, Table

_CATALOGS = ("information_schema", "pg_catalog")
"""Schemas of views that describe tables."""


@dataclass(slots=True)
class Statement:
    """Inputs and output of a statement. Files are URLs; temporary tables are not among them."""

    kind: str
    """The kind, such as `insert`, `update`, `merge`, `ctas` (CREATE TABLE AS), `view` or `query`.
    """
    shape: str
    """Digest that is the same for statements that differ in literals only."""
    target: Table | None = None
    to_file: str | None = None
    tables: list[Table] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    columns: dict[str, Origins] = field(default_factory=dict)
    """The columns of the target that are known by name."""
    unnamed: Origins = NONE
    """Origins of values that go into columns whose names are unknown."""
    unplaced: frozenset[str] = frozenset()
    """The names of these values in the query, in lower case. An INSERT fills columns by position,
    so they are not the names of the columns."""
    has_unknown_columns: bool = False
    """True if it uses columns that are unknown: those of `*`, or one that may belong to several
    tables."""
    used: frozenset[tuple[Table, str]] = frozenset()
    """The columns that it names, even if nothing depends on them, also those of the target."""
    has_unknown_uses: bool = False
    """True if it may use columns that are neither named nor origins."""
    has_all_columns: bool = True
    """False if the query has columns that are unknown, such as those of `*`."""
    indirect: Origins = NONE
    """Columns that determine the rows."""
    temporary: tuple[str, ...] = ()
    """Temporary tables that it writes or drops; if there are any, it has no output dataset."""
    layout: SessionTable | None = None
    """The temporary table that it creates, without rows."""
    spellings: dict[str, str] = field(default_factory=dict)
    """The spelling of the columns that it defines, by lower-case name."""
    unknown: list[str] = field(default_factory=list)
    """Temporary tables that it reads and whose contents are unknown."""

    @property
    def moves_data(self) -> bool:
        """True unless it only creates, empties or drops a temporary table."""
        return not self.temporary or bool(self.tables or self.files)


def after(temporary: Temporary, statement: Statement) -> dict[str, SessionTable]:
    """Return a session's temporary tables after a statement succeeded.

    `temporary` are the tables before it, by name; the result is a new dict. A table that it reads
    but does not write stays. Rows are added to those before, also by UPDATE and MERGE, unless the
    statement creates the table again (`layout`) or empties it.
    """
    tables = dict(temporary)
    for name in statement.temporary:
        table = tables.pop(name, SessionTable())
        if statement.kind == "drop":
            continue
        if statement.layout is not None:
            table = statement.layout
        elif statement.kind == "truncate":
            table = table.emptied()
        tables[name] = table.with_rows(
            statement.columns, statement.indirect, statement.tables, statement.files
        )
    return tables


def new_statement(kind: str, table: exp.Table, session: Session) -> Statement:
    """Return a statement that writes to a table.

    `kind` is a word for the statement, such as `insert`. A temporary table is no dataset.
    """
    temporary = (table.name,) if session.is_temporary(table) else ()
    return Statement(kind, "", session.table(table), temporary=temporary)


def target_of(node: exp.Expr) -> tuple[exp.Table, list[str]]:
    """Return the table that a statement writes, and the columns that are listed with it, if any.

    `node` is the place of the table in INSERT, CREATE, COPY, UPDATE, DELETE or MERGE. In CREATE
    TABLE, the list contains the defined columns, and an empty name for each table constraint.

    Raises:
        UnreadError: it is not a table, but a directory or a function.
    """
    if isinstance(node, exp.Schema) and isinstance(node.this, exp.Table):
        return node.this, [column.name for column in node.expressions]
    if isinstance(node, exp.Table):
        return node, []
    raise UnreadError(f"it writes to {node.sql()[:80]}, which is not a table")


def is_file(table: exp.Table) -> bool:
    """Return True for the path of a file in the place of a table, as in FROM 'a.csv'."""
    return _is_quoted(table) and _PATH.search(table.name) is not None


def _is_quoted(table: exp.Table) -> bool:
    return isinstance(table.this, exp.Identifier) and bool(table.this.quoted)


_PATH = re.compile(r"/|\.(?:csv|tsv|txt|json|jsonl|ndjson|parquet|orc|avro|xlsx|gz|zst)$", re.I)


def columns_of(table: exp.Table, session: Session) -> list[str]:
    """Return the names of a table's columns if all are known."""
    relation = session.relation(table)
    return [name for name, _ in relation.columns] if relation.is_whole else []


def read_query(
    query: exp.Expr, statement: Statement, session: Session, changed: Table | None = None
) -> Relation:
    """Read a query, and record the tables and files that it reads, except the one it changes.

    `changed` is the target of UPDATE, DELETE and MERGE: its own rows are no source. Return the
    columns of the query; the statement gets the origins of its rows.
    """

    def relation(found: exp.Table) -> Relation:
        """Record a table or file in FROM, and return its columns; catalogs are not recorded."""
        if is_file(found):
            statement.files.append(found.name)
            statement.has_unknown_columns = statement.has_unknown_uses = True
            return Relation(is_whole=False, other=lambda _: NONE)
        parts = {part for name in found.parts for part in name.name.lower().split(".")}
        if not parts.isdisjoint(_CATALOGS):
            return Relation(is_whole=False, other=lambda _: NONE)
        if session.table(found) != changed:
            if not session.is_temporary(found):
                statement.tables.append(session.table(found))
            elif session_table := session.temporary.get(found.name):
                statement.tables += session_table.tables
                statement.files += session_table.files
            else:
                statement.unknown.append(found.name)
        return session.relation(found)

    def variable(name: str) -> Origins | None:
        if (value := session.variables.get(name)) is None:
            return None
        statement.tables += value.tables
        return value.rows.union(*(origins for _, origins in value.columns))

    reader = Reader(relation, session.dialect, variable, session.steps)
    found = reader.query(query)
    statement.has_unknown_columns |= reader.has_unknown_columns
    is_unknown = not found.is_whole or reader.has_unread_columns(query)
    is_unknown |= _takes_all(query) and not session.stated.isdisjoint(statement.tables)
    statement.has_unknown_uses |= reader.has_unknown_uses or is_unknown
    statement.used |= reader.used
    statement.tables = list(dict.fromkeys(statement.tables))
    statement.files = list(dict.fromkeys(statement.files))
    statement.indirect = found.rows
    return found


def _takes_all(query: exp.Expr) -> bool:
    """Return True if a query uses all columns of a table, as by `*` or a natural join.

    A table may have columns that no text states.
    """
    stars = (star for star in query.find_all(exp.Star) if not isinstance(star.parent, exp.Count))
    joins = (join for join in query.find_all(exp.Join) if join.args.get("method"))
    return any(True for _ in stars) or any(True for _ in joins)


def name_columns(
    statement: Statement, relation: Relation, names: list[str], session: Session
) -> None:
    """Set the columns of a statement to those of a query, under the names of the target's.

    `names` are the columns of the target, in the order of the query's columns; without any, the
    query's own names are used. If the query's columns are not all known, listed names cannot be
    matched.
    """
    statement.has_all_columns &= relation.is_whole
    statement.has_unknown_columns |= not relation.is_whole  # those of `*` of an unknown schema
    if names and not relation.is_whole:  # their order is unknown
        return
    known_columns = session.columns.get(statement.target, {}) if statement.target else {}
    for index, (own_name, origins) in enumerate(relation.columns):
        name = names[index] if index < len(names) else own_name
        if name not in known_columns and name.lower() in known_columns:  # an alias in quotes
            name = name.lower()
        statement.columns[name] = statement.columns.get(name, NONE) | origins
