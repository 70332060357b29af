"""Lineage that the SQL text of a run states, for producers that report less than the text.

openlineage-sql, which dbt and Airflow use, reports no filters, joins or groupings, takes names of
common table expressions for tables, loses the sources of a CREATE TABLE AS with one, and invents
column names. The text has all of it. Producers that read the plan of the query, such as Spark's
listener, report more than the text, so that theirs is not read.

Names of a text are matched without case, as unquoted SQL names are. A text with two known tables
or columns that differ in case only is not read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.util import find_spec
from typing import NamedTuple

from throughline.events import (
    EVERY_ROW,
    ColumnLineage,
    ColumnLink,
    Legacy,
    Transformation,
)
from throughline.events.facets import Schema, Sql
from throughline.identity import DatasetName
from throughline.projection import Run, State
from throughline.projection.derived import records_of

_INVENTED = re.compile(r"_\d+")
"""Names that openlineage-sql gives to columns without one."""

_Parts = tuple[str, str, str]
"""Database, schema and table, in lower case; unknown parts are empty."""


class SqlLineage(NamedTuple):
    """The sources and the columns of each dataset that a text writes."""

    sources: Mapping[DatasetName, frozenset[DatasetName]]
    columns: Mapping[DatasetName, ColumnLineage]
    whole: frozenset[DatasetName]
    """The targets of which all columns are known."""

    def combined(self, target: DatasetName, reported: ColumnLineage) -> ColumnLineage:
        """Return the column lineage of a target: the text's, and reported columns it lacks."""
        if target not in self.columns:
            return reported
        own = self.columns[target]
        if target in self.whole:
            return own
        lacking = {
            name: kind
            for name, kind in reported.columns.items()
            if name not in own.columns and not _INVENTED.fullmatch(name)
        }
        links = (link for link in reported.links if link.target in lacking)
        return ColumnLineage({**lacking, **own.columns}, (*links, *own.links))


def sql_lineage(state: State, run: Run) -> SqlLineage | None:
    """Return the lineage that the SQL text of a run states.

    None if it has no text, if the text cannot be read, or if its producer reports indirect columns.
    """
    text = run.code.parsed(Sql).query
    if not text or run.lineage or not run.outputs or find_spec("sqlglot") is None:
        return None
    if any(use.dataset_facets.reports_indirect() for use in run.outputs.values()):
        return None
    names = _Names(state, run)
    from throughline.sql.dialects import dialect_of
    from throughline.sql.script import read_script

    dialect = dialect_of(run.code.parsed(Sql).dialect, names.namespace)
    if dialect is None or names.is_ambiguous:
        return None
    only = names.outputs[0] if len(names.outputs) == 1 else None
    script = read_script(text, dialect, *names.defaults, only, names.columns)
    if script is None:
        return None
    sources: dict[DatasetName, frozenset[DatasetName]] = {}
    columns: dict[DatasetName, ColumnLineage] = {}
    whole: set[DatasetName] = set()
    for table, written in script.written:
        target = names.dataset(table)
        sources[target] = frozenset(map(names.dataset, written.sources)) - {target}
        links = [
            names.link(field, origin)
            for field, origins in (*written.columns, (EVERY_ROW, written.rows))
            for origin in sorted(origins)
        ]
        described = {names.field(table, name): Legacy() for name, _ in written.columns}
        fields = [link._replace(target=names.field(table, link.target)) for link in links]
        columns[target] = ColumnLineage(described, tuple(fields))
        if written.has_all_columns:
            whole.add(target)
    return SqlLineage(sources, columns, frozenset(whole))


class _Names:
    """Names of the tables and columns that a run uses, as SQL and as datasets."""

    def __init__(self, state: State, run: Run) -> None:
        self._state = state
        primary = state.identity.primary
        used = dict.fromkeys((*run.outputs, *run.inputs))
        own = {name: _parts(name) for name in used}
        self.outputs = [own[name] for name in run.outputs]
        first = next(iter(sorted(run.outputs)))
        self.namespace = first.namespace
        self._prefixes = first.name.split(".")[:-1]
        known = {parts: name for name, parts in own.items() if name.namespace == self.namespace}
        self.is_ambiguous = len(known) < sum(name.namespace == self.namespace for name in own)
        self._datasets = {parts: primary(name) for parts, name in known.items()}
        self._fields: dict[_Parts, dict[str, str]] = {}
        for parts, name in known.items():
            self._fields[parts] = self._fields_of(primary(name))
        self.defaults = own[first][:2]
        self.columns = tuple(
            (parts, tuple(fields)) for parts, fields in sorted(self._fields.items()) if fields
        )

    def dataset(self, table: _Parts) -> DatasetName:
        """Return the dataset of a table; one that the run did not report is named like others."""
        lower: _Parts = tuple(part.lower() for part in table)  # type: ignore[assignment]
        if lower not in self._datasets:
            count = len(self._prefixes) + 1
            parts = [part for part in table if part][-count:]
            parts = [*self._prefixes[: count - len(parts)], *parts]
            name = DatasetName(self.namespace, ".".join(parts))
            self._datasets[lower] = self._state.identity.primary(self._spelled(name))
        return self._datasets[lower]

    def field(self, table: _Parts, name: str) -> str:
        """Return a column as the schema of its table spells it."""
        lower: _Parts = tuple(part.lower() for part in table)  # type: ignore[assignment]
        if lower not in self._fields:
            self._fields[lower] = self._fields_of(self.dataset(table))
        return self._fields[lower].get(name.lower(), name)

    def link(self, field: str, origin: tuple[_Parts, str, tuple[str, str, bool]]) -> ColumnLink:
        """Return the link from an origin to a field of a target."""
        table, column, (type_, subtype, masking) = origin
        namespace, name = self.dataset(table)
        if field == EVERY_ROW and type_ == "DIRECT":  # into a column without a known name
            type_, subtype = "INDIRECT", "TRANSFORMATION"
        kind = Transformation(type_, subtype, None, masking)
        return ColumnLink(field, namespace, name, self.field(table, column), (kind,), masking)

    def _spelled(self, name: DatasetName) -> DatasetName:
        """Return a name of the store that is equal but for its case, if there is no equal one."""
        if name in self._state.datasets:
            return name
        variants = (name.name.upper(), name.name.lower())
        found = (DatasetName(name.namespace, variant) for variant in variants)
        return next((variant for variant in found if variant in self._state.datasets), name)

    def _fields_of(self, name: DatasetName) -> dict[str, str]:
        """Return the columns of a dataset by lower-case name; none if two differ in case only."""
        records = records_of(self._state, name)
        names = [field for record in records for field in record.facets.parsed(Schema).fields]
        found = {field.lower(): field for field in names}
        return found if len(found) == len(set(names)) else {}


def _parts(name: DatasetName) -> _Parts:
    parts = [part.lower() for part in name.name.split(".")]
    database, schema, table = (["", "", *parts])[-3:]
    return database, schema, table
