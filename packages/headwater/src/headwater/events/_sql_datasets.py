"""Correct the datasets of an event by its SQL text.

openlineage-sql, which dbt and Airflow use, takes names of common table expressions, subqueries and
functions for tables, and loses the sources of a CREATE TABLE AS with a common table expression. The
text of the query has them. The texts of Spark, whose listener reads the plan of the query and names
tables by location, add only tables of scalar subqueries, which the listener omits.

A change of a table is a DROP, TRUNCATE, CREATE or rename of it as a whole, see
headwater.sql.changes. A *local* name is one that only the text defines.
"""

from __future__ import annotations

import re
from dataclasses import replace

from headwater.events._event import Dataset, Facets, Json
from headwater.events.column_lineage import objects, source_datasets
from headwater.sql.changes import FROM_SQL, changes_in, table_change
from headwater.sql.facet import change_of, plan_text_of, text_of
from headwater.sql.not_tables import NotTables, last, not_tables, other_names
from headwater.sql.omitted import omitted_tables
from headwater.sql.text import SqlText, dialect_of, input_of_table

ONLY_IN_TEXT = "headwater_sql"
"""Facet that marks an input as named only by the SQL text."""
_MARK: Facets = {ONLY_IN_TEXT: {"isReported": False}}
_Datasets = tuple[Dataset, ...]


def with_sql_datasets(
    job_facets: Facets, inputs: _Datasets, outputs: _Datasets
) -> tuple[_Datasets, _Datasets]:
    """Return the inputs and outputs of an event, corrected by its SQL text if it can be read.

    This runs for each event of a run or a job, so it first looks for words in the text. An input
    that only the text names gets the facet ONLY_IN_TEXT. For Spark (`text_of` returns no text),
    tables are only added to a write; changes of tables only to an event without inputs.
    """
    facet, listed = job_facets.get("sql", {}), (*outputs, *inputs)
    text = text_of(facet)
    if text is None or not listed:
        added = _omitted(facet, listed) if outputs else []
        return (*inputs, *added), outputs if inputs else _with_table_change(facet, outputs)
    outputs = _with_changes(text, inputs, outputs)
    reported = value if isinstance(value := facet.get("dialect"), str) else None
    dialect = dialect_of(reported, listed[0].namespace)
    if dialect is None:
        return inputs, outputs
    named = {item.name for item in inputs}
    facets = [item.facets.get("columnLineage", {}) for item in outputs]
    unlisted = {name for facet in facets for _, name in source_datasets(facet)} - named
    non_tables = not_tables(text, dialect, named, unlisted)
    if any(non_tables):
        inputs = tuple(item for item in inputs if not _is_local(item, non_tables))
        outputs = tuple(item for item in outputs if last(item.name) not in non_tables.temporary)
        outputs = tuple(_without_sources(item, non_tables) for item in outputs)
    is_dbt = "dbt_node" in job_facets
    return _with_tables_of(text, reported, inputs, outputs, is_dbt=is_dbt), outputs


def _with_changes(text: str, inputs: _Datasets, outputs: _Datasets) -> _Datasets:
    """Return outputs with the lifecycleStateChange that the text states; reported ones stay.

    A table that the text only gives another name is no output.

    Only outputs without facets get one: a producer with facets reads the statement itself.
    """
    if (change := table_change(text)) and change.kind == "RENAME":
        names = [parts[-1].lower() for parts in change.tables]
        gone = {*names[::2]} - {*names[1::2]}
        outputs = tuple(item for item in outputs if last(item.name) not in gone)
    own = {"lifecycleStateChange", "columnLineage"}
    bare = {i.name: i.namespace for i in outputs if not (i.io_facets or i.facets.keys() & own)}
    found = changes_in(text, bare, [item.name for item in inputs])
    return tuple(replace(i, facets={**i.facets, **found.get(i.name, {})}) for i in outputs)


def _with_table_change(facet: Json, outputs: _Datasets) -> _Datasets:
    """Add the DROP or TRUNCATE that the SQL text of a Spark plan states, as a facet of outputs.

    `facet` is the facet with the plan. An output counts if the text names its table, by the last
    part; a change that it reports itself stays. Renames have two tables and are recorded elsewhere.
    """
    change = change_of(facet) if outputs else None
    if change is None or change.kind == "RENAME":
        return outputs
    names = {parts[-1].lower() for parts in change.tables}
    stated = {"lifecycleStateChange": change.kind, FROM_SQL: True}
    return tuple(
        replace(item, facets={**item.facets, "lifecycleStateChange": stated})
        if "lifecycleStateChange" not in item.facets and not names.isdisjoint(_tables(item))
        else item
        for item in outputs
    )


def _tables(item: Dataset) -> set[str]:
    """Return the last parts of the names and symlinks of a dataset, in lower case."""
    symlinks = objects(item.facets.get("symlinks", {}).get("identifiers"))
    names = (item.name, *(str(symlink.get("name")) for symlink in symlinks))
    return {re.split(r"[./]", name.lower())[-1] for name in names}


def _omitted(facet: Json, listed: _Datasets) -> list[Dataset]:
    """Return the tables that a Spark statement names and Spark's listener omits."""
    if (text := plan_text_of(facet)) is None:
        return []
    names = [(item.namespace, item.name) for item in listed]
    for item in listed:
        symlinks = objects(item.facets.get("symlinks", {}).get("identifiers"))
        names += [(str(other.get("namespace")), str(other.get("name"))) for other in symlinks]
    return [Dataset(*name, io_facets=_MARK) for name in omitted_tables(text, names)]


def _with_tables_of(
    text: str, dialect: str | None, inputs: _Datasets, outputs: _Datasets, *, is_dbt: bool
) -> _Datasets:
    """Return inputs with the tables that the text reads, in place of dbt's other names of them.

    `dialect` is the reported one. The text is also read if no input is listed, because the producer
    may have lost all of them. Unreadable texts, and events without outputs, change nothing. dbt
    lists a source by its name in the project, whose table may be called differently.
    """
    if not outputs:
        return inputs
    first = min((item.namespace, item.name) for item in outputs)
    names = ((item.namespace, item.name) for item in (*outputs, *inputs))
    sql = SqlText.of(text, dialect, first, names, is_only_target=len(outputs) == 1)
    script = sql.read()
    if isinstance(script, str):
        return inputs
    tables = {table for _, written in script.written for table in written.sources}
    read = set(map(sql.tables().name, tables))
    listed = {name for name in read if input_of_table(sql.namespace, name, inputs, outputs)}
    added = [Dataset(sql.namespace, name, io_facets=_MARK) for name in sorted(read - listed)]
    unread = {i.name: "dbt_model" in i.facets for i in inputs if is_dbt and i.name not in read}
    others = other_names(unread, read - listed - {item.name for item in outputs})
    return (*(item for item in inputs if item.name not in others), *added)


def _is_local(item: Dataset, non_tables: NotTables) -> bool:
    """Return True for a local name, also for an ephemeral model of dbt, which is a local query."""
    config = item.facets.get("dbt_model", {}).get("config")
    is_ephemeral = isinstance(config, dict) and config.get("materialized") == "ephemeral"
    return item.name in non_tables.names or (is_ephemeral and non_tables.has_ephemeral)


def _without_sources(item: Dataset, non_tables: NotTables) -> Dataset:
    """Return an output whose column lineage lacks the sources that are no tables."""
    facet = item.facets.get("columnLineage")
    kept = {"columnLineage": non_tables.without(facet)} if facet else {}
    return replace(item, facets={**item.facets, **kept})
