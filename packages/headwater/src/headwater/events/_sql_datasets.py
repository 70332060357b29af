"""Datasets of an event that only its SQL text shows to be inputs, or to be none.

openlineage-sql, which dbt and Airflow use, takes the name of a common table expression, such as
dbt's usual `source`, or of a subquery for a table where it resolves columns, takes a function in
FROM for a table, and loses the sources of a CREATE TABLE AS with a common table expression. The
text of the query has them. The texts of Spark, whose listener reads the plan of
the query and names tables by location, add only tables of scalar subqueries, which the listener
omits.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any

from headwater.events._event import Dataset, Facets, Json
from headwater.events.column_lineage import objects, source_datasets
from headwater.sql.changes import FROM_SQL, TableChange, changes_in, table_change
from headwater.sql.facet import plan_text_of, text_of
from headwater.sql.omitted import omitted_tables
from headwater.sql.reader import LocalNames
from headwater.sql.text import SqlText, dialect_of, local_names

ONLY_IN_TEXT = "headwater_sql"
"""Facet that marks an input as named only by the SQL text."""
_MARK: Facets = {ONLY_IN_TEXT: {"isReported": False}}
_Datasets = tuple[Dataset, ...]
_WITH = re.compile(r"\bwith\b|\btemp(?:orary)?\b", re.I)
_EPHEMERAL = "__dbt__cte__"  # prefix of the names that dbt gives the queries of ephemeral models


def with_sql_datasets(
    job_facets: Facets, inputs: _Datasets, outputs: _Datasets
) -> tuple[_Datasets, _Datasets]:
    """Return the inputs and outputs of an event, corrected by its SQL text if it can be read."""
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
    is_local = unlisted or _WITH.search(text) or any(_is_called(name, text) for name in named)
    local = local_names(text, dialect) if is_local else LocalNames()
    if any(local):
        inputs = tuple(item for item in inputs if not _is_local(item, local))
        outputs = tuple(item for item in outputs if _last(item.name) not in local.temporary)
        unknown = {name for name in unlisted if local.has(name) or _last(name) in local.aliases}
        unknown |= {name for name in named if local.has(name)}
        outputs = tuple(_without_sources(item, unknown) for item in outputs)
    return (*inputs, *_only_in_text(text, reported, inputs, outputs)), outputs


def _with_changes(text: str, inputs: _Datasets, outputs: _Datasets) -> _Datasets:
    """Return outputs with the lifecycleStateChange that the text states; reported ones stay.

    A table that the text only gives another name is no output.
    """
    if (change := table_change(text)) and change.kind == "RENAME":
        former, new = (parts[-1].lower() for parts in change.tables)
        outputs = tuple(i for i in outputs if former == new or _last(i.name) != former)
    own = {"lifecycleStateChange", "columnLineage"}
    bare = {i.name: i.namespace for i in outputs if not (i.io_facets or i.facets.keys() & own)}
    found = changes_in(text, bare, [item.name for item in inputs])
    return tuple(replace(i, facets={**i.facets, **found.get(i.name, {})}) for i in outputs)


def _with_table_change(facet: Json, outputs: _Datasets) -> _Datasets:
    """Add the DROP or TRUNCATE that the SQL text of a Spark plan states, as a facet of outputs."""
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
    symlinks = objects(item.facets.get("symlinks", {}).get("identifiers"))
    names = (item.name, *(str(symlink.get("name")) for symlink in symlinks))
    return {re.split(r"[./]", name.lower())[-1] for name in names}


def change_of(facet: Json) -> TableChange | None:
    """Return the change of whole tables that the text of a sql facet makes; None for others."""
    text = facet.get("query")
    return table_change(text) if isinstance(text, str) else None


def _omitted(facet: Json, listed: _Datasets) -> list[Dataset]:
    """Return the tables that a Spark statement names and Spark's listener omits."""
    if (text := plan_text_of(facet)) is None:
        return []
    names = [(item.namespace, item.name) for item in listed]
    for item in listed:
        symlinks = objects(item.facets.get("symlinks", {}).get("identifiers"))
        names += [(str(other.get("namespace")), str(other.get("name"))) for other in symlinks]
    return [Dataset(*name, io_facets=_MARK) for name in omitted_tables(text, names)]


def _only_in_text(
    text: str, dialect: str | None, inputs: _Datasets, outputs: _Datasets
) -> Iterable[Dataset]:
    """Return the tables that the text reads and the event does not list."""
    if not outputs:
        return []
    first = min((item.namespace, item.name) for item in outputs)
    names = ((item.namespace, item.name) for item in (*outputs, *inputs))
    sql = SqlText.of(text, dialect, first, names, is_only_target=len(outputs) == 1)
    script = sql.read()
    if isinstance(script, str):
        return []
    tables = {table for _, written in script.written for table in written.sources}
    found = set(map(sql.tables().name, tables)) - {item.name for item in inputs}
    return [Dataset(sql.namespace, name, io_facets=_MARK) for name in sorted(found)]


def _is_local(item: Dataset, local: LocalNames) -> bool:
    """Return True for a local name, also for an ephemeral model of dbt, which is a local query."""
    config = item.facets.get("dbt_model", {}).get("config")
    is_ephemeral = isinstance(config, dict) and config.get("materialized") == "ephemeral"
    is_inlined = is_ephemeral and any(name.startswith(_EPHEMERAL) for name in local.names)
    return is_inlined or local.has(item.name)


def _is_called(name: str, text: str) -> bool:
    return re.search(rf"\b{re.escape(_last(name))}\s*\(", text, re.I) is not None


def _last(name: str) -> str:
    return name.rpartition(".")[2].lower()


def _without_sources(item: Dataset, names: Collection[str]) -> Dataset:
    """Return a dataset without the column lineage that comes from some names."""
    facet = item.facets.get("columnLineage")
    if not facet:
        return item

    def kept(sources: Any) -> list[Json]:
        return [item for item in objects(sources) if str(item.get("name")) not in names]

    fields = facet.get("fields")
    shown = {
        name: {**field, "inputFields": kept(field.get("inputFields"))}
        for name, field in (fields.items() if isinstance(fields, dict) else ())
        if isinstance(field, dict)
    }
    changed = {**facet, "fields": shown}
    if "dataset" in facet:
        changed["dataset"] = kept(facet["dataset"])
    return replace(item, facets={**item.facets, "columnLineage": changed})
