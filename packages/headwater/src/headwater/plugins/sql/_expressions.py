"""The origins of an expression in a query: the columns that its value depends on.

`_query` finds those of whole queries, which an expression may contain as subqueries.

- frame: the names that are visible in the SELECT of the expression (`relations.Frame`)
- kind: how a column influences the value, such as DIRECT/IDENTITY (`_kinds`)
- `used`: columns that the query names, whether or not its result depends on them
- unknown uses: columns that it may use although they are neither in `used` nor origins
- steps: the remaining work for one text; each part of an expression takes one
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping

from sqlglot import exp

from headwater.plugins.sql._clauses import (
    is_opaque,
    parts_of_window,
    plain_column,
    variable_name,
)
from headwater.plugins.sql._kinds import IDENTITY, parts_of
from headwater.plugins.sql._stars import PSEUDO_COLUMNS, is_hidden
from headwater.plugins.sql.relations import NONE, Frame, Relation, Resolved, under
from headwater.plugins.sql.steps import Steps
from headwater.sql.reader import Kind, Origin, Origins, Table


class ExpressionReader(ABC):
    """Interpreter of expressions; it records the columns that they use.

    `table` resolves a name that is not a CTE, and `variable` one that is not a column; `steps`
    limits the work.
    """

    def __init__(
        self,
        table: Callable[[exp.Table], Relation],
        dialect: str,
        variable: Callable[[str], Origins | None],
        steps: Steps,
    ) -> None:
        self._table = table
        self._dialect = dialect
        self._variable = variable
        self._steps = steps
        self.has_unknown_columns = False
        self.has_unknown_uses = False
        """True if the query may use columns that are not in `used`, nor origins of its result."""
        self.used: set[tuple[Table, str]] = set()
        """The columns of tables that expressions name, even if no result depends on them."""
        self._read: set[int] = set()
        """The ids of the nodes that name columns and were interpreted."""

    @abstractmethod
    def query(
        self,
        node: exp.Expr,
        ctes: Mapping[str, Relation] | None = None,
        outer: Frame | None = None,
    ) -> Relation:
        """Return the columns of a query; `outer` is the query around a subquery."""

    def has_unread_columns(self, node: exp.Expr) -> bool:
        """Return True if some columns in a query were not interpreted, as in MATCH_RECOGNIZE."""
        return any(id(column) not in self._read for column in node.find_all(exp.Column))

    def _origins(self, node: exp.Expr, frame: Frame, kind: Kind = IDENTITY) -> Origins:
        """Return the origins of an expression used as `kind`.

        The loop replaces a recursion, because chains such as `a || b || …` may be long.
        """
        found: set[Origin] = set()
        stack = [(node, kind)]
        while stack:
            part, kind = stack.pop()
            self._steps.take()
            part = self._plain(part, frame)
            if isinstance(part, exp.Column):
                found |= under(kind, self._column(part, frame))
            elif isinstance(part, exp.Query) or (
                isinstance(part, exp.Exists) and isinstance(part.this, exp.Query)
            ):
                is_query = isinstance(part, exp.Query)  # the values of EXISTS do not count
                inner = self.query(part if is_query else part.this, frame.ctes, frame)
                found |= under(kind, inner.rows)
                self.has_unknown_uses |= is_query and not inner.is_whole
                if is_query:
                    found |= under(kind, NONE.union(*(origins for _, origins in inner.columns)))
            elif (name := variable_name(part)) and (value := self._variable(name)):
                found |= under(kind, value)
            elif isinstance(part, exp.Star):
                if not isinstance(part.parent, exp.Count):  # COUNT(*) uses rows, not columns
                    found |= under(kind, self._resolved(frame.whole("")))
            else:
                self.has_unknown_uses |= is_opaque(part, self._dialect)
                stack += [(child, kind.over(way)) for child, way in parts_of(part)]
                for window in parts_of_window(part, frame.windows):
                    stack += [(child, kind.over(way)) for child, way in parts_of(window)]
        return frozenset(found)

    def _plain(self, part: exp.Expr, frame: Frame) -> exp.Expr:
        """Return a part of an expression, or the column that it is another form of."""
        if isinstance(part, exp.Grouping | exp.GroupingId):
            self._mark(*part.find_all(exp.Column))  # GROUP BY has the same columns
        if not (pair := plain_column(part, frame)):
            return part
        self._mark(pair[0])
        return pair[1]

    def _column(self, column: exp.Column, frame: Frame) -> Origins:
        """Return the origins of a column, or of the variable that its name refers to.

        A pseudo column, such as ROWID, has no origins. Those of a column of an unknown source are
        unknown: the result is empty, and `has_unknown_columns` is set.
        """
        self._mark(column)
        if not frame.is_visible(column.name):
            is_level = column.table and column.name == "level"  # also a usual name of a column
            if column.name in PSEUDO_COLUMNS.get(self._dialect, ()) and not is_level:
                return NONE
            if is_hidden(column.name, self._dialect):
                return NONE
            if not column.table and (variable := self._variable(column.name)) is not None:
                return variable
        resolved = frame.whole(column.table) if column.is_star else frame.column(column)
        if resolved is None:
            self.has_unknown_columns = self.has_unknown_uses = True
            return NONE
        return self._resolved(resolved)

    def _resolved(self, resolved: Resolved) -> Origins:
        """Use the origins of a name; the use of an uncertain one is unknown."""
        self.has_unknown_uses |= not resolved.is_certain
        self._steps.take(len(resolved.origins))
        return self._use(resolved.origins)

    def _mark(self, *nodes: exp.Expr) -> None:
        """Record that nodes were interpreted; `has_unread_columns` looks for others."""
        self._read.update(map(id, nodes))

    def _use_whole(self, *relations: Relation) -> None:
        """Use all columns of some relations, because their equal rows are combined."""
        for relation in relations:
            self.has_unknown_uses |= not relation.is_whole
            self._use(NONE.union(*(origins for _, origins in relation.columns)))

    def _use(self, origins: Origins) -> Origins:
        """Add origins to the used columns and return them."""
        self.used |= {(origin.table, origin.column) for origin in origins}
        return origins
