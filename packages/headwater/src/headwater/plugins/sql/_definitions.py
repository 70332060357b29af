"""Changes of the columns of tables: CREATE TABLE, ALTER TABLE and DROP TABLE."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Literal

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect, NormalizationStrategy
from sqlglot.errors import SqlglotError

from headwater.plugins.sql._forms import parsed_statement
from headwater.plugins.sql.model import Statement, target_of
from headwater.plugins.sql.session import Session
from headwater.plugins.sql.statements import layout_of
from headwater.plugins.sql.steps import UnreadError, parse_statement
from headwater.sql.changes import ROLLBACK
from headwater.sql.reader import ANY_TABLE, ColumnChange
from headwater.sql.schema_changes import MISSING, after_change

_COMMENT = r"(?>(?:\s+|--[^\n]*\n|/\*.*?\*/)*)"
_FIRST = re.compile(_COMMENT + r"(create|alter|drop|rename|undrop|restore|exchange)\b", re.I | re.S)
_OF_TABLE = re.compile(
    _COMMENT + r"(?:(?!\b(?:on|as|for)\b)[^(;'])*?\b(?:table|view|schema|database)\b", re.I | re.S
)
_CREATE_TABLE = re.compile(_COMMENT + r"create\b[^(;]*?\btable\b", re.I | re.S)
_KEEPS_TABLE = re.compile(
    _COMMENT
    + r"(?:create\b(?![^(;]*?\btable\b)|alter\s+table\s+(?:if\s+exists\s+)?(?:only\s+)?\S+\s+"
    r"(?:owner\s+to|set\s+(?:\(|tblproperties|options|tags?\b|(?:un)?logged)|(?:un)?set\s+comment"
    r"|cluster\s+by|comment|enable|disable|validate|replica\s+identity|add\s+(?:primary|foreign"
    r"|unique|constraint|check|index|key|partition)|drop\s+(?:constraint|primary|index|partition)"
    r"|owner)\b)",
    re.I | re.S,
)
"""Statements after which a table has the same columns; sqlglot does not parse all of them."""
_IF_MISSING = re.compile(_COMMENT + r"create\b[^(;]*?\bif\s+not\s+exists\b", re.I | re.S)
_PARTITIONED = re.compile(r"\bpartitioned\s+by\b", re.I)
_RENAME_COLUMN = re.compile(
    r"\brename\s+(?!(?:column|to|table|constraint|index|key)\b)(?=\S+\s+to\b)", re.I
)
_WITHOUT_VALUE = (
    exp.ComputedColumnConstraint,
    exp.GeneratedAsIdentityColumnConstraint,
    exp.GeneratedAsRowColumnConstraint,
    exp.InvisibleColumnConstraint,
)
"""Columns that an INSERT without a list may leave out, so that the others have other positions."""
_OTHER_LAYOUT = (
    exp.InheritsProperty,
    exp.PartitionedOfProperty,
    exp.Clone,
)
"""Clauses by which a table has other columns than those that are listed."""
_MOVES_PARTITIONS = {"hive", "spark", "spark2"}
"""Dialects in which the columns of partitions are the last ones, except in Delta and Iceberg."""
_KEEPS_COLUMNS = (exp.AlterColumn, exp.AddConstraint)
_UNKNOWN = ColumnChange(ANY_TABLE, "UNKNOWN")


def column_changes(
    sql: str, read: list[Statement], session: Session, *, is_certain: bool
) -> list[ColumnChange]:
    """Return the changes of the columns of permanent tables by a statement.

    `read` are the statements that `sql` was read as. A renamed or exchanged table has unknown
    columns, and so has one whose definition has clauses that are not read.

    Raises:
        SqlglotError, UnreadError: a CREATE TABLE cannot be parsed.
    """
    word = _FIRST.match(sql)
    found = [change for item in read for change in _of_query(sql, item, is_first=word is not None)]
    if not read and word and _OF_TABLE.match(sql) and not _KEEPS_TABLE.match(sql):
        try:
            found = list(_of_definition(sql, session))
        except (SqlglotError, UnreadError):
            if _CREATE_TABLE.match(sql):
                raise
            found = [_UNKNOWN]
    return found if is_certain else [change._replace(is_certain=False) for change in found]


def changes_of_text(
    text: str, parts: Iterable[list[ColumnChange]], *, has_skipped: bool
) -> tuple[ColumnChange, ...]:
    """Return the changes by all statements of a text, which may be rolled back.

    `has_skipped` is True if the effect of a statement is unknown, such as that of CALL.
    """
    found = [*chain.from_iterable(parts), *([_UNKNOWN] if has_skipped else ())]
    is_undone = ROLLBACK.search(text) is not None
    return tuple(change._replace(is_certain=False) if is_undone else change for change in found)


def with_changes(session: Session, changes: Iterable[ColumnChange]) -> Session:
    """Return the session after changes of columns; those that a producer reported stay."""
    columns, stated = dict(session.columns), set(session.stated)
    for change in changes:
        known = columns.keys() - session.fixed if change.table == ANY_TABLE else {change.table}
        for table in known - session.fixed:
            before = tuple(columns[table]) or None if table in columns else MISSING
            after = after_change(before, change)
            if after != before:
                stated.discard(table)
                columns[table] = dict.fromkeys((name.lower() for name in after or ()), "")
            if after == MISSING:
                columns.pop(table, None)
    return replace(session, columns=columns, stated=frozenset(stated)) if changes else session


def _of_query(sql: str, statement: Statement, *, is_first: bool) -> Iterator[ColumnChange]:
    """Yield the definition of a table or view by a query, as in CREATE TABLE AS and SELECT INTO.

    A query alone, as of a dbt model, may also be appended to the table.
    """
    if statement.target is None or statement.temporary or statement.kind not in ("ctas", "view"):
        return
    if statement.kind == "view" and not is_first:
        yield ColumnChange(statement.target, "UNKNOWN")
        return
    is_whole = statement.has_all_columns and not _PARTITIONED.search(sql)
    spelled = statement.spellings
    names = tuple(spelled.get(name, name) for name in statement.columns) if is_whole else ()
    is_if_missing = _IF_MISSING.match(sql) is not None
    yield ColumnChange(statement.target, "CREATE IF MISSING" if is_if_missing else "CREATE", names)


def _of_definition(sql: str, session: Session) -> Iterator[ColumnChange]:
    """Yield the changes of a statement without a query."""
    if _CREATE_TABLE.match(sql):
        parsed = parsed_statement(sql, session.dialect, session.steps)
    else:
        text = _RENAME_COLUMN.sub("rename column ", sql)
        parsed = parse_statement(text, session.dialect, session.steps)
    if isinstance(parsed, exp.Alter):
        yield from _altered(parsed, session)
    elif isinstance(parsed, exp.Create):
        yield from _created(parsed, session)
    elif isinstance(parsed, exp.Drop):
        yield from _dropped(parsed, session)
    else:
        yield _UNKNOWN


def _created(parsed: exp.Create, session: Session) -> Iterator[ColumnChange]:
    """Yield the definition of a table by a list of columns."""
    if parsed.kind != "TABLE":
        return
    properties = parsed.args.get("properties")
    is_temporary = properties is not None and properties.find(exp.TemporaryProperty)
    is_read = not parsed.find(*_OTHER_LAYOUT, *_WITHOUT_VALUE)
    is_read &= not _moves_columns(parsed, session)
    is_if_missing = bool(parsed.args.get("exists"))
    spelled = session.spell(parsed)
    table = target_of(parsed.this)[0]
    if is_temporary or session.is_temporary(table):
        return
    layout = layout_of(parsed, session)
    is_read = is_read and layout.is_whole
    names = tuple(spelled.get(name, name) for name, _ in layout.columns) if is_read else ()
    kind: Literal["CREATE", "CREATE IF MISSING"]
    kind = "CREATE IF MISSING" if is_if_missing else "CREATE"
    yield ColumnChange(session.table(table), kind, names)


def _moves_columns(parsed: exp.Create, session: Session) -> bool:
    """Return True if the columns of partitions may have other positions than those listed."""
    partitioned = parsed.find(exp.PartitionedByProperty)
    if partitioned is None or session.dialect not in {*_MOVES_PARTITIONS, "databricks"}:
        return False
    is_listed = partitioned.find(exp.ColumnDef) is not None  # PARTITIONED BY (day date) of Hive
    format_ = parsed.find(exp.FileFormatProperty)
    is_delta = format_ is not None and format_.name.lower() in ("delta", "iceberg")
    return is_listed or (session.dialect in _MOVES_PARTITIONS and not is_delta)


def _altered(parsed: exp.Alter, session: Session) -> Iterator[ColumnChange]:
    """Yield the changes by the actions of ALTER TABLE."""
    if not isinstance(parsed.this, exp.Table):
        yield _UNKNOWN
        return
    actions = parsed.args.get("actions") or ()
    named = [list(_of_action(action, session.dialect)) for action in actions]
    others = [a.this for a in actions if isinstance(a, exp.AlterRename | exp.SwapTable)]
    session.spell(parsed)
    if session.is_temporary(parsed.this):
        return
    table = session.table(parsed.this)
    for other in others:  # a table of this name may be known; it has other columns now
        other.set("db", other.args.get("db") or parsed.this.args.get("db"))
        yield ColumnChange(session.table(other), "UNKNOWN")
    yield from (item._replace(table=table) for items in named for item in items)
    if not actions:
        yield ColumnChange(table, "UNKNOWN")


def _of_action(action: exp.Expr, dialect: str) -> Iterator[ColumnChange]:
    """Yield the changes by an action of ALTER TABLE; their tables are added later."""
    if isinstance(action, exp.Schema):  # ADD COLUMNS (a int, b int)
        for item in action.expressions:
            yield from _of_action(item, dialect)
    elif isinstance(action, exp.ColumnDef):
        is_last = not action.args.get("position") and not action.find(*_WITHOUT_VALUE)
        name = _spelled(action.this, dialect)
        yield ColumnChange(ANY_TABLE, "ADD", (name,)) if is_last else _UNKNOWN
    elif isinstance(action, exp.Drop) and action.args.get("kind") in ("COLUMN", "COLUMNS"):
        for column in action.args.get("tables") or [action.this]:
            is_named = isinstance(column, exp.Expr) and column.name
            yield ColumnChange(ANY_TABLE, "REMOVE", (column.name,)) if is_named else _UNKNOWN
    elif isinstance(action, exp.RenameColumn):
        new = action.args["to"]
        new = new.this if isinstance(new, exp.Column) else new
        yield ColumnChange(ANY_TABLE, "RENAME", (action.this.name, _spelled(new, dialect)))
    elif isinstance(action, exp.AlterRename):
        yield ColumnChange(ANY_TABLE, "DROP")
    elif not isinstance(action, _KEEPS_COLUMNS):
        yield _UNKNOWN


def _dropped(parsed: exp.Drop, session: Session) -> Iterator[ColumnChange]:
    """Yield the tables that DROP removes; of a schema, which of them are in it is unknown."""
    if parsed.args.get("kind") not in ("TABLE", "VIEW"):
        yield _UNKNOWN
        return
    session.spell(parsed)
    for table in parsed.args.get("tables") or [parsed.this]:
        if isinstance(table, exp.Table) and not session.is_temporary(table):
            yield ColumnChange(session.table(table), "DROP")


def _spelled(name: exp.Expr, dialect: str) -> str:
    """Return the name of a new column as the catalog spells it."""
    strategy = Dialect.get_or_raise(dialect).normalization_strategy
    if isinstance(name, exp.Identifier) and name.quoted:
        return name.name
    if strategy is NormalizationStrategy.UPPERCASE:
        return name.name.upper()
    return name.name.lower() if strategy is NormalizationStrategy.LOWERCASE else name.name
