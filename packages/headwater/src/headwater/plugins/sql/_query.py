"""Column lineage of a query, by one pass over it from its sources to its columns.

- relation: the columns of a table or query with the origins of each, and `rows`: the origins of the
  choice of rows, such as those of WHERE
- frame: the names that are visible within one SELECT; `outer` is that of the query around it
- whole: a relation of which all columns are known
- to use: record columns that the query names (`used`), though no result may depend on them
- to mark: record that a node was interpreted; other columns make the uses unknown
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from headwater.plugins.sql._clauses import (
    clauses,
    column_name,
    fields_of,
    flat,
    names_a_table,
    names_by_name,
    names_of_using,
    row_of,
    scalars_of,
)
from headwater.plugins.sql._expressions import ExpressionReader
from headwater.plugins.sql._kinds import FILTER, GROUP_BY, JOIN, SORT
from headwater.plugins.sql._pivots import pivot_of, pivoted
from headwater.plugins.sql._stars import chooses_columns, name_pattern
from headwater.plugins.sql.relations import NONE, Frame, NamedColumns, Relation, combined, under
from headwater.sql.reader import Kind, Origins


class Reader(ExpressionReader):
    """Interpreter of queries. `ctes` are the relations of WITH by name."""

    def query(
        self,
        node: exp.Expr,
        ctes: Mapping[str, Relation] | None = None,
        outer: Frame | None = None,
    ) -> Relation:
        """Return the columns of a query; `outer` is the query around a subquery."""
        self._steps.take(_STEPS_OF_A_QUERY)
        ctes = self._ctes(node, ctes or {}, outer)
        if isinstance(node, exp.Select):
            return self._select(node, ctes, outer)
        if isinstance(node, exp.Values):
            return self._values(node, ctes, outer)
        if isinstance(node, exp.SetOperation):
            found = self._set_operation(node, ctes, outer)
        elif isinstance(node, exp.Subquery):
            found = self._renamed(self.query(node.this, ctes, outer), node.alias_column_names)
        elif isinstance(node, exp.Pivot) and node.this:
            frame = Frame(outer, ctes)
            _, relation = self._source(node.this, frame)
            return self._pivoted(pivot_of(node), relation or Relation(is_whole=False), frame)
        else:
            return Relation(is_whole=False)
        frame = Frame(outer, ctes)
        rows = self._order(node, frame, found.columns)
        rows = rows.union(*(self._origins(part, frame, kind) for kind, part in clauses(node)))
        return replace(found, rows=found.rows | rows)

    def _ctes(
        self, node: exp.Expr, outside: Mapping[str, Relation], outer: Frame | None
    ) -> Mapping[str, Relation]:
        """Return the CTEs that a query sees: those `outside` of it, and those of its WITH.

        A recursive one is interpreted until its origins do not change any more: each pass can add
        origins of its own columns. ClickHouse's scalars are no queries, see `_from`.
        """
        with_ = node.args.get("with_")
        if not with_:
            return outside
        ctes = dict(outside)
        for cte in with_.expressions:
            names = cte.alias_column_names
            if cte.args.get("scalar"):  # of ClickHouse: WITH expression AS name
                continue
            if with_.recursive and isinstance(cte.this, exp.SetOperation):
                found = self.query(cte.this.this, ctes, outer).renamed(names)
                before = None
                while before != (found.columns, found.rows):
                    before = found.columns, found.rows
                    found = self.query(cte.this, ctes | {cte.alias: found}, outer).renamed(names)
            else:
                found = self._renamed(self.query(cte.this, ctes, outer), names)
            ctes[cte.alias] = found
        return ctes

    def _set_operation(
        self, node: exp.SetOperation, ctes: Mapping[str, Relation], outer: Frame | None
    ) -> Relation:
        """Return the columns of UNION, EXCEPT or INTERSECT, of which rows match by place or name.

        If a side has unknown columns, the places are unknown, so no column is; each name that is
        used later has the origins of that name on both sides.
        """
        left = self.query(node.this, ctes, outer)
        right = self.query(node.expression, ctes, outer)
        rows = left.rows | right.rows
        if node.args.get("distinct"):
            self._use_whole(left, right)
        if isinstance(node, exp.Except):  # the right side only removes rows
            removing = NONE.union(*(origins for _, origins in right.columns))
            return replace(left, rows=rows | under(FILTER, removing))
        if not (left.is_whole and right.is_whole):
            return Relation(
                rows=rows, is_whole=False, other=lambda name: left.column(name) | right.column(name)
            )
        if node.args.get("by_name"):
            names = names_by_name(node, left, right)
            both = tuple((name, left.column(name) | right.column(name)) for name in names)
            return Relation(both, rows)
        pairs = zip(left.columns, right.columns, strict=False)
        return Relation(tuple((name, mine | its) for (name, mine), (_, its) in pairs), rows)

    def _values(
        self, node: exp.Values, ctes: Mapping[str, Relation], outer: Frame | None
    ) -> Relation:
        """Return the columns of VALUES, each with the origins of its values in all rows.

        Without an alias with names, they are called column1, column2 and so on.
        """
        frame = Frame(outer, ctes)
        rows = [
            row.expressions if isinstance(row, exp.Tuple) else [row] for row in node.expressions
        ]
        origins = [
            NONE.union(*(self._origins(value, frame) for value in column))
            for column in zip(*rows, strict=False)
        ]
        columns = ((f"column{number}", found) for number, found in enumerate(origins, start=1))
        return Relation(tuple(columns)).renamed(node.alias_column_names)

    def _select(
        self, node: exp.Select, ctes: Mapping[str, Relation], outer: Frame | None
    ) -> Relation:
        """Return the columns of a SELECT, and the origins of its conditions, groups and order.

        If exactly one `*` has unknown columns, a name that is not in the result is one of it.
        """
        frame = Frame(outer, ctes)
        rows = self._from(node, frame)
        columns, stars, fields = self._projections(node, frame)
        for kind, clause in clauses(node):
            rows |= self._origins(clause, frame, kind)
        rows |= self._group(node, frame, columns) | self._order(node, frame, columns)
        if node.args.get("distinct"):
            self._use_whole(*stars)
        unknown = [star for star in stars if not star.is_whole]
        other = unknown[0].other if len(unknown) == 1 else None
        return Relation(tuple(columns), rows, not unknown, other, fields=fields)

    def _from(self, node: exp.Select, frame: Frame) -> Origins:
        """Add the sources of a SELECT to its frame; return the origins of their rows."""
        frame.windows = {window.name: window for window in node.args.get("windows") or ()}
        from_ = node.args.get("from_")
        rows = self._add(from_.this, frame) if from_ else NONE
        for item in scalars_of(node):
            frame.aliases[item.alias] = self._origins(item.this, frame)
        for item in (*(node.args.get("joins") or ()), *(node.args.get("laterals") or ())):
            rows |= self._add(item, frame)
        match = node.args.get("match")
        return rows | self._match(match, frame) if match else rows

    def _projections(
        self, node: exp.Select, frame: Frame
    ) -> tuple[list[tuple[str, Origins]], list[Relation], dict[str, Mapping[str, Origins]]]:
        """Return a SELECT's columns, the relations of its `*`, and known fields of columns."""
        columns: list[tuple[str, Origins]] = []
        fields: dict[str, Mapping[str, Origins]] = {}
        stars, unnamed = [], 0
        for projection in node.expressions:
            if projection.is_star or chooses_columns(projection):
                stars.append(self._star(projection, frame))
                columns += stars[-1].columns
                fields |= stars[-1].fields
                continue
            if several := self._several(projection, frame):
                columns += several
                continue
            if any(part is not projection for part in projection.find_all(exp.Columns)):
                self._origins(projection, frame)  # one column for each that it chooses
                stars.append(Relation(is_whole=False))
                continue
            name = column_name(projection, self._dialect, unnamed)
            unnamed += name == f"f{unnamed}_"  # BigQuery invents these names
            origins = self._origins(projection, frame)
            columns.append((name, origins))
            fields[name] = self._fields(projection.unalias(), frame)
            if isinstance(projection, exp.Alias):
                frame.aliases[name] = origins
        return columns, stars, fields

    def _fields(self, value: exp.Expr, frame: Frame) -> Mapping[str, Origins]:
        """Return the fields of a value whose structure is known, such as STRUCT(x AS a)."""
        if isinstance(value, exp.Struct):
            return {name: self._origins(item, frame) for name, item in fields_of(value) if name}
        return frame.fields(value) if isinstance(value, exp.Column) else {}

    def _star(self, projection: exp.Expr, frame: Frame) -> Relation:
        """Return the columns of `*`, which may have EXCEPT, REPLACE and RENAME."""
        star = projection if isinstance(projection, exp.Star) else projection.this
        for named in projection.find_all(exp.Column):
            self._mark(named)
            if not named.is_star:
                self._column(named, frame)
        excluded = {(item.text("table"), item.name) for item in star.args.get("except_") or ()}
        renamed = {item.this.name: item.alias for item in star.args.get("rename") or ()}
        table = projection.table if isinstance(projection, exp.Column) else ""
        found = frame.star(table, excluded, renamed)
        self._steps.take(len(found.columns))
        replaced = {
            item.alias: self._origins(item, frame) for item in star.args.get("replace") or ()
        }
        for name in replaced:  # it must exist
            self._use(found.by_name.get(name, NONE))
        columns = ((name, replaced.get(name, origins)) for name, origins in found.columns)
        pattern = name_pattern(projection)
        chosen = tuple(pair for pair in columns if pattern is None or pattern.search(pair[0]))
        if isinstance(projection, exp.Columns) and pattern is None:
            self.has_unknown_uses = True
            return Relation(is_whole=False)
        return replace(found, columns=chosen)

    def _match(self, match: exp.MatchRecognize, frame: Frame) -> Origins:
        """Replace the sources by those rows that MATCH_RECOGNIZE returns; return their origins."""
        for column in match.find_all(exp.Column):
            column.set("table", None)  # a variable of the pattern
        keys, measures = match.args.get("partition_by") or (), match.args.get("measures") or ()
        columns = [(key.name, self._origins(key, frame)) for key in keys]
        if "ALL ROWS" in str(match.args.get("rows") or "").upper():
            columns = list(frame.star("", set()).columns)
        columns += [(item.this.alias, self._origins(item.this, frame)) for item in measures]
        order = match.args.get("order")
        rows = self._origins(order, frame, SORT) if order else NONE
        for item in match.args.get("define") or ():
            rows |= self._origins(item, frame, FILTER)
        is_whole = all(source.is_whole for source in frame.sources.values())
        frame.sources = {match.alias: Relation(tuple(columns), is_whole=is_whole)}
        return rows

    def _several(self, item: exp.Expr, frame: Frame) -> NamedColumns:
        """Return the columns of an item of SELECT with several; none if it has one.

        Such items are functions with names, as in `stack(…) AS (a, b)` and Spark's TRANSFORM
        USING, a row as in PostgreSQL's `(t).*`, and DuckDB's `unnest` of a structure.
        """
        if isinstance(item, exp.Aliases):
            return self._named(item.this, [column.name for column in item.expressions], frame)
        if isinstance(item, exp.QueryTransform) and (schema := item.args.get("schema")):
            origins = NONE.union(*(self._origins(value, frame) for value in item.expressions))
            return [(column.name, origins) for column in schema.expressions]
        if isinstance(item, exp.Dot) and item.is_star and (row := row_of(item, frame)):
            self._mark(row)
            return frame.star(row.name, set()).columns
        if isinstance(item, exp.Explode | exp.Unnest | exp.Inline) and isinstance(
            item.this or item.expressions[0], exp.Struct
        ):
            struct = item.this or item.expressions[0]
            return [(name, self._origins(value, frame)) for name, value in fields_of(struct)]
        return ()

    def _named(self, function: exp.Expr, names: list[str], frame: Frame) -> NamedColumns:
        """Return the columns of a function, of which each has all of its arguments.

        Those of `stack(n, …)` have the arguments of their place in each row.
        """
        if not isinstance(function, exp.Stack):
            origins = self._origins(function, frame)
            return [(name, origins) for name in names]
        values = function.expressions
        return [
            (name, NONE.union(*(self._origins(one, frame) for one in values[place :: len(names)])))
            for place, name in enumerate(names)
        ]

    def _add(self, item: exp.Expr, frame: Frame) -> Origins:
        """Add an item of FROM to a frame; return the origins that it adds to the rows."""
        if not isinstance(item, exp.Join):
            name, relation = self._source(item, frame)
            if relation is None:  # joins in parentheses, whose tables are visible
                rows = self._add(item.this, frame)
            else:
                frame.sources[name] = relation
                rows = relation.rows
            joins = item.args.get("joins") if isinstance(item, exp.Table | exp.Subquery) else None
            return rows.union(*(self._add(join, frame) for join in joins or ()))
        before = dict(frame.sources)
        rows = self._join(item, frame, before)
        if item.kind in ("SEMI", "ANTI") or item.side in ("SEMI", "ANTI"):  # only selects rows
            for name in frame.sources.keys() - before.keys():
                del frame.sources[name]
        return rows

    def _join(self, item: exp.Join, frame: Frame, before: Mapping[str, Relation]) -> Origins:
        """Add the right side of a JOIN; return the origins of its rows and conditions.

        `before` are the sources on the left. The columns of USING and NATURAL are merged into
        `frame.shared`: from the right side for RIGHT, both for FULL, and else the left side.
        """
        rows = self._add(item.this, frame)
        after = [relation for name, relation in frame.sources.items() if name not in before]
        for name in names_of_using(item, before.values(), after):
            left = frame.shared.get(name) or combined(name, before.values())
            right = combined(name, after)
            self._mark(*item.args.get("using") or ())
            sides = {"RIGHT": right, "FULL": left | right}
            frame.shared[name] = sides.get(item.side, left)
            rows |= self._use(under(JOIN, left | right))
        if item.method == "NATURAL" and not all(
            source.is_whole for source in frame.sources.values()
        ):
            self.has_unknown_uses = True
        conditions = (item.args.get("on"), item.args.get("match_condition"))
        return rows.union(*(self._origins(on, frame, JOIN) for on in conditions if on))

    def _source(self, item: exp.Expr, frame: Frame) -> tuple[str, Relation | None]:
        """Return the alias and the relation of an item of FROM."""
        if isinstance(item, exp.Final | exp.Stream):  # of ClickHouse and Databricks
            item = item.this
        name, names = item.alias_or_name, item.alias_column_names
        if isinstance(item, exp.Table) and isinstance(item.this, exp.Identifier):
            cte = None if item.db else frame.ctes.get(item.name)
            relation = self._renamed(cte or self._table(item), names)
        elif isinstance(item, exp.Subquery):
            if isinstance(item.this, exp.Table | exp.Subquery) and not item.alias:
                return name, None
            relation = self._derived(item, frame)
        elif isinstance(item, exp.Lateral) and isinstance(item.this, exp.Subquery):
            relation = self._renamed(self.query(item.this, frame.ctes, frame), names)
        elif isinstance(item, exp.Values):
            relation = self.query(item, frame.ctes, frame.outer)
        else:
            return self._function(item, frame)
        for pivot in item.args.get("pivots") or ():
            relation = self._pivoted(pivot, relation, frame).renamed(pivot.alias_column_names)
            name = pivot.alias or name
        return name, relation

    def _function(self, item: exp.Expr, frame: Frame) -> tuple[str, Relation]:
        """Return the alias and the relation of a function, or of an array of a column before it.

        Without names, its columns are unknown; its alias is also a name of the value of a row.
        """
        name, names = item.alias_or_name, item.alias_column_names
        origins = self._origins(item, frame)
        if offset := item.args.get("offset"):
            names += [offset.name] if isinstance(offset, exp.Identifier) else []
        if names_a_table(item):  # or a file
            self.has_unknown_columns = self.has_unknown_uses = True
        function = item.this if isinstance(item, exp.Lateral) else item
        # each name that is not among the columns may be one with the origins of all arguments
        columns = tuple(self._named(function, names, frame))
        relation = Relation(columns, NONE, bool(names), lambda _: origins, row=origins)
        return name or (names[0] if names else ""), relation

    def _derived(self, item: exp.Subquery, frame: Frame) -> Relation:
        """Return the relation of a subquery in FROM, or of joins in parentheses with an alias."""
        if not isinstance(item.this, exp.Table):
            is_lateral = self._dialect == "duckdb"  # without the keyword LATERAL
            return self.query(item, frame.ctes, frame if is_lateral else frame.outer)
        inner = Frame(frame.outer, frame.ctes)
        rows = self._add(item.this, inner)
        return self._renamed(replace(inner.star("", set()), rows=rows), item.alias_column_names)

    def _renamed(self, relation: Relation, names: list[str]) -> Relation:
        """Return a relation with other names, which need every column in its place."""
        if names:
            self._use_whole(relation)
        return relation.renamed(names)

    def _pivoted(self, pivot: exp.Pivot, relation: Relation, frame: Frame) -> Relation:
        """Return a relation after PIVOT or UNPIVOT.

        The columns that PIVOT does not name group the rows, so unknown ones are used too.
        """
        inner = Frame(frame.outer, frame.ctes, {"": relation})
        self._mark(*pivot.find_all(exp.Column))
        self.has_unknown_uses |= not (pivot.unpivot or relation.is_whole)
        return pivoted(pivot, relation, lambda item, kind: self._origins(item, inner, kind))

    def _group(self, node: exp.Select, frame: Frame, columns: NamedColumns) -> Origins:
        """Return the origins of GROUP BY and DISTINCT ON.

        GROUP BY ALL groups by the items of SELECT without an aggregate.
        """
        items: list[exp.Expr] = []
        if group := node.args.get("group"):
            items += flat(group)
            if group.args.get("all"):
                items += [item for item in node.expressions if not item.find(exp.AggFunc)]
        if distinct := node.args.get("distinct"):
            items += flat(distinct.args.get("on"))
        return NONE.union(*(self._item(item, frame, columns, GROUP_BY) for item in items))

    def _order(self, node: exp.Expr, frame: Frame, columns: NamedColumns) -> Origins:
        """Return the origins of ORDER BY, whose names refer first to `columns` of the result."""
        rows = NONE
        order = node.args.get("order")
        for key in (item.this for item in order.expressions) if order else ():
            is_name = isinstance(key, exp.Column) and not key.table
            is_all = isinstance(key, exp.Var) and key.name.upper() == "ALL"
            matching = [
                origins for name, origins in columns if is_all or (is_name and name == key.name)
            ]
            if matching:
                self._mark(key)
            rows |= (
                under(SORT, NONE.union(*matching))
                if matching
                else self._item(key, frame, columns, SORT)
            )
        return rows

    def _item(self, item: exp.Expr, frame: Frame, columns: NamedColumns, kind: Kind) -> Origins:
        """Return the origins of an item of GROUP BY or ORDER BY; a number is a column's place."""
        if not item.is_int:
            return self._origins(item, frame, kind)
        place = int(item.name) - 1
        return under(kind, columns[place][1]) if 0 <= place < len(columns) else NONE


_STEPS_OF_A_QUERY = 10
