"""Rewrite forms of single dialects as common statements, each of which writes one table.

`statements` reads what these functions return as if it had been written in this form.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot import exp
from sqlglot.errors import ParseError

from headwater.plugins.sql.steps import Steps, UnreadError, parse_statement

_Changes = exp.Insert | exp.Update | exp.Delete | exp.Merge

_AS_TABLE = re.compile(r"\b(as)\s+table\s+([\w.\"`]+)", re.I)
_UNSUPPORTED = re.compile(
    r"\bon\s+commit\s+drop\b|\bwith\s+(?:(?:local|cascaded)\s+)?check\s+option\b"
    r"|\bwith\s*\(\s*(?:security_|check_option)[^)]*\)|(?<=\bcreate\s)snapshot\s+(?=table\b)"
    r"|(?<=\bmerge\s)with\s+schema\s+evolution\s+(?=into\b)",
    re.I,
)
"""Clauses that sqlglot cannot parse, and that do not change the edges."""
_PARAMETER = re.compile(r"(?<=[\s=(,])%s\b")
"""The placeholder of a value in Python's database drivers."""

_PIVOT = re.compile(r"\b(as|insert\s+into\s+\S+)\s+((?:un)?pivot\b.*)", re.I | re.S)


def parsed_statement(sql: str, dialect: str, steps: Steps) -> exp.Expr:
    """Return a statement as parsed by sqlglot, which lacks some clauses and two forms of queries.

    AS TABLE t means AS SELECT * FROM t, and DuckDB's PIVOT … the query SELECT * FROM (PIVOT …).

    Raises:
        SqlglotError: the statement cannot be parsed.
        UnreadError: it is empty, has several statements or takes too long.
    """
    try:  # unchanged first: the patterns of `_plain` would also match within strings
        parsed = parse_statement(sql, dialect, steps)
    except ParseError:
        if (plain := _plain(sql)) == sql:
            raise
        return parse_statement(plain, dialect, steps)
    # sqlglot returns a statement that it does not understand as a Command
    if isinstance(parsed, exp.Command) and (plain := _plain(sql)) != sql:
        return parse_statement(plain, dialect, steps)
    return parsed


def _plain(sql: str) -> str:
    """Return a statement without clauses and forms that sqlglot lacks."""
    plain = _PARAMETER.sub("null", _UNSUPPORTED.sub("", sql))
    plain = _AS_TABLE.sub(r"\1 select * from \2", plain)
    return _PIVOT.sub(r"\1 select * from (\2)", plain)


def split(parsed: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the statements, of one table each, that a statement consists of.

    A nested INSERT, UPDATE or DELETE comes before the statement around it, which reads its result.
    Most statements are returned alone and unchanged.
    """
    if isinstance(parsed, exp.MultitableInserts):
        yield from _inserts(parsed)
    elif isinstance(parsed, exp.Cache):  # CACHE TABLE of Spark creates a temporary table
        temporary = exp.Properties(expressions=[exp.TemporaryProperty()])
        query = parsed.expression or exp.select("*").from_(parsed.this.copy())
        yield exp.Create(this=parsed.this, kind="TABLE", expression=query, properties=temporary)
    elif isinstance(parsed, exp.Uncache):
        yield exp.Drop(this=parsed.this, kind="TABLE")
    else:
        _check_target(parsed)
        for table in parsed.find_all(exp.Table):
            if isinstance(table.this, exp.Parameter):  # a variable of T-SQL
                table.set("this", exp.to_identifier(f"@{table.this.name}"))
            if isinstance(table.this, exp.DynamicIdentifier) and table.this.this.is_string:
                _replace(table, table.this.this.name)
        # INSERT INTO t TABLE s
        if isinstance(parsed, exp.Insert) and isinstance(parsed.args.get("source"), exp.Table):
            parsed.set("expression", exp.select("*").from_(parsed.args["source"].copy()))
        yield from _changes_in_ctes(parsed)
        yield _filled(parsed) or parsed


def _check_target(parsed: exp.Expr) -> None:
    """Check that a change writes one table, and names it.

    Raises:
        UnreadError: it names a common table expression, or writes a second table.
    """
    returning = parsed.args.get("returning")
    if returning and returning.args.get("into"):
        raise UnreadError("OUTPUT … INTO is not supported")
    with_, target = parsed.args.get("with_"), parsed.this
    if with_ and isinstance(parsed, exp.Update | exp.Delete | exp.Merge):
        names = {cte.alias.lower() for cte in with_.expressions}
        if isinstance(target, exp.Table) and not target.db and target.name.lower() in names:
            name = target.name
            raise UnreadError(f"changes of the common table expression {name} are not supported")


def _filled(parsed: exp.Expr) -> exp.Insert | None:
    """Return the INSERT by which a materialized view of ClickHouse fills its table, by name."""
    properties = parsed.args.get("properties") if isinstance(parsed, exp.Create) else None
    to_table = properties.find(exp.ToTableProperty) if properties else None
    if to_table is None:
        return None
    return exp.Insert(this=to_table.this.copy(), expression=parsed.expression.copy(), by_name=True)


def _replace(table: exp.Table, name: str) -> None:
    """Give a table with a name in quotes, as in IDENTIFIER('t'), this name."""
    for key, part in exp.to_table(name).args.items():
        if key in ("this", "db", "catalog"):
            table.set(key, part)


def _inserts(parsed: exp.MultitableInserts) -> Iterator[exp.Insert]:
    """Yield the parts of Snowflake's INSERT ALL and FIRST, and of Spark's FROM … INSERT ….

    FIRST inserts a row only where no earlier condition holds, so each part has the earlier
    conditions.
    """
    source, before = parsed.args["source"], list[exp.Expr]()
    for item in parsed.expressions:
        if isinstance(item, exp.Insert):  # of Spark: each part is a query of the common FROM
            if isinstance(item.expression, exp.Select):
                item.expression.set("from_", exp.From(this=source.copy()))
            yield item
            continue
        insert, values = item.this, item.this.expression
        columns = values.expressions[0].expressions if values else [exp.Star()]
        rows = source if isinstance(source, exp.Table) else source.subquery("_rows")
        query = exp.select(*(column.copy() for column in columns)).from_(rows.copy())
        conditions = [item.expression] if item.expression else []
        if item.args.get("else_") or str(parsed.args.get("kind")).upper() == "FIRST":
            conditions = before + conditions
        before += [item.expression] if item.expression else []
        insert.set("expression", query.where(*(condition.copy() for condition in conditions)))
        yield insert


def _changes_in_ctes(parsed: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the changes in common table expressions; each is replaced by the rows it returns.

    For `WITH a AS (DELETE FROM t RETURNING x) INSERT INTO u SELECT x FROM a`, the DELETE is yielded
    and `a` becomes `SELECT x FROM t`. `parsed` is changed in place.
    """
    with_ = parsed.args.get("with_")
    before: list[exp.Expr] = []
    for cte in list(with_.expressions) if with_ else ():
        change = cte.this
        if isinstance(change, _Changes):
            own = change.copy()
            if before:
                own.set("with_", exp.With(expressions=[item.copy() for item in before]))
            yield own
            if not change.args.get("returning"):  # no other part can read it
                cte.pop()
                continue
            cte.set("this", _returned(change))
        before.append(cte)
    if with_ and not with_.expressions:
        parsed.set("with_", None)


def _returned(change: exp.Expr) -> exp.Select:
    """Return the query of the rows that RETURNING of a change returns.

    The values are those after the change. A change without RETURNING returns nothing; its query
    then has a constant, since a SELECT needs an item.
    """
    returning = change.args.get("returning")
    items = returning.expressions if returning else [exp.Literal.number(1)]
    table = change.this.this if isinstance(change.this, exp.Schema) else change.this
    query = exp.select(*(item.copy() for item in items))
    if isinstance(change, exp.Insert):
        names = [column.name for column in change.this.expressions]
        rows = exp.Subquery(this=change.expression.copy())
        columns = [exp.to_identifier(name) for name in names]
        alias = exp.TableAlias(this=exp.to_identifier(table.alias_or_name), columns=columns)
        rows.set("alias", alias)
        return query.from_(rows)
    if isinstance(change, exp.Update):
        values = {item.this.name: item.expression for item in change.expressions}
        query.set("expressions", [_assigned(item, values) for item in query.expressions])
    query = query.from_(table.copy())
    from_ = change.args.get("from_")
    for item in (*([from_.this] if from_ else ()), *(change.args.get("using") or ())):
        if isinstance(item, exp.Expr):
            query = query.join(item.copy(), join_type="cross")
    where = change.args.get("where")
    return query.where(where.this.copy()) if where else query


def _assigned(item: exp.Expr, values: dict[str, exp.Expr]) -> exp.Expr:
    """Return an item of RETURNING with the new values of the columns that UPDATE sets."""

    def value(node: exp.Expr) -> exp.Expr:
        new = values.get(node.name) if isinstance(node, exp.Column) else None
        return node if new is None else new.copy()

    if item.is_star:
        return item
    return exp.alias_(item.unalias().transform(value), item.alias_or_name)
