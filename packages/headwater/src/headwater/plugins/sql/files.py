"""The edges between tables and columns that an SQL file states."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot import TokenType
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError

from headwater.plugins.sql.model import Statement, after
from headwater.plugins.sql.session import Session, SessionTable
from headwater.plugins.sql.statements import read_statements
from headwater.plugins.sql.steps import UnreadError, reason_of
from headwater.sql.reader import Edge, SqlFile, Table

_QUERY = re.compile(r"(?:\s|--[^\n]*\n|/\*.*?\*/|\()*+(?:select|with)\b", re.I | re.S)
_REF = re.compile(
    r"\{\{-?\s*(?:ref|source)\(\s*(?:['\"]([\w.-]+)['\"]\s*,\s*)?['\"]([\w.-]+)['\"]\s*\)\s*-?\}\}"
)
_CONFIG = re.compile(r"\{\{-?\s*config\(.*?\)\s*-?\}\}|\{#.*?#\}", re.S)
_THIS = re.compile(r"\{\{-?\s*this\s*-?\}\}")
_PLACEHOLDER = re.compile(r"(?<!\{)\{(\w+)\}(?!\})")  # of Python's str.format


def read_file(text: str, name: str, dialect: str) -> SqlFile:
    """Return the edges that a file states.

    A query alone, like a dbt model, defines a view of the file's `name`. Supported templates are
    `ref`, `source`, `this`, `config` and the placeholders of Python's `str.format`.
    """
    edges: set[Edge] = set()
    targets: set[str] = set()
    unread: list[str] = []
    temporary: dict[str, SessionTable] = {}
    try:
        for sql in _statements(_without_templates(text, name), dialect):
            session = Session("", "", {}, temporary, dialect, schema="")
            for statement in _read(sql, name, session):
                temporary = after(temporary, statement)
                if statement.target and not statement.temporary:
                    targets.add(_name(statement.target))
                    edges |= set(_edges(statement))
    except (SqlglotError, UnreadError) as error:
        unread.append(reason_of(error))
    return SqlFile(frozenset(edges), frozenset(targets), tuple(unread))


def _without_templates(text: str, name: str) -> str:
    def ref(found: re.Match[str]) -> str:
        is_source = "source(" in found[0] and found[1]
        return ".".join(f'"{part}"' for part in found.groups() if part) if is_source else found[2]

    text = _REF.sub(ref, _CONFIG.sub("", text))
    text = _PLACEHOLDER.sub(r"\1", _THIS.sub(name, text))
    if "{{" in text or "{%" in text:
        raise UnreadError("it contains an unsupported template")
    return text


def _statements(text: str, dialect: str) -> Iterator[str]:
    start = 0
    for token in Dialect.get_or_raise(dialect).tokenize(text):
        if token.token_type is TokenType.SEMICOLON:
            yield text[start : token.start]
            start = token.end + 1
    yield text[start:]


def _read(sql: str, name: str, session: Session) -> list[Statement]:
    found = read_statements(sql, session)
    if not found and _QUERY.match(sql):
        return read_statements(f"create view {name} as {sql}", session)
    return found


def _edges(statement: Statement) -> Iterator[Edge]:
    target = _name(statement.target or ())
    for source in (*map(_name, statement.tables), *statement.files):
        yield Edge(target, source, "table")
    columns = [*statement.columns.items(), ("*", statement.indirect)]
    for column, origins in columns:
        for table, field, kind in origins:
            how = kind.subtype.lower().replace("_", " ")
            yield Edge(f"{target}.{column}", f"{_name(table)}.{field}", how)


def _name(table: Table | tuple[()]) -> str:
    return ".".join(filter(None, table))
