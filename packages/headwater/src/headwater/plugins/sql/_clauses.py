"""Parts of a SELECT: its conditions, its groups, and the names of its columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from sqlglot import exp

from headwater.plugins.sql._kinds import FILTER, SORT
from headwater.plugins.sql.relations import Frame, Relation
from headwater.sql.reader import Kind

_NAMING = {"anonymous", "dynamicidentifier", "tablefromrows"}
"""Expressions with a text that may name a table, such as IDENTIFIER('t')."""

_FUNCTION = re.compile(r"(CASE)\b|(\w+)\(", re.IGNORECASE)
_SELECT, _FROM = (re.compile(rf"\b{word}\b", re.IGNORECASE) for word in ("select", "from"))
_OF_FUNCTIONS = {"postgres", "redshift"}
"""Dialects that name a column without an alias after its function."""


def names_a_table(item: exp.Expr) -> bool:
    """Return True for a function in FROM with a text that may name a table."""
    texts = (literal for literal in item.find_all(exp.Literal) if literal.is_string)
    return any(text.parent is not None and text.parent.key in _NAMING for text in texts)


def clauses(node: exp.Expr) -> Iterator[tuple[Kind, exp.Expr]]:
    """Yield the clauses of a query that decide which rows it returns, except GROUP BY and so on.

    Of LIMIT and OFFSET, these are the subqueries, and the columns of ClickHouse's LIMIT BY.
    """
    for name in ("where", "prewhere", "having", "qualify", "connect"):
        if clause := node.args.get(name):
            yield FILTER, clause
    for name in ("limit", "offset"):
        if isinstance(limit := node.args.get(name), exp.Limit | exp.Offset | exp.Fetch):
            yield from ((SORT, column) for column in limit.expressions)
            if query := limit.find(exp.Query):
                yield FILTER, query


def is_opaque(node: exp.Expr, dialect: str) -> bool:
    """Return True for an expression that may use columns without naming them.

    Examples are COLUMNS('...'), the `$1` of Snowflake, the type of a table, and queries in quotes,
    as in `dblink('select ...')`.
    """
    if isinstance(node, exp.Literal) and node.is_string:
        is_argument = isinstance(node.parent, exp.Func)
        start = _SELECT.search(node.name) if is_argument else None
        return start is not None and _FROM.search(node.name, start.end()) is not None
    if isinstance(node, exp.Cast) and node.to.this is exp.DataType.Type.USERDEFINED:
        return isinstance(node.this, exp.Null)  # a row of a table, as in null::t
    if isinstance(node, exp.DataTypeParam):  # hstore(row), which looks like a type
        type_ = node.parent
        return isinstance(node.this, exp.Var) and type_ is not None and type_.arg_key != "to"
    if isinstance(node, exp.Parameter):
        return dialect == "snowflake" and node.name.isdigit()
    return isinstance(node, exp.Columns)


def flat(node: exp.Expr | None) -> Iterator[exp.Expr]:
    """Yield the items of GROUP BY without the parentheses, ROLLUP and so on around them."""
    if isinstance(
        node, exp.Group | exp.Tuple | exp.Paren | exp.Rollup | exp.Cube | exp.GroupingSets
    ):
        for child in node.iter_expressions():
            yield from flat(child)
    elif node is not None:
        yield node


def names_of_using(
    join: exp.Join, before: Iterable[Relation], after: Iterable[Relation]
) -> list[str]:
    """Return the columns of USING, or those that a NATURAL JOIN compares.

    `before` are the relations on the left side of the join, `after` those on its right side.
    """
    if join.method == "NATURAL":
        own = {name for relation in after for name in relation.by_name}
        return [name for relation in before for name in relation.by_name if name in own]
    return [column.name for column in join.args.get("using") or ()]


def names_by_name(node: exp.SetOperation, left: Relation, right: Relation) -> list[str]:
    """Return the columns of a set operation BY NAME, such as INNER UNION ALL BY NAME ON (a).

    These are the columns of ON; with LEFT those of the left side; with INNER those of both sides;
    otherwise those of any side.
    """
    if on := node.args.get("on"):
        return [item.name for item in on]
    names = dict.fromkeys((*left.by_name, *right.by_name))
    if str(node.args.get("side")).upper() == "LEFT":
        return list(left.by_name)
    if str(node.args.get("kind")).upper() == "INNER":
        return [name for name in names if name in left.by_name and name in right.by_name]
    return list(names)


def scalars_of(node: exp.Expr) -> list[exp.CTE]:
    """Return the values that ClickHouse names by WITH expression AS name."""
    with_ = node.args.get("with_")
    return [cte for cte in (with_.expressions if with_ else ()) if cte.args.get("scalar")]


def row_of(item: exp.Dot, frame: Frame) -> exp.Column | None:
    """Return the row of a source that `(row).name` or `(row).*` names; None for a column.

    A name that is both a source and a column means the column.
    """
    column = item.this.unnest()
    has_parentheses = column is not item.this  # without them, it is `table.column`
    if not isinstance(column, exp.Column) or column.table or not has_parentheses:
        return None
    is_row = frame.has_source(column.name) and not frame.is_visible(column.name)
    return column if is_row else None


def plain_column(item: exp.Expr, frame: Frame) -> tuple[exp.Column, exp.Column] | None:
    """Return the column in `(row).name` or `s['b']`, and the column `row.name` or `s.b`.

    None for any other expression, and if the structure of `s` is unknown.
    """
    if isinstance(item, exp.Dot) and (row := row_of(item, frame)):
        return row, exp.column(item.expression.name, table=row.name)
    if not isinstance(item, exp.Bracket) or not isinstance(column := item.this, exp.Column):
        return None
    if len(item.expressions) != 1 or (not column.table and frame.has_source(column.name)):
        return None
    name = item.expressions[0].name if item.expressions[0].is_string else ""
    known = frame.fields(column)
    field = next((own for own in (name, name.lower()) if own in known), None)
    return (column, exp.column(field, column.name, column.table or None)) if field else None


def fields_of(struct: exp.Struct) -> Iterator[tuple[str, exp.Expr]]:
    """Yield the names and values of the fields of `{'a': x}` or STRUCT(x AS a)."""
    for item in struct.expressions:
        if isinstance(item, exp.PropertyEQ):
            yield item.this.name, item.expression
        else:
            yield item.alias_or_name, item.unalias()


def variable_name(item: exp.Expr) -> str:
    """Return the name of the variable in `@a`, `$a`, `:a` or getvariable('a'), else ""."""
    if isinstance(item, exp.Parameter | exp.Placeholder):
        return item.name.lower()
    if isinstance(item, exp.Anonymous) and item.name.lower() == "getvariable" and item.expressions:
        return str(item.expressions[0].name).lower()
    return ""


def parts_of_window(node: exp.Expr, windows: Mapping[str, exp.Expr]) -> Iterator[exp.Expr]:
    """Yield the named windows that a window refers to, each of which may extend another one."""
    seen: set[str] = set()
    while isinstance(node, exp.Window) and node.alias in windows and node.alias not in seen:
        seen.add(node.alias)
        node = windows[node.alias]
        yield node


def column_name(projection: exp.Expr, dialect: str, unnamed: int) -> str:
    """Return the name that a dialect gives a column; "" if it is the text of the expression.

    Args:
        projection: the expression of the column, which may have an alias.
        dialect: sqlglot's name of the dialect.
        unnamed: the number of columns before it whose names BigQuery invents.
    """
    inner = projection
    while isinstance(inner, exp.Paren):
        inner = inner.this
    if isinstance(inner, exp.Alias | exp.Column | exp.Dot | exp.Identifier):
        return inner.output_name
    if dialect == "bigquery":
        return f"f{unnamed}_"
    if dialect in _SPARK and isinstance(inner, exp.Explode):
        return "col"
    if dialect in _SPARK and isinstance(inner, exp.JSONExtract):
        return inner.output_name
    if dialect not in _OF_FUNCTIONS:
        return ""
    while isinstance(inner, exp.Window | exp.WithinGroup | exp.Filter | exp.Paren):
        inner = inner.this
    if (name := inner.output_name) and not isinstance(inner, exp.Literal):
        return name
    function = _FUNCTION.match(inner.sql(dialect))
    return (function[1] or function[2]).lower() if function else "?column?"


_SPARK = {"spark", "spark2", "databricks", "hive"}
