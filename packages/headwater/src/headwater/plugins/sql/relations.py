"""Relations that a query reads or returns, and the names that are visible within a SELECT.

Names are compared exactly, so identifiers must be spelled as in the catalog.

Origins are the columns of tables on which a column, or the choice of rows, depends. `rows` of a
relation are the origins of that choice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from sqlglot import exp

from headwater.sql.reader import Kind, Origin, Origins

NONE: Origins = frozenset()
NamedColumns = Sequence[tuple[str, Origins]]


def under(kind: Kind, origins: Iterable[Origin]) -> Origins:
    """Return origins as seen through one more transformation."""
    return frozenset(origin._replace(kind=kind.over(origin.kind)) for origin in origins)


@dataclass(frozen=True)
class Relation:
    """Columns of a table or a query, and the origins that determine which rows it has."""

    columns: tuple[tuple[str, Origins], ...] = ()
    rows: Origins = NONE
    is_whole: bool = True
    """True if `columns` has all columns in their order."""
    other: Callable[[str], Origins] | None = None
    """Returns the origins of a column that is not in `columns`."""
    row: Origins = NONE
    """Origins of the value of a row, if the relation is a function."""
    fields: Mapping[str, Mapping[str, Origins]] = field(default_factory=dict)
    """The fields of columns that are known structures, by column and field."""

    @cached_property
    def by_name(self) -> dict[str, Origins]:
        """Origins by column name; columns of one name are combined."""
        found: dict[str, Origins] = {}
        for name, origins in self.columns:
            found[name] = found.get(name, NONE) | origins
        return found

    def column(self, name: str) -> Origins:
        """Return the origins of a column; none if it is unknown.

        A name that is not in `columns` may be that of any column without a known name.
        """
        if name in self.by_name:
            return self.by_name[name]
        return self.other(name) if self.other else self.by_name.get("", NONE)

    def field(self, column: str, name: str) -> Origins:
        """Return the origins of a field of a column; those of the column if it is unknown."""
        found = self.fields.get(column, {}).get(name)
        return self.column(column) if found is None else found

    def may_have(self, name: str) -> bool:
        """Return True if a column can be resolved, perhaps as one without a known name."""
        return self.other is not None or name in self.by_name or "" in self.by_name

    def renamed(self, names: list[str]) -> Relation:
        """Return this relation with other names of its first columns."""
        if not names:
            return self
        named = zip(names, (origins for _, origins in self.columns), strict=False)
        return replace(self, columns=(*named, *self.columns[len(names) :]), fields={})


class Resolved(NamedTuple):
    """The origins of a name."""

    origins: Origins
    is_certain: bool = True
    """False if the name may be another column, of a source whose columns are unknown."""


@dataclass
class Frame:
    """Names that are visible within one SELECT.

    `outer` is the frame around a subquery, and `ctes` has the relations of WITH by name. `sources`
    are the tables and subqueries of FROM, by alias; `aliases` the columns that earlier items of
    SELECT name; and `windows` the windows by name.
    """

    outer: Frame | None
    ctes: Mapping[str, Relation]
    sources: dict[str, Relation] = field(default_factory=dict)
    shared: dict[str, Origins] = field(default_factory=dict)
    """Columns that JOIN … USING merges from both sides."""
    aliases: dict[str, Origins] = field(default_factory=dict)
    windows: dict[str, exp.Expr] = field(default_factory=dict)

    def column(self, column: exp.Column) -> Resolved | None:
        """Return the origins of a column, which may be one of an outer query.

        None if it is unknown to which source the column belongs.

        The inner query is searched first. Without a known source, the only source with unknown
        columns is assumed to have the column; then the result is not certain.
        """
        name = column.name
        if column.table:
            if relation := self._source(column.table):
                return Resolved(relation.column(name)) if relation.may_have(name) else None
            first, *rest = (part.name for part in column.parts)
            if (relation := self._source(first)) and len(rest) > 1:
                return Resolved(relation.field(rest[0], rest[1]))
            if (own := self.fields(exp.column(first)).get(rest[0])) is not None:
                return Resolved(own)
            name = first  # a field of a column
        is_certain = True  # no inner source with unknown columns may have the column
        for frame in self._outwards():
            if (found := frame._visible(name)) is not None:
                # A column of an unknown source may hide an alias of SELECT.
                is_alias = name in frame.aliases and not frame._has_column(name)
                return Resolved(found, is_certain and not (is_alias and frame._has_unknown()))
            is_certain &= not frame._has_unknown()
        for frame in self._outwards():
            if (found := frame._possible(name)) is not None:
                return Resolved(found, name not in frame.sources)
        if row := self._row(name):
            return row
        return None if column.table else self._only_table(name)

    def fields(self, column: exp.Column) -> Mapping[str, Origins]:
        """Return the fields of a column of this query; none unless its structure is known."""
        sources = [self._source(column.table)] if column.table else [*self.sources.values()]
        having = [source for source in sources if source and source.may_have(column.name)]
        return having[0].fields.get(column.name, {}) if len(having) == 1 else {}

    def _source(self, name: str) -> Relation | None:
        found = (frame.sources[name] for frame in self._outwards() if name in frame.sources)
        return next(found, None)

    def whole(self, table: str) -> Resolved:
        """Return the origins of all columns of one source or, without a name, of all."""
        for frame in self._outwards():
            if not table or table in frame.sources:
                star = frame.star(table, set())
                return Resolved(
                    NONE.union(*(origins for _, origins in star.columns)), star.is_whole
                )
        return Resolved(NONE, is_certain=False)

    def _row(self, name: str) -> Resolved | None:
        """Return the origins of a whole row, which is named like its source, as in PostgreSQL."""
        source = self._source(name)
        if source is not None and source.row:
            return Resolved(source.row)
        return self.whole(name) if source is not None else None

    def _only_table(self, name: str) -> Resolved | None:
        """Return the column of the nearest query with a single table, despite its known schema."""
        for frame in self._outwards():
            if (found := frame._undocumented(name)) is not None:
                return Resolved(found)
        return None

    def _has_column(self, name: str) -> bool:
        return name in self.shared or any(name in item.by_name for item in self.sources.values())

    def _has_unknown(self) -> bool:
        return any(not source.is_whole for source in self.sources.values())

    def _outwards(self) -> Iterator[Frame]:
        frame: Frame | None = self
        while frame:
            yield frame
            frame = frame.outer

    def _visible(self, name: str) -> Origins | None:
        """Return a column that a known schema has, or an alias of SELECT; None without one."""
        if name in self.shared:
            return self.shared[name]
        found = [source.by_name[name] for source in self.sources.values() if name in source.by_name]
        return NONE.union(*found) if found else self.aliases.get(name)

    def _possible(self, name: str) -> Origins | None:
        """Return the column of the only source whose columns are unknown, if there is one."""
        found = [source for source in self.sources.values() if source.other and not source.is_whole]
        return found[0].column(name) if len(found) == 1 else None

    def _undocumented(self, name: str) -> Origins | None:
        """Return the column of the only table, even if the known schema lacks the column."""
        found = [source for source in self.sources.values() if source.other]
        return found[0].column(name) if len(found) == 1 == len(self.sources) else None

    def _fields_of(self, name: str) -> Relation:
        """Return the fields of a column, which are mostly unknown."""
        if known := self.fields(exp.column(name)):
            return Relation(tuple(known.items()))
        origins = self.column(exp.column(name))
        found = origins.origins if origins else NONE
        return Relation(is_whole=False, other=lambda _: found)

    def has_source(self, name: str) -> bool:
        """Return True if this query, or one around it, reads a source of a name."""
        return self._source(name) is not None

    def is_visible(self, name: str) -> bool:
        """Return True if a source of this query, or of one around it, has a column."""
        return any(frame._visible(name) is not None for frame in self._outwards())

    def star(
        self, table: str, excluded: Set[tuple[str, str]], renamed: Mapping[str, str] | None = None
    ) -> Relation:
        """Return the columns of `*` or, with a table, of `table.*`.

        `excluded` has names of columns, each with the name of its source or "" for all sources.
        `renamed` has new names by name. If `table` is no source, it is a column whose fields are
        unknown.
        """
        chosen = {name: item for name, item in self.sources.items() if table in ("", name)}
        shared = {} if table else self.shared
        columns = [pair for pair in shared.items() if ("", pair[0]) not in excluded]
        columns += [
            (column, origins)
            for name, source in chosen.items()
            for column, origins in source.columns
            if column not in shared and excluded.isdisjoint({("", column), (name, column)})
        ]
        unknown = [source for source in chosen.values() if not source.is_whole]
        if table and not chosen:  # the fields of a column
            return self._fields_of(table)
        return Relation(
            tuple(((renamed or {}).get(name, name), origins) for name, origins in columns),
            is_whole=not unknown,
            other=unknown[0].other if len(unknown) == 1 else None,
            fields={} if renamed or len(chosen) != 1 else next(iter(chosen.values())).fields,
        )


def combined(name: str, relations: Iterable[Relation]) -> Origins:
    """Return a column of the first relation that has it.

    For JOIN … USING, `relations` are the sources on one side. A source with unknown columns is
    assumed to have the column if no other one can.
    """
    relations = list(relations)
    known = [relation.by_name[name] for relation in relations if name in relation.by_name]
    if known:
        return known[0]
    possible = [relation for relation in relations if relation.other and not relation.is_whole]
    return possible[0].column(name) if len(possible) == 1 else NONE
