"""Statements that change what later names mean, or that move rows without naming columns."""

from __future__ import annotations

import re
from dataclasses import replace

from sqlglot import exp
from sqlglot.errors import SqlglotError

from headwater.plugins.sql.session import Session
from headwater.plugins.sql.steps import UnreadError, parse_statement
from headwater.sql.reader import Table

_COMMENT = r"(?>(?:\s+|--[^\n]*\n|/\*.*?\*/)*)"
_PART = r"(?:\"[^\"]+\"|`[^`]+`|\[[^]]+]|[\w$#]+)"
_USE = re.compile(
    _COMMENT + r"use\s+(?!(?:role|warehouse|secondary)\b)(?:(catalog|database|schema)\s+)?"
    rf"({_PART})(?:\s*\.\s*({_PART}))?\s*;?\s*$",
    re.I | re.S,
)
_PATH = re.compile(
    _COMMENT + r"set\s+(?:(?:local|session)\s+)?(?:search_path\s*(?:=|to)|schema)\s*"
    rf"'?({_PART})'?\s*(,)?",
    re.I | re.S,
)
_RENAME = re.compile(
    _COMMENT + rf"alter\s+table\s+(?:if\s+exists\s+)?({_PART})\s+rename\s+to\s+({_PART})\s*;?\s*$",
    re.I | re.S,
)
_ALTER = re.compile(_COMMENT + r"(?:alter\s+table|create\s+(?:unique\s+)?index)\b", re.I | re.S)
_RENAME_COLUMN = re.compile(
    r"\brename\s+(?!(?:column|to|table|constraint|index|key)\b)(?=\S+\s+to\b)", re.I
)
"""RENAME without COLUMN, as in PostgreSQL."""
_MOVES = re.compile(
    _COMMENT + r"alter\s+table\b.*?\b(swap\s+with|switch|exchange|attach\s+part|replace\s+part"
    r"|move\s+part)",
    re.I | re.S,
)
_ASSIGNMENT = re.compile(
    _COMMENT + r"(?:let\s+)?(?!(?:let|set|select|with)\b)(\w+)(?:\s+(?!(?:resultset|cursor)\b)"
    r"\w+(?:\s*\([\d\s,]*\))?)?\s*(?::=|\bdefault\b)\s*(.+)$",
    re.I | re.S,
)
_SWAP = re.compile(r"\bswap\s+with\b", re.I)
_DATABASES = {"duckdb", "redshift", "snowflake", "tsql"}
"""Dialects in which USE with one name sets the database; in others, it sets the schema."""
_FIRST_SCHEMA = {"duckdb": "main", "tsql": "dbo"}


def after_use(sql: str, session: Session) -> Session:
    """Return the session after USE, SET search_path, or the renaming of a temporary table.

    Raises:
        UnreadError: it is not certain which schema names without one are in.
    """
    if found := _USE.match(sql):
        return _used(found, session)
    if (found := _PATH.match(sql)) and session.dialect in ("postgres", "redshift"):
        has_several = found[2] is not None  # a comma after the first schema
        if has_several and _plain(found[1]) not in ("", session.schema):
            raise UnreadError("the search_path has several schemas")
        return replace(session, used_schema="" if found[2] else _plain(found[1]))
    found = _RENAME.match(sql)
    if found and (table := session.temporary.get(_plain(found[1]))) is not None:
        others = {name: item for name, item in session.temporary.items() if item is not table}
        return replace(session, temporary={**others, _plain(found[2]): table})
    return session


def _used(found: re.Match[str], session: Session) -> Session:
    """Return the session after USE, of which `found` has the kind and up to two names.

    `USE a.b` sets the database a and the schema b. One name is the schema or the database,
    depending on the kind and the dialect; a new database begins in its first schema.
    """
    kind, first, second = (found[1] or "").lower(), _plain(found[2]), _plain(found[3] or "")
    if second:
        return replace(session, database=first, used_schema=second)
    is_schema = kind == "schema" or (kind != "catalog" and session.dialect not in _DATABASES)
    if is_schema:
        return replace(session, used_schema=first)
    return replace(
        session, database=first, used_schema=_FIRST_SCHEMA.get(session.dialect, "public")
    )


def _plain(name: str) -> str:
    return name.strip('"`[]').lower()


def swapped_tables(sql: str, session: Session) -> tuple[Table, Table] | None:
    """Return the tables that exchange their rows, if the run reported both; see `sql.changes`."""
    if not _SWAP.search(sql):
        return None
    try:
        parsed = parse_statement(sql, session.dialect, session.steps)
    except SqlglotError:
        return None
    session.spell(parsed)
    action = next(iter(parsed.args.get("actions") or ()), None)
    if not isinstance(action, exp.SwapTable):
        return None
    first, second = session.table(parsed.this), session.table(action.this)
    return (first, second) if session.reported >= {first, second} else None


def moved_rows(sql: str) -> str | None:
    """Return the words of an ALTER TABLE that moves rows between tables, such as SWITCH."""
    found = _MOVES.match(sql)
    return f"ALTER TABLE … {' '.join(found[1].split()[:1]).upper()}" if found else None


def altered_columns(sql: str, session: Session) -> frozenset[tuple[Table, str]] | None:
    """Return the columns that ALTER TABLE or CREATE INDEX names; None for any other text.

    Dropped columns are left out. Also None if the text may name others, as for foreign keys and
    partitions. A renamed column is named by both of its names: whatever uses one uses the other.
    """
    if not _ALTER.match(sql):
        return None
    try:
        text = _RENAME_COLUMN.sub("rename column ", sql)
        parsed = parse_statement(text, session.dialect, session.steps)
    except SqlglotError:
        return None
    if isinstance(parsed, exp.Create):
        return _indexed_columns(parsed, session)
    actions = parsed.args.get("actions") or ()
    if not actions or not all(isinstance(action, _COLUMN_ACTIONS) for action in actions):
        return None
    session.spell(parsed)
    named = [_columns_of(action) for action in actions]
    if not isinstance(parsed.this, exp.Table) or None in named:
        return None
    if session.is_temporary(parsed.this):
        return frozenset()
    table = session.table(parsed.this)
    return frozenset((table, name) for names in named for name in names or () if name)


def _indexed_columns(parsed: exp.Create, session: Session) -> frozenset[tuple[Table, str]] | None:
    index = parsed.this
    table = index.args.get("table") if isinstance(index, exp.Index) else None
    if not isinstance(table, exp.Table) or parsed.find(exp.Query, exp.Command):
        return None
    session.spell(parsed)
    if session.is_temporary(table):
        return frozenset()
    names = {column.name for column in parsed.find_all(exp.Column)}
    return frozenset((session.table(table), name) for name in names if name)


def _columns_of(action: exp.Expr) -> set[str] | None:
    """Return the columns that an action of ALTER TABLE names; None if it may name others."""
    if isinstance(action, exp.Drop):
        return set() if action.args.get("kind") in ("COLUMN", "COLUMNS") else None
    if action.find(exp.Reference, exp.Query):
        return None
    names = {column.name for column in action.find_all(exp.Column)}
    if isinstance(action, exp.AlterColumn):
        names.add(action.name)
    if isinstance(action, exp.ModifyColumn):
        names |= {action.this.name, action.text("rename_from")}
    return names


_COLUMN_ACTIONS = (
    exp.AlterColumn,
    exp.ColumnDef,
    exp.Drop,
    exp.ModifyColumn,
    exp.RenameColumn,
)


def assignment(sql: str, dialect: str) -> str:
    """Return LET or an assignment of Snowflake's scripts as SET; any other statement unchanged."""
    found = _ASSIGNMENT.match(sql) if dialect == "snowflake" else None
    return f"set {found[1]} = {found[2]}" if found else sql


def table_variables(parsed: exp.Expr) -> list[exp.Create]:
    """Return DECLARE @t TABLE (…) of T-SQL as statements CREATE TABLE "@t" (…).

    A name that begins with @ is a temporary table (`Session.is_temporary`).
    """
    found = []
    for item in parsed.find_all(exp.DeclareItem):
        if isinstance(schema := item.args.get("kind"), exp.Schema):
            names = item.this if isinstance(item.this, list) else [item.this]
            for name in names:
                table = exp.Table(this=exp.to_identifier(f"@{name.name}"))
                columns = schema.copy()
                columns.set("this", table)
                found.append(exp.Create(this=columns, kind="TABLE"))
    return found
