"""The tables that a text reads in scalar subqueries, and all other tables of the text.

OpenLineage's Spark listener does not report the former, so `sql.omitted` adds them to the inputs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot import exp
from sqlglot.errors import SqlglotError

from headwater.plugins.sql._cache import TextCache
from headwater.plugins.sql.steps import LONGEST, Steps, UnreadError, parse_statements
from headwater.sql.reader import TableParts

_SUBQUERY = re.compile(r"\(\s*(?:select|with)\b", re.IGNORECASE)
_Tables = tuple[frozenset[TableParts], frozenset[TableParts]]
_NONE: _Tables = frozenset(), frozenset()
_SOURCES = (exp.From, exp.Join, exp.Lateral, exp.CTE, exp.SetOperation, exp.Subquery, exp.Create)
"""Parents of a subquery that is a table or a part of a larger query, not a value."""


def scalar_tables(text: str, dialect: str) -> _Tables:
    """Return the names, in parts, of the tables in scalar subqueries and of all others.

    Both are empty if the text has no scalar subquery or cannot be parsed. Subqueries after IN count
    too. A common table expression counts as a part of the subqueries that use it.
    """
    if len(text) > LONGEST or not _SUBQUERY.search(text):
        return _NONE
    return _CACHE.get(text, dialect, lambda: _scalar_tables(text, dialect))


def _scalar_tables(text: str, dialect: str) -> _Tables:
    """Return the tables of a text like `scalar_tables`, without the cache."""
    inside: set[TableParts] = set()
    every: set[TableParts] = set()
    try:
        for statement in parse_statements(text, dialect, Steps()):
            ctes = {cte.alias.lower(): cte.this for cte in statement.find_all(exp.CTE)}
            every.update(_tables(statement, ctes))
            for query in statement.find_all(exp.Subquery):
                if not isinstance(query.parent, (*_SOURCES, exp.Insert)):
                    inside.update(_tables(query, ctes))
    except (SqlglotError, UnreadError, RecursionError):
        return _NONE
    return (frozenset(inside), frozenset(every - inside)) if inside else _NONE


def _tables(node: exp.Expr, ctes: dict[str, exp.Expr]) -> Iterator[TableParts]:
    """Yield the tables of a query, also those of the common table expressions that it uses."""
    waiting, used = [node], set[str]()
    while waiting:
        for table in waiting.pop().find_all(exp.Table):
            name = table.name.lower()
            if table.db or name not in ctes:
                yield tuple(part.name for part in table.parts)
            elif name not in used:
                used.add(name)
                waiting.append(ctes[name])


_CACHE: TextCache[str, _Tables] = TextCache(
    1_000_000, lambda found, _: 200 + sum(len(part) for names in found for part in names) * 100
)
