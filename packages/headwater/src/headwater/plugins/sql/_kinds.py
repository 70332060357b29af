"""Kinds of column dependencies in OpenLineage's columnLineage facet 1-2-0.

The rules for expressions follow OpenLineage's Spark listener where it has one:

- a column alone is DIRECT/IDENTITY, in an expression DIRECT/TRANSFORMATION, in an aggregate
  DIRECT/AGGREGATION;
- conditions of CASE, IF, NVL2, DECODE and all arguments of COALESCE and NULLIF are
  INDIRECT/CONDITIONAL, and the values they select from are DIRECT/TRANSFORMATION;
- PARTITION BY and ORDER BY of a window are INDIRECT/WINDOW, ORDER BY of an aggregate's rows is
  INDIRECT/SORT and its FILTER is INDIRECT/FILTER;
- COUNT and hash functions mask: the target does not show the source's values.

`_query` walks through expressions with `parts_of` and combines the kinds on the way to each column.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp
from sqlglot.helper import ensure_list

from headwater.sql.reader import Kind

__all__ = ["CONDITIONAL", "FILTER", "GROUP_BY", "IDENTITY", "JOIN", "SORT", "parts_of"]


_DIRECT, _INDIRECT = "DIRECT", "INDIRECT"

IDENTITY = Kind(_DIRECT, "IDENTITY")
_TRANSFORMATION = Kind(_DIRECT, "TRANSFORMATION")
_AGGREGATION = Kind(_DIRECT, "AGGREGATION")
JOIN, FILTER, GROUP_BY, SORT, _WINDOW, CONDITIONAL = (
    Kind(_INDIRECT, subtype)
    for subtype in ("JOIN", "FILTER", "GROUP_BY", "SORT", "WINDOW", "CONDITIONAL")
)

_MASKING = (exp.Count, exp.ApproxDistinct, exp.MD5, exp.MD5Digest, exp.SHA, exp.SHA2)
_MASKING_NAMES = frozenset({"checksum", "crc32", "farmfingerprint64", "fnv_hash", "func_sha1"})
# They return the value of one row of the window, so they do not aggregate.
_ROW_FUNCTIONS = (exp.FirstValue, exp.LastValue, exp.NthValue, exp.Lag, exp.Lead)
# WITHIN GROUP (ORDER BY x): their value comes from x itself.
_ORDERED_SET = (exp.PercentileCont, exp.PercentileDisc, exp.Mode)

_Part = tuple[exp.Expr, Kind]


def parts_of(node: exp.Expr) -> Iterator[_Part]:
    """Yield the operands of an expression, each with the kind of its influence on the value."""
    if isinstance(node, exp.Alias | exp.Paren | exp.IgnoreNulls | exp.RespectNulls):
        yield node.this, IDENTITY
    elif special := _SPECIAL.get(type(node)):
        yield from special(node)
    else:
        is_aggregate = isinstance(node, exp.AggFunc) and not isinstance(node, _ROW_FUNCTIONS)
        kind = (_AGGREGATION if is_aggregate else _TRANSFORMATION)._replace(masking=_masks(node))
        yield from ((child, kind) for child in node.iter_expressions())


def _masks(node: exp.Expr) -> bool:
    if isinstance(node, exp.Anonymous):
        return node.name.lower() in _MASKING_NAMES
    return isinstance(node, _MASKING)


_CHOICES: dict[type[exp.Expr], tuple[tuple[str, ...], tuple[str, ...]]] = {
    exp.Case: (("this",), ("ifs", "default")),
    exp.If: (("this",), ("true", "false")),
    exp.Nvl2: (("this",), ("true", "false")),
    exp.Coalesce: (("this", "expressions"), ("this", "expressions")),
    exp.Nullif: (("this", "expression"), ("this",)),
}
"""The arguments with conditions, and those with values, of each conditional expression."""


def _with_kind(*nodes: exp.Expr | None, kind: Kind) -> Iterator[_Part]:
    return ((node, kind) for node in nodes if node is not None)


def _choice(node: exp.Expr) -> Iterator[_Part]:
    """Yield the conditions and the values of an expression of `_CHOICES`, such as CASE and IF."""
    for names, kind in zip(_CHOICES[type(node)], (CONDITIONAL, _TRANSFORMATION), strict=True):
        for name in names:
            yield from _with_kind(*ensure_list(node.args.get(name)), kind=kind)


def _decode(node: exp.Expr) -> Iterator[_Part]:
    """Yield the parts of DECODE(x, search, result, search, result, …, default)."""
    value, *rest = node.expressions
    searches, results = rest[0 : len(rest) // 2 * 2 : 2], rest[1::2]
    default = rest[-1:] if len(rest) % 2 else []
    yield from _with_kind(value, *searches, kind=CONDITIONAL)
    yield from _with_kind(*results, *default, kind=_TRANSFORMATION)


def _window(node: exp.Expr) -> Iterator[_Part]:
    """Yield the function of a window, and its PARTITION BY and ORDER BY."""
    yield node.this, IDENTITY
    spec = (*node.args.get("partition_by", ()), node.args.get("order"))
    yield from _with_kind(*spec, kind=_WINDOW)


def _within_group(node: exp.Expr) -> Iterator[_Part]:
    """Yield the function and the ORDER BY of f(…) WITHIN GROUP (ORDER BY x).

    The value of a percentile or mode comes from x; other functions, such as LISTAGG, are only
    sorted by it.
    """
    yield node.this, IDENTITY
    yield node.expression, _AGGREGATION if isinstance(node.this, _ORDERED_SET) else SORT


def _filter(node: exp.Expr) -> Iterator[_Part]:
    yield node.this, IDENTITY
    yield node.expression, FILTER


def _order(node: exp.Expr) -> Iterator[_Part]:
    """Yield the parts of ORDER BY within an aggregate, whose argument is `this`."""
    yield from _with_kind(node.args.get("this"), kind=IDENTITY)
    is_of_sorted = isinstance(node.parent, exp.WithinGroup)
    yield from _with_kind(*node.expressions, kind=IDENTITY if is_of_sorted else SORT)


def _extreme(node: exp.Expr) -> Iterator[_Part]:
    """Yield the parts of MAX_BY(x, y) and ANY_VALUE(x HAVING MAX y): y selects the row of x."""
    yield node.this, IDENTITY if isinstance(node, exp.HavingMax) else _AGGREGATION
    yield node.expression, CONDITIONAL


def _comprehension(node: exp.Expr) -> Iterator[_Part]:
    """Yield the parts of `[f(x) FOR x IN list IF condition]`, without the variable `x`."""
    variables = {found.this for found in node.expression.find_all(exp.Identifier)}
    for column in list(node.find_all(exp.Column)):
        if not column.table and column.name in variables and column is not node.args["iterator"]:
            column.replace(exp.Null())
    parts = (node.this, node.args["iterator"], node.args.get("condition"))
    yield from _with_kind(*parts, kind=_TRANSFORMATION)


def _grouping(_: exp.Expr) -> Iterator[_Part]:
    """Yield nothing for GROUPING(x): it tells which columns are grouped, not their values."""
    return iter(())


def _field(node: exp.Expr) -> Iterator[_Part]:
    """Yield the part of a structure that `{'a': x, 'b': y}.a` selects.

    If the structure has no field of that name, all parts may be the value.
    """
    fields = node.this.expressions if isinstance(node.this, exp.Struct) else []
    named = [item for item in fields if isinstance(item, exp.PropertyEQ | exp.Alias)]
    chosen = [
        item.expression if isinstance(item, exp.PropertyEQ) else item.this
        for item in named
        if (item.this.name if isinstance(item, exp.PropertyEQ) else item.alias) == node.name
    ]
    children = chosen or node.iter_expressions()
    yield from ((child, _TRANSFORMATION) for child in children)


_SPECIAL = {
    **dict.fromkeys(_CHOICES, _choice),
    exp.DecodeCase: _decode,
    exp.Window: _window,
    exp.WithinGroup: _within_group,
    exp.Filter: _filter,
    exp.Order: _order,
    exp.ArgMax: _extreme,
    exp.ArgMin: _extreme,
    exp.HavingMax: _extreme,
    exp.Comprehension: _comprehension,
    exp.Dot: _field,
    exp.Grouping: _grouping,
    exp.GroupingId: _grouping,
}
