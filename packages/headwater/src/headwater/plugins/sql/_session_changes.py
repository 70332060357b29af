"""Statements that change what later names mean, or that move rows without naming columns."""

from __future__ import annotations

import re
from dataclasses import replace

from sqlglot import exp

from headwater.plugins.sql.session import Session
from headwater.plugins.sql.steps import UnreadError, parse_statement

_COMMENT = r"(?:\s|--[^\n]*\n|/\*.*?\*/)*+"
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
_MOVES = re.compile(
    _COMMENT + r"alter\s+table\b.*?\b(swap\s+with|switch|exchange|attach\s+part|replace\s+part"
    r"|move\s+part)",
    re.I | re.S,
)
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
        if found[2] and _plain(found[1]) not in ("", session.schema):
            raise UnreadError("the search_path has several schemas")
        return replace(session, used_schema="" if found[2] else _plain(found[1]))
    found = _RENAME.match(sql)
    if found and (table := session.temporary.get(_plain(found[1]))) is not None:
        others = {name: item for name, item in session.temporary.items() if item is not table}
        return replace(session, temporary={**others, _plain(found[2]): table})
    return session


def _used(found: re.Match[str], session: Session) -> Session:
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


def moved_rows(sql: str) -> str | None:
    """Return the words of an ALTER TABLE that moves rows between tables, such as SWAP WITH."""
    found = _MOVES.match(sql)
    return f"ALTER TABLE … {' '.join(found[1].split()[:1]).upper()}" if found else None


def table_variables(sql: str, session: Session) -> list[exp.Create]:
    """Return the temporary tables that DECLARE @t TABLE (…) of T-SQL creates."""
    found = []
    for item in parse_statement(sql, session.dialect, session.steps).find_all(exp.DeclareItem):
        if isinstance(schema := item.args.get("kind"), exp.Schema):
            names = item.this if isinstance(item.this, list) else [item.this]
            for name in names:
                table = exp.Table(this=exp.to_identifier(f"@{name.name}"))
                columns = schema.copy()
                columns.set("this", table)
                found.append(exp.Create(this=columns, kind="TABLE"))
    return found
