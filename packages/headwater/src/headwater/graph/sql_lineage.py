"""Lineage that the SQL text of a run states, for producers that report less than the text.

openlineage-sql, which dbt and Airflow use, reports no filters, joins or groupings, takes names of
common table expressions for tables, loses the sources of a CREATE TABLE AS with one, and invents
column names. The text has all of it. Producers that read the plan of the query, such as Spark's
listener, report more than the text. Their text is read only for statements that the listener is
known to report wrongly or without some tables, and only if the inputs and outputs of the run
include all tables of the text.

Names of a text are matched without case, as unquoted SQL names are. A text with two known tables
or columns that differ in case only is not read.

A *target* is a table that the text writes. A `Table` is a name in the text, an `Origin` a column of
a table with the kind of its use. A *link* connects a source column with a column of the target; the
target EVERY_ROW stands for all rows (filters and joins).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import cached_property
from typing import TYPE_CHECKING

from headwater.events import (
    EVERY_ROW,
    ONLY_IN_TEXT,
    ColumnLineage,
    ColumnLink,
    Legacy,
    Transformation,
)
from headwater.events.facets import Schema, Sql
from headwater.graph.lifecycle import changes_of
from headwater.identity import DatasetName, canonical_name
from headwater.projection import Run, RunState, State, outcome
from headwater.projection.derived import records_of
from headwater.sql.facet import misread_text_of, plan_text_of, text_of
from headwater.sql.names import parts_of
from headwater.sql.text import SqlText, input_of_table
from headwater.stated_schemas import stated_columns

if TYPE_CHECKING:
    from headwater.sql.reader import Origin, Origins, Script, Table

_INVENTED = re.compile(r"_\d+")
"""Names that openlineage-sql gives to columns without one."""


class SqlLineage:
    """The sources and the columns of each dataset that a text writes."""

    def __init__(self, script: Script, names: TextNames) -> None:
        self._script, self._names = script, names
        written = [(names.dataset(table), own) for table, own in script.written]
        self.sources: Mapping[DatasetName, frozenset[DatasetName]] = {
            name: frozenset(map(names.dataset, own.sources)) for name, own in written
        }
        self.whole = frozenset(name for name, own in written if own.has_all_columns)
        """The targets of which all columns are known."""
        self.certain = frozenset(name for name, own in written if not own.has_unknown_columns)
        """The targets for which all used columns and their tables are known."""
        self.unplaced = {name: own.unplaced for name, own in written}
        """For each target, the names of query columns that go into unknown columns of it.

        openlineage-sql takes them for columns of the target, so reported ones do not count."""
        self.passed = frozenset(map(names.dataset, script.passed))
        """The datasets that the text reads after it wrote them."""
        self.replaced = frozenset(map(names.dataset, script.replaced))
        """Those of them that it does not read before."""
        self.is_complete = script.is_complete
        """True if every column that the text uses is known."""

    @cached_property
    def fields(self) -> Mapping[DatasetName, Sequence[tuple[str, Origins]]]:
        """Return the columns of each target, with their origins.

        They are spelled as in the schema of the target, or else as in the text.
        """
        own_field, spellings = self._names.own_field, self._script.spellings
        return {
            self._names.dataset(table): [
                (own_field(table, name, origins, spellings), origins)
                for name, origins in written.columns
            ]
            for table, written in self._script.written
        }

    @cached_property
    def columns(self) -> Mapping[DatasetName, ColumnLineage]:
        """Return the column lineage of each target, without columns that its tables lack."""
        found: dict[DatasetName, ColumnLineage] = {}
        for table, written in self._script.written:
            fields = self.fields[target := self._names.dataset(table)]
            links = tuple(
                self._names.link(field, origin)
                for field, origins in (*fields, (EVERY_ROW, written.rows))
                for origin in sorted(origins)
                if self._names.has(table, field) and self._names.has(origin.table, origin.column)
            )
            found[target] = ColumnLineage({field: Legacy() for field, _ in fields}, links)
        return found

    @cached_property
    def used(self) -> Set[tuple[DatasetName, str]]:
        """Return the columns that the text names, in lower case, even if no target needs them."""
        return {(self._names.dataset(table), name.lower()) for table, name in self._script.used}

    def combined(self, state: State, target: DatasetName, reported: ColumnLineage) -> ColumnLineage:
        """Return the column lineage of a target: the text's, and reported columns it lacks.

        `reported` is the columnLineage facet. It adds nothing if the text has all columns with all
        uses. Of a target that is not `certain`, reported links of a column count unless the text
        has some. Invented names such as `_12` never count.
        """
        if target not in self.columns:
            return reported
        reported = reported.without(self.unplaced[target])
        own = _verified(state, self.columns[target], reported)
        if target in self.whole & self.certain:
            return own
        lacking = {
            name: kind
            for name, kind in reported.columns.items()
            if name not in own.columns and not _INVENTED.fullmatch(name)
        }
        read = {link.target for link in own.links} if target not in self.certain else own.columns
        links = (
            link
            for link in reported.links
            if link.target not in read and not _INVENTED.fullmatch(link.target)
        )
        return ColumnLineage({**lacking, **own.columns}, (*links, *own.links))


def _verified(state: State, own: ColumnLineage, reported: ColumnLineage) -> ColumnLineage:
    """Return the column lineage of a text, whose links are verified if they were reported too.

    Both must have the same source and target columns, without case, and be direct or indirect.
    """

    def key(link: ColumnLink) -> tuple[str, DatasetName, str, bool]:
        source = state.identity.primary(canonical_name(link.namespace, link.name))
        return link.target.lower(), source, link.field.lower(), link.is_direct

    known = {key(link) for link in reported.links}
    links = (
        link._replace(evidence="verified") if key(link) in known else link for link in own.links
    )
    return own._replace(links=tuple(links)) if known else own


def text_of_run(state: State, run: Run) -> SqlText | None:
    """Return the SQL text from which the lineage of a run is read; None if there is none.

    Explicit lineage precedes the text, and so does a producer that reports filters and joins
    itself. Names in the text are completed by the namespace and schema of the run's first output,
    or else of its first input. In a text of Spark, they are those that the catalog gives them.
    """
    facet, reported = run.code.get(Sql.KEY), {*run.outputs, *run.inputs}
    if not facet or run.lineage or not reported:
        return None
    dialect = run.code.parsed(Sql).dialect
    if (text := _text_for_plan(run)) is not None:
        # a query alone has no targets: the job may have changed its result before it was written
        targets, others = _in_catalog(state, run.outputs), _in_catalog(state, run.inputs)
        return SqlText.of(text, dialect, min(targets), targets | others) if targets else None
    text = text_of(facet)
    if text is None or any(use.dataset_facets.reports_indirect() for use in run.outputs.values()):
        return None
    first = min(run.outputs or run.inputs)
    return SqlText.of(text, dialect, first, reported, is_only_target=len(run.outputs) == 1)


def _text_for_plan(run: Run) -> str | None:
    """Return the SQL text if Spark's listener misreads its columns or omits some of its tables."""
    facet = run.code.get(Sql.KEY)
    omits = any(use.io_facets.get(ONLY_IN_TEXT) for use in run.inputs.values())
    return plan_text_of(facet) if omits else misread_text_of(facet)


def _in_catalog(state: State, names: Iterable[DatasetName]) -> set[DatasetName]:
    """Return the names of datasets as tables, without locations, which a text does not contain."""
    aliases = {alias for name in names for alias in state.identity.names(name)}
    return {alias for alias in aliases if "/" not in alias.name}


def sql_lineage(state: State, run: Run) -> SqlLineage | None:
    """Return the lineage that the SQL text of a run states.

    Return None if it has no text, if the text cannot be read, or if its producer reports indirect
    columns. Spark's plan has more than the text, so a text of Spark only counts if it has all
    columns of all targets, and the run reports all of its tables.
    """
    text = text_of_run(state, run)
    if text is None:
        return None
    names = TextNames(state, run, text)
    script = text.read(names.columns, names.stated)
    if isinstance(script, str):
        return None
    found = SqlLineage(script, names)
    if _text_for_plan(run) and not (
        found.sources.keys() <= found.whole & found.certain
        and names.are_reported(found.sources, run)
    ):
        return None  # what the listener reports is more reliable
    return found


class TextNames:
    """Names of the tables and columns that a run uses, as SQL and as datasets.

    `columns` has the known columns of the tables: (parts of the name, columns). The reader of the
    text needs them to expand `*` and to find the table of an unqualified column.
    """

    def __init__(self, state: State, run: Run, text: SqlText) -> None:
        self._state, self._run = state, run
        self._primary = state.identity.primary
        self._has_failed = outcome(state, run).state is RunState.FAILED
        self._namespace = text.namespace
        self._tables = text.tables()
        self._datasets: dict[Table, DatasetName] = {}
        self._fields: dict[DatasetName, dict[str, str]] = {}
        self.columns = tuple(
            (parts_of(name.name), tuple(fields))
            for name in (DatasetName(self._namespace, other) for other in sorted(text.others))
            if (fields := self._fields_of(self._primary(name)))
            and self._has_whole_schema(run, name)
        )
        """The columns of each table whose whole schema is known, so that `*` can be expanded."""
        self._stated = stated_columns(state, run, text, self._fields_of, text_of_run, changes_of)
        self.stated = tuple((parts_of(name), tuple(own)) for name, own in self._stated.items())
        """Columns of other tables, which only the texts of earlier runs state."""

    def are_reported(self, sources: Mapping[DatasetName, Set[DatasetName]], run: Run) -> bool:
        """Return True if a run reported all datasets of its text."""
        outputs, inputs = (set(map(self._primary, names)) for names in (run.outputs, run.inputs))
        read = set[DatasetName]().union(*sources.values())
        return bool(sources) and sources.keys() <= outputs and read <= inputs | outputs

    def dataset(self, table: Table) -> DatasetName:
        """Return the primary name of the dataset that a table of the text is.

        An input that the run reports for this table is preferred to the name in the text.
        """
        if (found := self._datasets.get(table)) is None:
            found = DatasetName(self._namespace, self._tables.name(table))
            reported = input_of_table(*found, self._run.inputs, self._run.outputs)
            self._datasets[table] = found = self._primary(DatasetName(*(reported or found)))
        return found

    def field(self, table: Table, name: str) -> str:
        """Return a column as the schema of its table spells it.

        Without a schema, a lower-case name is in upper case where the database stores names so.
        """
        dataset = self.dataset(table)
        fields = self._fields_of(dataset) or self._stated.get(dataset.name, {})
        folded = name.upper() if self._tables.is_upper and name.islower() else name
        return fields.get(name.lower(), folded)

    def has(self, table: Table, name: str) -> bool:
        """Return False for a column of a failed run that the whole schema of its table lacks.

        The text of a failed run may name a column by mistake.
        """
        dataset = self.dataset(table)
        fields = self._fields_of(dataset) if self._has_failed else {}
        is_known = not fields or name == EVERY_ROW or name.lower() in fields
        return is_known or not self._has_whole_schema(self._run, dataset)

    def own_field(
        self, table: Table, name: str, origins: Iterable[Origin], spellings: Mapping[str, str]
    ) -> str:
        """Return a column of a target as its schema, the text or the source of `*` spells it.

        `name` is as the reader of the text returns it, often in lower case; `origins` are the
        columns that it comes from; `spellings` has the names as written in the text.
        """
        known = self._fields_of(self.dataset(table)).get(name.lower())
        if known or name in spellings or name != name.lower():
            return known or spellings.get(name, name)
        same = (origin for origin in sorted(origins) if origin.column.lower() == name)
        return next((self.field(origin.table, name) for origin in same), self.field(table, name))

    def link(self, field: str, origin: Origin) -> ColumnLink:
        """Return the link from an origin to a field of a target."""
        type_, subtype, masking = origin.kind
        if field == EVERY_ROW and type_ == "DIRECT":  # into a column without a known name
            type_, subtype = "INDIRECT", "TRANSFORMATION"
        kind = Transformation(type_, subtype, None, masking)
        source = self.field(origin.table, origin.column)
        return ColumnLink(field, *self.dataset(origin.table), source, (kind,), masking, "sql")

    def _has_whole_schema(self, run: Run, name: DatasetName) -> bool:
        """Return False for schemas of dbt, which have only the columns of its YAML files."""
        records = records_of(self._state, self._primary(name))
        is_of_dbt = any(record.facets.get("dbt_model") for record in records)
        return not (is_of_dbt or run.facets.get("dbt_version") or run.facets.get("dbt_run"))

    def _fields_of(self, name: DatasetName) -> dict[str, str]:
        """Return the columns of a dataset by lower-case name; none if two differ in case only."""
        if name not in self._fields:
            records = records_of(self._state, name)
            names = [field for record in records for field in record.facets.parsed(Schema).fields]
            found = {field.lower(): field for field in names}
            self._fields[name] = found if len(found) == len(set(names)) else {}
        return self._fields[name]
