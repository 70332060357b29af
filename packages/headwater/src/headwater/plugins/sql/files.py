"""The edges between tables and columns that an SQL file states, for `headwater check --base`.

The versions of a file before and after a change are compared without a database, so schemas are
unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError

from headwater.plugins.sql.model import Statement
from headwater.plugins.sql.script import Part, read_parts, statements_of
from headwater.plugins.sql.session import Session
from headwater.plugins.sql.steps import MOST_STEPS, Steps, UnreadError, parse_statement, reason_of
from headwater.sql.reader import Edge, SqlFile, Table

_REF = re.compile(
    r"\{\{-?\s*(?:ref|source)\(\s*(?:['\"]([\w.-]+)['\"]\s*,\s*)?['\"]([\w.-]+)['\"]\s*\)\s*-?\}\}"
)
_CONFIG = re.compile(r"\{\{-?\s*config\(.*?\)\s*-?\}\}|\{#.*?#\}", re.S)
_THIS = re.compile(r"\{\{-?\s*this\s*-?\}\}")
_PLACEHOLDER = re.compile(r"(?<!\{)\{(\w+)\}(?!\})")  # of Python's str.format
_DEFINITION = re.compile(
    r"(?>(?:\s+|--[^\n]*\n|/\*.*?\*/)*)(?:create\b[^(;]*?\btable|(?:alter|drop|truncate)\b"
    r"[^(;]*?\b(?:table|view)|truncate|comment\s+on)\b",
    re.I | re.S,
)
_WITHOUT_EDGES = re.compile(
    r"(?>(?:\s+|--[^\n]*\n|/\*.*?\*/)*)(?:create\s+(?:or\s+replace\s+)?(?:\w+\s+)?(?:index|schema"
    r"|database|sequence|role|user|extension|stage|warehouse|file\s+format|tag|type)"
    r"|refresh\s+materialized)\b",
    re.I | re.S,
)
"""Statements that change no edges, such as the creation of an index."""
_MOST_STEPS = 10 * MOST_STEPS
"""A file may have many statements."""


def read_file(text: str, name: str, dialect: str) -> SqlFile:
    """Return the edges that a file states.

    A query alone, like a dbt model, defines a view of the file's `name`. Supported templates are
    `ref`, `source`, `this`, `config` and the placeholders of Python's `str.format`.

    Text that cannot be read is reported in `unread` of the result. `dialect` is sqlglot's name of
    it.
    """
    edges: set[Edge] = set()
    targets: set[str] = set()
    uncertain: set[str] = set()
    unread: list[str] = []
    try:
        steps = Steps(_MOST_STEPS)
        parts = list(statements_of(_without_templates(text, name), dialect, steps))
        session = Session("", "", {}, {}, dialect, schema="", steps=steps)
        for part in read_parts(parts, ("", "", name.lower()), session):
            targets |= set(_targets(part))
            edges |= {edge for found in part.statements for edge in _edges(found)}
            if _is_uncertain(part):
                uncertain.add(" ".join(_words(part.sql, dialect)))
    except (SqlglotError, UnreadError, RecursionError) as error:
        unread.append(reason_of(error))
    return SqlFile(frozenset(edges), frozenset(targets), tuple(unread), frozenset(uncertain))


def _without_templates(text: str, name: str) -> str:
    """Return a text in which templates are replaced by names.

    Raises UnreadError for all other templates.
    """

    def ref(found: re.Match[str]) -> str:
        is_source = "source(" in found[0] and found[1]
        return ".".join(f'"{part}"' for part in found.groups() if part) if is_source else found[2]

    text = _REF.sub(ref, _CONFIG.sub("", text))
    text = _PLACEHOLDER.sub(r"\1", _THIS.sub(name, text))
    if "{{" in text or "{%" in text:
        raise UnreadError("it contains an unsupported template")
    return text


def _targets(part: Part) -> Iterator[str]:
    """Yield the tables that a statement writes, or that it defines, changes or drops.

    One without a `Statement` moves no data; if it is a definition, such as CREATE TABLE t (a int),
    it is parsed again for its tables.
    """
    for statement in part.statements:
        if statement.target and not statement.temporary:
            yield _name(statement.target)
    if part.statements or not _DEFINITION.match(part.sql):
        return
    parsed = parse_statement(part.sql, part.session.dialect, Steps())
    part.session.spell(parsed)
    tables = parsed.find_all(exp.Table) if isinstance(parsed, exp.Drop | exp.TruncateTable) else ()
    first = parsed.this.this if isinstance(parsed.this, exp.Schema) else parsed.this
    for table in tables or (first,):
        if isinstance(table, exp.Table) and table.name:
            yield _name(part.session.table(table))


def _is_uncertain(part: Part) -> bool:
    """Return True if edges of a statement are unknown, such as those of `*`, or of CALL."""
    if part.skipped:
        return not _WITHOUT_EDGES.match(part.sql)
    return any(
        statement.has_unknown_columns or statement.has_unknown_uses for statement in part.statements
    )


def _words(sql: str, dialect: str) -> Iterator[str]:
    """Yield the words of a statement without comments."""
    for token in Dialect.get_or_raise(dialect).tokenize(sql):
        yield token.text


def _edges(statement: Statement) -> Iterator[Edge]:
    """Yield the edges of a statement between tables, and between columns; none without a target."""
    if not statement.target or statement.temporary:
        return
    target = _name(statement.target)
    for source in (*map(_name, statement.tables), *statement.files):
        yield Edge(target, source, "table")
    columns = [*statement.columns.items(), ("*", statement.indirect | statement.unnamed)]
    for column, origins in columns:
        for table, field, kind in origins:
            how = kind.subtype.lower().replace("_", " ")
            yield Edge(f"{target}.{column}", f"{_name(table)}.{field}", how)


def _name(table: Table | tuple[()]) -> str:
    return ".".join(filter(None, table))
