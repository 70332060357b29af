"""Interpret ON CONFLICT DO UPDATE, and ON DUPLICATE KEY UPDATE, as a change of the target.

The clause is read as a SELECT from the target and the rows to insert, whose items are the new
values. What it reads is added to the INSERT, the `statement`.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from headwater.plugins.sql._changes import without
from headwater.plugins.sql.model import Statement, name_columns, read_query
from headwater.plugins.sql.relations import NONE
from headwater.plugins.sql.session import Session

_NEW = "excluded"
"""The name of the row to insert. MySQL calls its columns VALUES(name), or names it by AS."""


def read_conflict(
    parsed: exp.Insert, names: list[str], statement: Statement, session: Session
) -> None:
    """Add what the values and the condition of the clause read to an INSERT.

    `names` are the columns of the target, in the order of the inserted values.
    """
    conflict = parsed.args["conflict"]
    target = parsed.this.this if isinstance(parsed.this, exp.Schema) else parsed.this
    pairs = [(item.this.name, item.expression) for item in conflict.expressions]
    select = exp.select().from_(target.copy())
    query = parsed.expression
    if isinstance(query, exp.Query | exp.Values):
        select = select.join(_new_rows(query, names), join_type="cross")
        for table in _tables_named_in(conflict, query):
            select = select.join(table.copy(), join_type="cross")
    for _, value in pairs:
        select = select.select(_qualified(value, target.alias_or_name))
    if where := conflict.args.get("where"):
        select = select.where(_qualified(where.this, target.alias_or_name))
    change = Statement("update", "", statement.target, used=statement.used)
    relation = read_query(select, change, session, changed=statement.target)
    name_columns(change, relation, [name for name, _ in pairs], session)
    for name, origins in change.columns.items():
        own = statement.columns.get(name, NONE)
        statement.columns[name] = own | without(origins, statement.target)
    statement.tables = list(dict.fromkeys((*statement.tables, *change.tables)))
    statement.files = list(dict.fromkeys((*statement.files, *change.files)))
    statement.indirect |= without(change.indirect, statement.target)
    statement.used = change.used
    statement.unknown += change.unknown
    statement.has_unknown_uses |= change.has_unknown_uses
    statement.has_unknown_columns |= change.has_unknown_columns


def _tables_named_in(conflict: exp.Expr, query: exp.Expr) -> Iterator[exp.Table]:
    """Yield the tables of the query whose columns the clause `conflict` names, as MySQL allows."""
    named = {column.table for column in conflict.find_all(exp.Column)}
    from_ = query.args.get("from_")
    joins = query.args.get("joins") or ()
    for item in (*([from_.this] if from_ else ()), *(join.this for join in joins)):
        if isinstance(item, exp.Table) and item.alias_or_name in named:
            yield item


def _new_rows(query: exp.Expr, names: list[str]) -> exp.Expr:
    """Return the rows to insert as a table that has the alias of new rows, with named columns."""
    columns = [exp.to_identifier(name) for name in names]
    alias = exp.TableAlias(this=exp.to_identifier(_NEW), columns=columns)
    if isinstance(query, exp.Values):
        rows: exp.Expr = query.copy()
    else:
        rows = exp.Subquery(this=query.copy())
    rows.set("alias", alias)
    return rows


def _qualified(value: exp.Expr, target: str) -> exp.Expr:
    """Return a value whose columns outside subqueries are those of the target or the new row."""
    root = exp.Paren(this=value.copy())
    for function in list(root.find_all(exp.Anonymous)):
        if function.name.lower() == "values" and len(function.expressions) == 1:
            function.replace(exp.column(function.expressions[0].name, table=_NEW))
    for column in _outside_queries(root):
        if not column.table:
            column.set("table", exp.to_identifier(target))
    return root


def _outside_queries(root: exp.Expr) -> Iterator[exp.Column]:
    """Yield the columns that are not in a subquery, whose columns belong to its own FROM."""
    for column in root.find_all(exp.Column):
        if column.find_ancestor(exp.Select) is None:
            yield column
