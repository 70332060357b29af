"""The columns of PIVOT and UNPIVOT."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

from sqlglot import exp

from headwater.plugins.sql._kinds import CONDITIONAL, GROUP_BY, IDENTITY
from headwater.plugins.sql._stars import chooses_columns, name_pattern
from headwater.plugins.sql.relations import NONE, NamedColumns, Relation, under
from headwater.sql.reader import Kind, Origins

OriginsOf = Callable[[exp.Expr, Kind], Origins]
"""Returns the origins of an expression of the relation that is pivoted."""


def pivoted(pivot: exp.Pivot, relation: Relation, origins_of: OriginsOf) -> Relation:
    """Return a relation whose values become columns, or whose columns become values.

    `relation` is the table or query before PIVOT, and `origins_of` finds the origins of an
    expression in it. If the new columns are named after values in the data, they are unknown: each
    name that is used later has the origins of all aggregates.
    """
    fields = pivot.args["fields"] = [_expanded(field, relation) for field in pivot.args["fields"]]
    used = {
        column.name
        for item in (*fields, *pivot.expressions)
        for column in item.find_all(exp.Column)
    }
    unused = tuple(pair for pair in relation.columns if pair[0] not in used)
    if pivot.unpivot:
        added = _unpivoted(pivot, origins_of)
        return Relation((*unused, *added), relation.rows, relation.is_whole)
    if group := pivot.args.get("group"):  # DuckDB's GROUP BY replaces the unused columns
        unused = tuple((item.name, origins_of(item, IDENTITY)) for item in group.expressions)
    rows = relation.rows | under(GROUP_BY, NONE.union(*(origins for _, origins in unused)))
    keys = NONE.union(*(origins_of(field.this, CONDITIONAL) for field in fields))
    aggregates = [origins_of(item, IDENTITY) | keys for item in pivot.expressions]
    names = [column.name for column in pivot.args.get("columns") or ()]
    if not names:  # they are in the data
        values = NONE.union(*aggregates)
        return Relation(unused, rows, is_whole=False, other=lambda _: values)
    # the columns of a value are next to each other, one per aggregate
    added = [(name, aggregates[place % len(aggregates)]) for place, name in enumerate(names)]
    return Relation((*unused, *added), rows, relation.is_whole)


def _expanded(field: exp.Expr, relation: Relation) -> exp.Expr:
    """Return the field of an UNPIVOT with the columns that `*` or COLUMNS(…) stands for.

    `field` is changed in place and returned.
    """
    found: list[exp.Expr] = []
    for item in field.expressions:
        if not (item.is_star or chooses_columns(item)):
            found.append(item)
            continue
        star, pattern = item.find(exp.Star), name_pattern(item)
        excluded = {column.name for column in (star.args.get("except_") if star else None) or ()}
        found += (
            exp.column(name)
            for name, _ in relation.columns
            if name not in excluded and (pattern is None or pattern.search(name))
        )
    field.set("expressions", found)
    return field


def _unpivoted(pivot: exp.Pivot, origins_of: OriginsOf) -> NamedColumns:
    """Return the columns that UNPIVOT adds: one with names per FOR, and those with values.

    `UNPIVOT (v FOR n IN (a, b))` adds `n`, which has no origins, and `v`, which comes from both
    a and b. `(v, w) FOR n IN ((a, b), (c, d))` adds `v` from a and c, and `w` from b and d.
    """
    fields = pivot.args["fields"]
    names = [name for item in pivot.expressions for name in _items(item)]
    groups = [list(_items(value.unalias())) for field in fields for value in field.expressions]
    added = [(field.this.name, NONE) for field in fields]
    for place, name in enumerate(names):
        values = (group[place % len(group)] for group in groups if group)
        added.append((name.name, NONE.union(*(origins_of(item, IDENTITY) for item in values))))
    return added


def _items(item: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the items of `(a, b)`, or the expression of a single one without its alias."""
    if isinstance(item, exp.Tuple):
        yield from item.expressions
    else:
        yield item.this if isinstance(item, exp.Paren | exp.PivotAlias) else item


def pivot_of(statement: exp.Pivot) -> exp.Pivot:
    """Return DuckDB's statement PIVOT or UNPIVOT in the form that it has in FROM.

    sqlglot parses it in another form than PIVOT in FROM. Names of new columns follow DuckDB's
    rules.
    """
    into, items = statement.args.get("into"), statement.expressions
    if into:
        field = exp.In(this=into.this.copy(), expressions=items)
        return exp.Pivot(expressions=into.expressions, fields=[field], unpivot=True)
    fields = [item if isinstance(item, exp.In) else exp.In(this=item) for item in items]
    values = [[value.name for value in field.expressions] for field in fields]
    names = ["_".join(combination) for combination in product(*values)]
    using = statement.args.get("using") or [exp.Count(this=exp.Star())]
    if len(using) > 1 or isinstance(using[0], exp.Alias):
        names = [f"{name}_{item.alias or item.sql('duckdb')}" for name in names for item in using]
    columns = [exp.to_identifier(name) for name in names]
    group = statement.args.get("group")
    return exp.Pivot(expressions=using, fields=fields, columns=columns, group=group)
