"""Interpret UPDATE, DELETE and MERGE as the SELECT whose rows they write.

For example, UPDATE t SET a = s.x FROM s is read as SELECT s.x FROM t, s, whose item goes into `a`.

- `session`: the tables and temporary tables that the statement can see
- target: the changed table; `values_by_column` has the values that go into each of its columns
- origins of a value: the columns of tables that it comes from; `_query` finds them per item
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from sqlglot import exp

from headwater.plugins.sql.model import (
    Statement,
    columns_of,
    name_columns,
    new_statement,
    read_query,
    target_of,
)
from headwater.plugins.sql.relations import NONE
from headwater.plugins.sql.session import Session
from headwater.sql.reader import Origins, Table


def read_update(parsed: exp.Update, session: Session) -> Statement | None:
    """Return what UPDATE reads and writes."""
    values_by_column = {
        name: [value] for equation in parsed.expressions for name, value in _assigned(equation)
    }
    from_ = parsed.args.get("from_")
    if from_ and (own := _named_in(from_, parsed.this)):  # UPDATE a … FROM t AS a of T-SQL
        parsed.this.replace(exp.Table(**{key: own.args.get(key) for key in _NAME_PARTS}).copy())
        select = _select_from(from_.this, [])
    else:
        select = _select_from(parsed.this, [from_.this] if from_ else [])
    where = parsed.args.get("where")
    return _only_set(_new_change("update", parsed, values_by_column, select, where, session))


_NAME_PARTS = "this", "db", "catalog", "alias"


def _named_in(from_: exp.Expr, target: exp.Expr) -> exp.Table | None:
    """Return the table in FROM whose alias is the target's name: t for `UPDATE a … FROM t AS a`."""
    if not isinstance(target, exp.Table) or target.db:
        return None
    items = (from_.this, *(join.this for join in from_.this.args.get("joins") or ()))
    named = (item for item in items if isinstance(item, exp.Table) and item.alias == target.name)
    return next(named, None)


def _assigned(equation: exp.Expr) -> Iterator[tuple[str, exp.Expr]]:
    """Yield the columns and values of `a = x`, `(a, b) = (x, y)` and `(a, b) = (SELECT x, y …)`."""
    target, value = equation.this, equation.expression
    if not isinstance(target, exp.Tuple):
        yield target.name, value
        return
    for index, column in enumerate(target.expressions):
        if isinstance(value, exp.Tuple):
            yield column.name, value.expressions[index]
        else:  # a subquery: a copy of it with only the item of this column
            subquery = value.copy()
            subquery.unnest().set("expressions", [subquery.unnest().expressions[index]])
            yield column.name, subquery


def read_delete(parsed: exp.Delete, session: Session) -> Statement | None:
    """Return what DELETE reads and writes.

    Without USING or WHERE, it removes all rows and has the kind "truncate": nothing of the former
    contents is left.
    """
    if not parsed.this:  # DELETE t USING …, without FROM
        parsed.set("this", parsed.args["tables"][0])
    using, where = parsed.args.get("using") or [], parsed.args.get("where")
    select = _select_from(parsed.this, using)
    kind = "delete" if using or where else "truncate"
    return _new_change(kind, parsed, {}, select, where, session)


def read_merge(parsed: exp.Merge, session: Session) -> Statement | None:
    """Return what MERGE reads and writes.

    If a source matches by `*`, its columns must be known; otherwise the target has unknown columns.
    Several clauses may write one column, which then has the origins of all of their values.
    """
    target, source = parsed.this, parsed.args["using"]
    values_by_column: dict[str, list[exp.Expr]] = {}
    conditions = []
    changes_rows = False
    names = columns_of(target, session)
    for when in parsed.args["whens"].expressions:
        then = when.args.get("then")
        changes_rows |= not isinstance(then, exp.Update)
        if condition := when.args.get("condition"):
            conditions.append(condition.copy())
        if is_all := _takes_all(then):
            pairs = _all_values(source, names, session, by_name=is_all == "name")
            excluded = _excluded(then)
            pairs = [pair for pair in pairs if pair[0] not in excluded]
        elif isinstance(then, exp.Update):
            pairs = [
                (assignment.this.name, assignment.expression) for assignment in then.expressions
            ]
        elif isinstance(then, exp.Insert):
            pairs = _inserted_values(then, names)
        else:  # DELETE and DO NOTHING write no value
            continue
        for name, value in pairs:
            values_by_column.setdefault(name, []).append(value)
    if parsed.meta.get("removes_duplicates") and isinstance(source, exp.Table):
        # REMOVE DUPLICATES of Redshift inserts whole rows of the source: columns match in order.
        names = columns_of(source, session)
        for name, own in zip(columns_of(target, session) or names, names, strict=False):
            values_by_column[name] = [exp.column(own, table=source.alias_or_name)]
    select = exp.select().from_(target.copy())
    on, using = parsed.args.get("on"), parsed.args.get("using_cond")
    if on:
        select = select.join(source.copy(), on=on.copy())
    else:
        select = select.join(source.copy(), using=[item.copy() for item in using or ()])
    where = exp.Where(this=exp.and_(*conditions)) if conditions else None
    statement = _new_change("merge", parsed, values_by_column, select, where, session)
    return statement if changes_rows else _only_set(statement)


def _only_set(statement: Statement) -> Statement:
    """Return a statement whose conditions decide only about the columns that it sets.

    If some of these are unknown, the conditions decide about all columns.
    """
    if statement.has_all_columns and statement.columns and not statement.unnamed:
        for name, origins in statement.columns.items():
            statement.columns[name] = origins | statement.indirect
        statement.indirect = NONE
    return statement


def _takes_all(then: exp.Expr | None) -> str:
    """Return "name" for UPDATE SET * and INSERT *, "place" for INSERT ROW, else nothing.

    In DuckDB, UPDATE and INSERT alone mean the same, and INSERT BY NAME looks like a column `by`.

    `then` is what a WHEN clause does. "name": columns match by name. "place": they match in order.
    """
    if isinstance(then, exp.Update):
        items = then.expressions
        return "name" if not items or isinstance(items[0], exp.Star) else ""
    if isinstance(then, exp.Insert) and not then.expression:
        columns = then.this.expressions if isinstance(then.this, exp.Tuple) else []
        is_by_name = bool(columns) and columns[0].sql().lower() == "by as name"
        if not then.this or isinstance(then.this, exp.Star) or is_by_name:
            return "name"
    is_row = isinstance(then, exp.Insert) and isinstance(then.this, exp.Var)
    return "place" if is_row else ""


def _excluded(then: exp.Expr | None) -> set[str]:
    """Return the columns after EXCEPT, as in UPDATE SET * EXCEPT (a)."""
    star = then.find(exp.Star) if then else None
    return {column.name for column in (star.args.get("except_") if star else None) or ()}


def _all_values(
    source: exp.Expr, names: list[str], session: Session, *, by_name: bool
) -> list[tuple[str, exp.Expr]]:
    """Return the columns `names` of a target, each with the column of the source that fills it.

    Columns match by name, or else in order. If only one side is known, its names are used for both.
    """
    if isinstance(source, exp.Table):
        own = columns_of(source, session)
    else:
        query = source.unnest()
        own = query.named_selects if isinstance(query, exp.Query) and not query.is_star else []
    values = [exp.column(name, table=source.alias_or_name) for name in own]
    if by_name or not (names and own):
        names = [name for name in names or own if name in (own or names)]
        values = [exp.column(name, table=source.alias_or_name) for name in names]
    return list(zip(names, values, strict=False))


def _inserted_values(then: exp.Insert, known: list[str]) -> list[tuple[str, exp.Expr]]:
    """Return the columns and values of WHEN NOT MATCHED THEN INSERT.

    `known` are the columns of the target, which values without listed columns go into; a value
    without a known column has an empty name.
    """
    if then.expression:
        values = then.expression.expressions
        names = [column.name for column in then.this.expressions] if then.this else known
        return list(zip([*names, *[""] * (len(values) - len(names))], values, strict=False))
    # Without column names, sqlglot parses VALUES as a function in their place.
    values = then.this.expressions[0].expressions if isinstance(then.this, exp.Tuple) else []
    return list(zip([*known, *[""] * (len(values) - len(known))], values, strict=False))


def _new_change(
    kind: str,
    parsed: exp.Expr,
    values_by_column: Mapping[str, list[exp.Expr]],
    select: exp.Select,
    where: exp.Expr | None,
    session: Session,
) -> Statement:
    """Return a statement that changes a table by the rows of a query of it and other tables.

    Dependencies of the target on itself are left out: they add no source.

    `values_by_column` has the values of each column of the target, under "" for unknown columns.
    `select` reads the target and the other tables, and `where` selects the changed rows.
    """
    table, _ = target_of(parsed.this)
    statement = new_statement(kind, table, session)
    pairs = [(name, value) for name, values in values_by_column.items() for value in values]
    for _, value in pairs:
        select = select.select(value.copy())
    if where is not None:
        select = select.where(where.this.copy())
    if with_ := parsed.args.get("with_"):
        select.set("with_", with_.copy())
    relation = read_query(select, statement, session, changed=statement.target)
    name_columns(statement, relation, [name for name, _ in pairs], session)
    if unnamed := statement.columns.pop("", None):
        statement.unnamed = without(unnamed, statement.target)
        statement.has_all_columns = False
    for name, origins in statement.columns.items():
        statement.columns[name] = without(origins, statement.target)
    statement.indirect = without(statement.indirect, statement.target)
    return statement


def without(origins: Origins, table: Table | None) -> Origins:
    """Return origins except those of a table."""
    return frozenset(origin for origin in origins if origin.table != table)


def _select_from(target: exp.Expr, tables: Iterable[exp.Expr]) -> exp.Select:
    """Return a SELECT from a target and other tables, such as `a, b JOIN c`.

    UPDATE, DELETE and MERGE see the columns of these tables, so the reader of queries resolves them
    as for this SELECT.
    """
    first = target.copy()
    own_joins = first.args.pop("joins", None) or []
    select = exp.select().from_(first)
    for join in own_joins:
        select.append("joins", join.copy())
    for table in tables:
        bare = table.copy()
        joins = bare.args.pop("joins", None) or []
        select = select.join(bare, join_type="cross")
        for join in joins:
            select.append("joins", join.copy())
    return select
