"""The tables, files and columns that one SQL statement reads and writes.

Statements that only create, empty or drop a temporary table move no data, but later statements of
the session depend on them (`after`).
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Callable, Iterable
from typing import Any

from sqlglot import exp
from sqlglot.errors import SqlglotError

from headwater.plugins.sql._changes import read_delete, read_merge, read_update
from headwater.plugins.sql._conflicts import read_conflict
from headwater.plugins.sql._forms import parsed_statement, split
from headwater.plugins.sql.model import (
    Statement,
    columns_of,
    name_columns,
    new_statement,
    read_query,
    target_of,
)
from headwater.plugins.sql.relations import NONE, Relation
from headwater.plugins.sql.session import Session, SessionTable
from headwater.plugins.sql.steps import UnreadError, parse_statement, reason_of
from headwater.sql.reader import Table

logging.getLogger("sqlglot").setLevel(logging.ERROR)  # statements that fail to parse are reported

_RELEVANT = re.compile(
    r"(?>(?:\s+|--[^\n]*\n|/\*.*?\*/)*)"
    r"(create\b(?:(?!\b(?:on|as|for)\b)[^(;])*?\b(?:table|view)|insert|merge|update|delete|copy|unload|with|truncate|replace\s+into"
    r"|drop\s+table|cache|uncache|from|\(*\s*select\b.*?\binto|alter\s+table\s+\S+\s+append)\b",
    re.IGNORECASE | re.DOTALL,
)
_UNLOAD = re.compile(
    r"\bunload\s*\(\s*(?:'((?:[^']|'')*)'|\$\$(.*?)\$\$)\s*\)\s*to\s*'([^']+)'", re.I | re.S
)
_APPEND = re.compile(
    r"\balter\s+table\s+(\S+)\s+append\s+from\s+([^\s;]+)\s*(ignoreextra|filltarget)?", re.I
)
_LOCAL = re.compile(r"\b(create\s+)(?:local|global)\s+(?=temp)", re.I)
_REPLACE = re.compile(r"^((?>(?:\s+|--[^\n]*\n|/\*.*?\*/)*))replace(?=\s+into\b)", re.I | re.S)
_REMOVE = re.compile(r"\bremove\s+duplicates\s*+;?\s*+$", re.I)


def read_statement(sql: str, session: Session) -> Statement | None:
    """Return what a statement of one table reads and writes; None if it moves no data.

    Raises:
        UnreadError: the statement may move data and is not supported.
    """
    found = read_statements(sql, session)
    return found[-1] if found else None


def read_statements(sql: str, session: Session) -> list[Statement]:
    """Return what a statement reads and writes, for each table that it writes.

    Raises:
        UnreadError: the statement may move data and is not supported.

    The list is empty for a statement that moves no data. Errors of sqlglot and of forms that no
    reader expects also become an UnreadError, so that one text cannot stop the reader.
    """
    if not _RELEVANT.match(sql):
        return []
    try:
        if session.dialect == "redshift" and (statement := _of_redshift(sql, session)):
            return [statement]
        # sqlglot parses neither LOCAL TEMP, REMOVE DUPLICATES nor MySQL's REPLACE INTO.
        plain = _REMOVE.sub("when matched then delete", _LOCAL.sub(r"\1", sql))
        plain = _REPLACE.sub(r"\1insert", plain)
        parsed = parsed_statement(plain, session.dialect, session.steps)
        if _REMOVE.search(sql):
            parsed.meta["removes_duplicates"] = True
        spellings = session.spell(parsed)
        read = [_statement(part, session) for part in split(parsed)]
        for statement in filter(None, read):
            statement.spellings = spellings
        return [statement for statement in read if statement is not None]
    except SqlglotError as error:
        raise UnreadError(str(error).splitlines()[0]) from None
    except RecursionError as error:
        raise UnreadError(reason_of(error)) from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UnreadError(f"unsupported form: {type(error).__name__}: {error}") from None


def _of_redshift(sql: str, session: Session) -> Statement | None:
    """Return what UNLOAD or ALTER TABLE APPEND reads and writes.

    sqlglot parses neither of the two. None for any other statement.
    """
    if found := _APPEND.search(sql):
        return _append(found, session)
    if found := _UNLOAD.search(sql):
        text = (found[1] or "").replace("''", "'") or found[2]
        select = parse_statement(text, session.dialect, session.steps)
        session.spell(select)
        return _unload(select, found[3], session)
    return None


def read_uses(sql: str, session: Session) -> Statement:
    """Return a statement without a target: what a query that moves no data reads.

    Raises:
        UnreadError: the query is not supported.
    """
    try:
        query = parse_statement(sql, session.dialect, session.steps)
        session.spell(query)
        statement = Statement("query", "")
        relation = read_query(query, statement, session)
        statement.used |= _origins_of(relation)  # who receives the rows is unknown
    except (SqlglotError, RecursionError) as error:
        raise UnreadError(reason_of(error)) from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UnreadError(f"unsupported form: {type(error).__name__}: {error}") from None
    return statement


def _statement(parsed: exp.Expr, session: Session) -> Statement | None:
    """Return what a parsed statement does; None if it has no effect on lineage.

    Raises UnreadError if no reader supports it.
    """
    for class_, read in _READERS.items():
        if isinstance(parsed, class_):
            shape = _shape(parsed, session)
            statement = read(parsed, session)
            if statement is not None:
                statement.shape = statement.shape or shape
            return statement
    raise UnreadError(f"{parsed.key} is not supported")


def _create(parsed: exp.Create, session: Session) -> Statement | None:
    """Read CREATE TABLE or VIEW with a query or a clone; None if no data moves.

    A temporary table without a query is read too, because later statements may fill it. The layout
    of one with a query is empty: `model.after` adds the columns with their origins.
    """
    if parsed.kind not in ("TABLE", "VIEW"):
        return None
    table, names = target_of(parsed.this)
    query = parsed.expression
    if clone := parsed.args.get("clone"):
        query = exp.select("*").from_(clone.this)
    properties = parsed.args.get("properties")
    is_temporary = session.is_temporary(table) or bool(
        properties and properties.find(exp.TemporaryProperty)
    )
    has_query = isinstance(query, exp.Query | exp.Values)
    if query is not None and not has_query:
        raise UnreadError(f"CREATE … AS {query.key.upper()} is not supported")
    if not has_query and not is_temporary:
        return None
    kind = "view" if parsed.kind == "VIEW" else "ctas" if query else "create"
    statement = new_statement(kind, table, session)
    if is_temporary:
        statement.temporary = (table.name,)
        statement.target = (session.database, f"pg_temp_{session.user}", table.name)
    if has_query:
        relation = read_query(query, statement, session)
        name_columns(statement, relation, names, session)
        if "" in statement.columns:  # the names are texts of expressions
            statement.unnamed |= statement.columns.pop("")
            statement.has_all_columns = False
        statement.layout = SessionTable(is_whole=statement.has_all_columns)
    else:
        statement.layout = layout_of(parsed, session)
    return statement


def layout_of(parsed: exp.Create, session: Session) -> SessionTable:
    """Return the columns of a table definition, which may name another table by LIKE.

    Its columns have no origins, because the definition fills nothing.
    """
    names: list[str] = []
    is_whole = True
    properties = parsed.args.get("properties")
    for item in (*parsed.this.expressions, *(properties.expressions if properties else ())):
        if isinstance(item, exp.LikeProperty):
            like = session.relation(item.this)
            names += (name for name, _ in like.columns)
            is_whole &= like.is_whole
        elif isinstance(item, exp.ColumnDef):
            names.append(item.name)
    return SessionTable(tuple((name, NONE) for name in names), is_whole)


def _query(parsed: exp.Query, session: Session) -> Statement | None:
    """Read SELECT INTO as CREATE TABLE AS; any other query moves no data."""
    into = parsed.find(exp.Into)
    if into is None:
        return None
    into.pop()
    temporary = [exp.TemporaryProperty()] if into.args.get("temporary") else []
    properties = exp.Properties(expressions=temporary)
    create = exp.Create(this=into.this, kind="TABLE", expression=parsed, properties=properties)
    statement = _create(create, session)
    if statement is not None:
        statement.shape = _shape(create, session)
    return statement


def _insert(parsed: exp.Insert, session: Session) -> Statement | None:
    """Read INSERT.

    VALUES without tables have no origins, and so no columns are recorded for them.
    """
    table, names = target_of(parsed.this)
    statement = new_statement("insert", table, session)
    query = parsed.expression
    if isinstance(query, exp.Query | exp.Values):
        if with_ := parsed.args.get("with_"):
            query.set("with_", with_.copy())
        relation = read_query(query, statement, session)
        if not isinstance(query, exp.Values) or statement.tables:
            is_by_name = parsed.args.get("by_name")
            known = [] if is_by_name else _places(table, names, session)
            name_columns(statement, relation, known, session)
            if not known and not is_by_name:
                _forget_names(statement)
    if conflict := parsed.args.get("conflict"):
        statement.has_unknown_uses |= conflict.args.get("constraint") is not None
        _use_own(statement, conflict.find_all(exp.Column))
        if conflict.expressions:
            read_conflict(parsed, _places(table, names, session), statement, session)
    if returning := parsed.args.get("returning"):
        _use_queries(returning, statement, session)
    return statement


def _use_queries(clause: exp.Expr, statement: Statement, session: Session) -> None:
    """Record the columns of queries in a clause that does not decide what is written."""
    for query in clause.find_all(exp.Query):
        uses = Statement("query", "")
        read_query(query.copy(), uses, session)
        statement.used |= uses.used
        statement.has_unknown_uses |= uses.has_unknown_uses


def _places(table: exp.Table, names: list[str], session: Session) -> list[str]:
    """Return the columns that the values of an INSERT go into, in their order.

    In Spark, those of dynamic partitions are last, and those of static ones have no value.

    The list is empty if the columns of the table are unknown and none are listed.
    """
    partition = table.args.get("partition")
    items = partition.expressions if partition else ()
    fixed = {item.this.name for item in items if isinstance(item, exp.EQ)}
    last = [item.name for item in items if isinstance(item, exp.Column)]
    first = [
        name
        for name in names or columns_of(table, session)
        if name not in fixed and (names or name not in last)
    ]
    return first if names or not first else [*first, *last]


def _use_own(statement: Statement, columns: Iterable[exp.Column]) -> None:
    """Record the columns of the target that a clause uses. `excluded` is the row to insert."""
    if statement.target is not None:
        names = {column.name for column in columns if column.table.lower() != "excluded"}
        statement.used |= {(statement.target, name) for name in names}


def _forget_names(statement: Statement) -> None:
    """Move the origins of all columns to `unnamed`.

    An INSERT is positional, so only the target's definition has the names of its columns. Those of
    the query can be others.
    """
    if statement.columns:
        statement.unnamed = statement.unnamed.union(*statement.columns.values())
        statement.unplaced = frozenset(map(str.lower, statement.columns))
        statement.columns = {}
        statement.has_all_columns = False


def _copy(parsed: exp.Copy, session: Session) -> Statement | None:
    """Read COPY to files, and COPY from files.

    Of the files that are read, only URLs count. In Redshift, another source raises UnreadError.
    """
    files = [file.name for file in parsed.args["files"]]
    if not parsed.args.get("kind"):  # COPY … TO
        return _unload(parsed.this, next(iter(files), None), session)
    if isinstance(parsed.this, exp.Table) and not isinstance(parsed.this.this, exp.Identifier):
        source = parsed.args["files"][0]  # COPY INTO @stage FROM … of Snowflake
        is_query = isinstance(source, exp.Subquery) and isinstance(source.this, exp.Query)
        return _unload(source.this if is_query else source, parsed.this.name, session)
    table, _ = target_of(parsed.this)
    files = [file for file in files if "://" in file]
    if not files and session.dialect == "redshift":
        raise UnreadError("the source of COPY is not a URL")
    statement = new_statement("copy", table, session)
    statement.files = files
    return statement


def _unload(source: exp.Expr, file: str | None, session: Session) -> Statement:
    """Return a statement that writes the rows of a table or a query to files."""
    is_table = isinstance(source, exp.Table)
    query = exp.select("*").from_(source.copy()) if is_table else source
    statement = Statement("unload", _shape(query, session), to_file=file)
    relation = read_query(query, statement, session)
    name_columns(statement, relation, [], session)
    statement.used |= _origins_of(relation)  # the file loses them; PARTITION BY may name them
    return statement


def _origins_of(relation: Relation) -> set[tuple[Table, str]]:
    """Return the columns that the columns of a query come from, also those of `*`."""
    return {(origin.table, origin.column) for _, origins in relation.columns for origin in origins}


def _append(found: re.Match[str], session: Session) -> Statement:
    """Read ALTER TABLE APPEND, which moves rows to another table, matching columns by name.

    `found` has the target, the source, and the option of the statement as its groups.
    """
    names = [exp.to_table(name, dialect=session.dialect) for name in found.groups()[:2]]
    for name in names:
        session.spell(name)
    target, source = (session.table(name) for name in names)
    statement = Statement("append", _digest(found[0].lower()), target, tables=[source])
    target_columns, source_columns = (session.columns.get(table, {}) for table in (target, source))
    # Without FILLTARGET, both have the same columns; the schema of one may be unknown, then the
    # columns of the other one are used. FILLTARGET allows columns that only the target has.
    shared = (
        [name for name in source_columns if name in target_columns]
        if target_columns and source_columns
        else source_columns
    )
    if not source_columns and (found[3] or "").lower() != "filltarget":
        shared = list(target_columns)
    relation = session.relation(names[1])
    statement.columns = {name: relation.column(name) for name in shared}
    return statement


def _truncate(parsed: exp.TruncateTable, session: Session) -> Statement | None:
    """Return a statement that empties temporary tables; None for other tables: no data moves."""
    names = [table.name for table in parsed.expressions if session.is_temporary(table)]
    return Statement("truncate", "", temporary=tuple(names)) if names else None


def _drop(parsed: exp.Drop, session: Session) -> Statement | None:
    """Return a statement that drops temporary tables; None if it drops only other tables."""
    tables = parsed.args.get("tables") or [parsed.this]
    names = [
        table.name
        for table in tables
        if isinstance(table, exp.Table) and session.is_temporary(table)
    ]
    return Statement("drop", "", temporary=tuple(names)) if names else None


_READERS: dict[type[exp.Expr], Callable[[Any, Session], Statement | None]] = {
    exp.Create: _create,
    exp.Insert: _insert,
    exp.Update: read_update,
    exp.Delete: read_delete,
    exp.Merge: read_merge,
    exp.Copy: _copy,
    exp.TruncateTable: _truncate,
    exp.Drop: _drop,
    exp.Query: _query,
}


def _shape(parsed: exp.Expr, session: Session) -> str:
    """Return a digest of a statement without literals, comments and lengths of lists.

    It is empty unless the session has `has_shapes`. Equal digests group statements in audits.
    """
    if not session.has_shapes:
        return ""
    bare = parsed.copy()
    for many in list(bare.find_all(exp.In, exp.Values)):
        if many.expressions:
            many.set("expressions", many.expressions[:1])
    text = bare.transform(lambda node: exp.Placeholder() if isinstance(node, exp.Literal) else node)
    return _digest(text.sql(session.dialect, comments=False, normalize=True))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]
