"""What a statement of Redshift reads and writes, to tables and columns, by sqlglot.

UPDATE and MERGE are looked at as the SELECT whose rows they write: columns of all are traced in one
way. Names without a schema are those of `public`, unless only another schema has such a table;
temporary tables, which each session has of its own, are told apart by their user.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError
from sqlglot.lineage import Node, lineage
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import Scope, build_scope

logging.getLogger("sqlglot").setLevel(logging.ERROR)  # what is not parsed is told as such

Table = tuple[str, str, str]
"""Database, schema and name."""

Columns = Mapping[Table, Mapping[str, str]]
"""The types of the columns of tables, by name and in their order."""

_WORTH = re.compile(
    r"(?:\s|--[^\n]*\n|/\*.*?\*/)*"
    r"(create|insert|merge|update|delete|copy|unload|with|select\b.*?\binto"
    r"|alter\s+table\s+\S+\s+append)\b",
    re.IGNORECASE | re.DOTALL,
)
_UNLOAD = re.compile(
    r"\bunload\s*\(\s*(?:'((?:[^']|'')*)'|\$\$(.*?)\$\$)\s*\)\s*to\s*'([^']+)'", re.I | re.S
)
_APPEND = re.compile(r"\balter\s+table\s+(\S+)\s+append\s+from\s+([^\s;]+)", re.I)
_REMOVE = re.compile(r"\bremove\s+duplicates\s*;?\s*$", re.I)
_REDSHIFT = "redshift"


class UnreadError(Exception):
    """A statement that may move data was not understood."""


@dataclass(frozen=True, slots=True)
class Origin:
    """A column that another one, or (`INDIRECT`) a whole table, is made of."""

    table: Table
    column: str
    type: str
    how: str


@dataclass(slots=True)
class Statement:
    """What a statement moves. Files are URLs."""

    kind: str
    shape: str
    """The same for statements that differ in their literals only."""
    target: Table | None = None
    to_file: str | None = None
    tables: list[Table] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    columns: dict[str, list[Origin]] = field(default_factory=dict)
    indirect: list[Origin] = field(default_factory=list)
    temporary: str | None = None
    """The name of a temporary table that it makes."""


@dataclass(frozen=True, slots=True)
class Session:
    """What names mean where a statement ran."""

    database: str
    user: str
    columns: Columns
    temporary: frozenset[str] = frozenset()

    def table(self, found: exp.Table) -> Table:
        """The table of a name."""
        name, schema = found.name.lower(), found.db.lower()
        if not schema and (name.startswith("#") or name in self.temporary):
            return self.database, f"pg_temp_{self.user}", name
        if not schema:
            having = {
                each[1] for each in self.columns if each[0] == self.database and each[2] == name
            }
            schema = having.pop() if len(having) == 1 else "public"
        return found.catalog.lower() or self.database, schema, name


def read_statement(sql: str, session: Session) -> Statement | None:
    """What a statement moves; None if it moves nothing. Raises UnreadError."""
    if not _WORTH.match(sql):
        return None
    if found := _APPEND.search(sql):
        target, source = (
            session.table(exp.to_table(name, dialect=_REDSHIFT)) for name in found.groups()
        )
        return Statement("append", _digest(found[0].lower()), target, tables=[source])
    try:
        if found := _UNLOAD.search(sql):
            inner = (found[1] or "").replace("''", "'") or found[2]
            select = parse_one(inner, dialect=_REDSHIFT)
            statement = Statement("unload", _shape(select), to_file=found[3])
            _trace(select, statement, session, None)
            return statement
        # sqlglot does not know this form of MERGE, which deletes what matches and inserts all.
        parsed = parse_one(_REMOVE.sub("when matched then delete", sql), dialect=_REDSHIFT)
        return _statement(parsed, session)
    except SqlglotError as error:
        raise UnreadError(str(error).splitlines()[0]) from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UnreadError(f"{type(error).__name__}: {error}") from None


def _statement(parsed: exp.Expr, session: Session) -> Statement | None:
    for class_, read in _READERS.items():
        if isinstance(parsed, class_):
            return read(parsed, session)
    raise UnreadError(f"{parsed.key} is not understood")


def _create(parsed: exp.Create, session: Session) -> Statement | None:
    select = parsed.expression
    if parsed.kind not in ("TABLE", "VIEW") or not isinstance(select, exp.Query):
        return None
    is_view = parsed.kind == "VIEW"
    is_temporary = any(parsed.find_all(exp.TemporaryProperty))
    table, names = _target(parsed.this)
    if is_temporary and not table.db:
        temporary = session.temporary | {table.name.lower()}
        session = Session(session.database, session.user, session.columns, temporary)
    statement = Statement("view" if is_view else "ctas", _shape(parsed), session.table(table))
    statement.temporary = table.name.lower() if is_temporary else None
    _trace(select, statement, session, names)
    return statement


def _query(parsed: exp.Query, session: Session) -> Statement | None:
    """SELECT INTO is a CREATE TABLE AS; another query moves nothing."""
    into = parsed.find(exp.Into)
    if into is None:
        return None
    into.pop()
    temporary = [exp.TemporaryProperty()] if into.args.get("temporary") else []
    properties = exp.Properties(expressions=temporary)
    create = exp.Create(this=into.this, kind="TABLE", expression=parsed, properties=properties)
    return _create(create, session)


def _insert(parsed: exp.Insert, session: Session) -> Statement | None:
    table, names = _target(parsed.this)
    statement = Statement("insert", _shape(parsed), session.table(table))
    select = parsed.expression
    if not isinstance(select, exp.Query):  # VALUES
        return statement
    if with_ := parsed.args.get("with_"):
        select.set("with_", with_.copy())
    known = list(session.columns.get(session.table(table), ()))
    _trace(select, statement, session, names or known)
    return statement


def _update(parsed: exp.Update, session: Session) -> Statement | None:
    others = parsed.args.get("from_")
    tables = [parsed.this, *([others.this] if others else [])]
    where = parsed.args.get("where")
    return _change("update", parsed, _assigned(parsed.expressions), tables, where, session)


def _delete(parsed: exp.Delete, session: Session) -> Statement | None:
    tables = [parsed.this, *(parsed.args.get("using") or [])]
    return _change("delete", parsed, {}, tables, parsed.args.get("where"), session)


def _merge(parsed: exp.Merge, session: Session) -> Statement | None:
    given: dict[str, list[exp.Expr]] = {}
    for when in parsed.args["whens"].expressions:
        then = when.args.get("then")
        if isinstance(then, exp.Update):
            _add(given, _assigned(then.expressions))
        elif isinstance(then, exp.Insert) and isinstance(then.this, exp.Tuple | exp.Schema):
            values = then.expression.expressions
            names = [each.name for each in then.this.expressions]
            _add(given, {n: [v] for n, v in zip(names, values, strict=False)})
    tables = [parsed.this, parsed.args["using"]]
    where = exp.Where(this=parsed.args["on"].copy())
    return _change("merge", parsed, given, tables, where, session)


def _change(
    kind: str,
    parsed: exp.Expr,
    given: dict[str, list[exp.Expr]],
    tables: list[exp.Expr],
    where: exp.Expr | None,
    session: Session,
) -> Statement:
    """The statement whose rows are those of `SELECT given FROM tables WHERE where`."""
    pairs = [(name, each) for name, all_ in given.items() for each in all_]
    select = exp.select(*(exp.alias_(each.copy(), f"c{n}") for n, (_, each) in enumerate(pairs)))
    select = select.from_(tables[0].copy())
    for table in tables[1:]:
        select = select.join(table.copy(), join_type="cross")
    if where is not None:
        select = select.where(where.this.copy())
    if with_ := parsed.args.get("with_"):
        select.set("with_", with_.copy())
    target = session.table(_target(parsed.this)[0])
    statement = Statement(kind, _shape(parsed), target)
    _trace(select, statement, session, [name for name, _ in pairs])
    statement.tables = [each for each in statement.tables if each != target]
    statement.indirect = [each for each in statement.indirect if each.table != target]
    for name, origins in statement.columns.items():  # x = x + 1 brings in nothing
        statement.columns[name] = [each for each in origins if each.table != target]
    return statement


def _copy(parsed: exp.Copy, session: Session) -> Statement | None:
    table, _ = _target(parsed.this)
    files = [each.name for each in parsed.args["files"] if "://" in each.name]
    if not files:
        raise UnreadError("COPY from what is no URL")
    return Statement("copy", _shape(parsed), session.table(table), files=files)


_READERS: dict[type[exp.Expr], Callable[[Any, Session], Statement | None]] = {
    exp.Create: _create,
    exp.Insert: _insert,
    exp.Update: _update,
    exp.Delete: _delete,
    exp.Merge: _merge,
    exp.Copy: _copy,
    exp.Query: _query,
}


def _target(found: exp.Expr) -> tuple[exp.Table, list[str]]:
    """The table that is written, and the columns that are named with it."""
    if isinstance(found, exp.Schema):
        return found.this, [each.name.lower() for each in found.expressions]
    if isinstance(found, exp.Table):
        return found, []
    raise UnreadError(f"it writes to {found.sql(_REDSHIFT)[:80]}, which is no table")


def _assigned(equations: list[exp.Expr]) -> dict[str, list[exp.Expr]]:
    return {each.this.name.lower(): [each.expression] for each in equations}


def _add(given: dict[str, list[exp.Expr]], more: dict[str, list[exp.Expr]]) -> None:
    for name, values in more.items():
        given.setdefault(name.lower(), []).extend(values)


def _trace(
    select: exp.Expr, statement: Statement, session: Session, names: list[str] | None
) -> None:
    """Fill in the tables and columns that a query reads; `names` are those of its columns."""
    statement.tables += dict.fromkeys(_tables_in(select, session))
    known: dict[str, Any] = {}
    for table in statement.tables:
        if columns := session.columns.get(table):
            database, schema, name = table
            known.setdefault(database, {}).setdefault(schema, {})[name] = dict(columns)
    try:
        whole = qualify(
            select,
            schema=known,
            dialect=_REDSHIFT,
            validate_qualify_columns=False,
            identify=False,
        )
    except SqlglotError:  # tables are known all the same
        return
    if not isinstance(whole, exp.Query) or whole.is_star:
        return
    own = [column.alias_or_name for column in whole.selects]
    for index, column in enumerate(whole.selects):  # two may have one name
        column.replace(exp.alias_(column.unalias().copy(), f"_{index}"))
    scope = build_scope(whole)
    if scope is None:
        return
    nodes = lineage(None, whole, schema={}, scope=scope, dialect=_REDSHIFT, trim_selects=False)
    for index, node in enumerate(nodes.values()):
        name = names[index] if names and index < len(names) else own[index]
        origins = statement.columns.setdefault(name, [])
        origins += [each for each in _origins(node) if each not in origins]
    for each in _indirect(scope):
        if each not in statement.indirect:
            statement.indirect.append(each)


def _tables_in(select: exp.Expr, session: Session) -> Iterator[Table]:
    """The tables of a query, whose names become full in it."""
    ctes = {each.alias_or_name.lower() for each in select.find_all(exp.CTE)}
    for found in list(select.find_all(exp.Table)):
        is_cte = not found.db and found.name.lower() in ctes
        if is_cte or not isinstance(found.this, exp.Identifier):
            continue
        table = session.table(found)
        alias = found.alias or found.name
        for part, name in zip(("catalog", "db", "this"), table, strict=True):
            found.set(part, exp.to_identifier(name))
        found.set("alias", exp.TableAlias(this=exp.to_identifier(alias)))
        yield table


def _origins(top: Node) -> Iterator[Origin]:
    """The columns at the leaves of a column's tree."""
    open_ = [(top, "IDENTITY")]
    seen = set()  # columns share what they are made of
    while open_:
        node, how = open_.pop()
        if (id(node), how) in seen:
            continue
        seen.add((id(node), how))
        expression = node.expression
        if isinstance(expression, exp.Table):
            column = node.name.rpartition(".")[2].strip('"')
            yield Origin(_full(expression), column, "DIRECT", how)
            continue
        inner = expression.unalias()
        if isinstance(inner, exp.Expr) and inner.find(exp.AggFunc):
            how = "AGGREGATION"
        elif how == "IDENTITY" and not isinstance(inner, exp.Column | exp.Query):
            how = "TRANSFORMATION"
        open_ += [(each, how) for each in node.downstream]


def _indirect(top: Scope) -> Iterator[Origin]:
    """The columns by which tables are filtered, joined, grouped and sorted."""
    for scope in top.traverse():
        select = scope.expression
        clauses = [("FILTER", select.args.get(key)) for key in ("where", "having", "qualify")]
        clauses += [("GROUP_BY", select.args.get("group")), ("SORT", select.args.get("order"))]
        clauses += [("JOIN", each.args.get("on")) for each in select.args.get("joins") or []]
        for how, clause in clauses:
            for column in clause.find_all(exp.Column) if clause else ():
                source = scope.sources.get(column.table)
                if isinstance(source, exp.Table):
                    yield Origin(_full(source), column.name, "INDIRECT", how)


def _full(table: exp.Table) -> Table:
    return table.catalog, table.db, table.name


def _shape(parsed: exp.Expr) -> str:
    """A digest of a statement without its literals, comments, and lengths of lists."""
    bare = parsed.copy()
    for many in list(bare.find_all(exp.In, exp.Values)):
        if many.expressions:
            many.set("expressions", many.expressions[:1])
    text = bare.transform(lambda each: exp.Placeholder() if isinstance(each, exp.Literal) else each)
    sql = text.sql(_REDSHIFT, comments=False, normalize=True)
    return _digest(sql)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]
