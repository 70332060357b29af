"""Changes of whole tables that only the SQL text of a run states.

Trino reports no dataset for DROP TABLE and RENAME, nor does Spark for the RENAME of an Iceberg
table. The text names the table, mostly without its schema, which only the session knows. A name
therefore counts only if it fits exactly one of the schemas that jobs of the same namespace use.

`state.table_changes` has the change that each run's text states: its kind and the parts of the
tables' names, such as `("shop", "orders")`. `state.schemas` has the schemas of the tables that jobs
of a namespace use: pairs of a dataset namespace and a schema, such as `shop.public`. RENAME gives a
table its name, MOVE takes it away.
"""

from __future__ import annotations

from collections.abc import Iterator

from headwater.identity import DatasetName, is_location
from headwater.projection import Run, RunKey, State
from headwater.projection.facet_books import Stamp
from headwater.projection.state import LifecycleChange

_STREAMS = ("kafka:", "pulsar:", "kinesis:", "eventhub:")
"""Namespaces of topics, which may have dots in their names but are no tables."""


def stated_changes(state: State, run: Run) -> list[tuple[DatasetName, LifecycleChange]]:
    """Return the changes that only the text of a run states, with the datasets' primary names.

    The list is empty if the run reported an output. It omits tables that cannot be identified.

    A run without outputs that has such a text reads and writes no dataset otherwise.
    """
    change = state.table_changes.get(run.key)
    if change is None or run.outputs:
        return []
    if change.kind == "RENAME":
        pairs = zip(change.tables[::2], change.tables[1::2], strict=True)
        return [item for pair in pairs for item in _renaming(state, run.key, change.stamp, *pair)]
    primary = state.identity.primary
    changed = LifecycleChange(change.stamp, change.kind, run.key, None, is_from_sql=True)
    found = (_dataset(state, run.key.job.namespace, parts) for parts in change.tables)
    return [(primary(name), changed) for name in found if name and name in state.identity]


def _renaming(
    state: State, run: RunKey, stamp: Stamp, parts: tuple[str, ...], new_parts: tuple[str, ...]
) -> list[tuple[DatasetName, LifecycleChange]]:
    """Return the MOVE of a renamed table, and the RENAME of its new name once it is reported.

    `change.tables` has the former and the new name. A new name without qualifiers is in the schema
    of the former one. A table that gets another name of the same dataset is not renamed.
    """
    former = _dataset(state, run.job.namespace, parts)
    if former is None or former not in state.identity:
        return []
    schema, _, _ = former.name.rpartition(".")
    new = DatasetName(former.namespace, f"{schema}.{new_parts[-1]}" if schema else new_parts[-1])
    if len(new_parts) > 1:
        new = _dataset(state, run.job.namespace, new_parts) or new
    moved = LifecycleChange(stamp, "MOVE", run, new, is_from_sql=True)
    renamed = LifecycleChange(stamp, "RENAME", run, former, is_from_sql=True)
    before, after = map(state.identity.primary, (former, new))
    found = [(before, moved)] if before != after else []
    return [*found, (after, renamed)] if found and new in state.identity else found


def stated_changes_of(state: State, name: DatasetName) -> Iterator[LifecycleChange]:
    """Yield the changes of a dataset that only SQL texts state.

    Candidates are the runs whose texts change a table with the same last part of its name.
    """
    if not state.changes_by_table:
        return
    tables = {alias.name.rpartition(".")[2].lower() for alias in state.identity.names(name)}
    keys = {key for table in tables for key in state.changes_by_table.get(table, ())}
    for key in sorted(keys):
        for changed, change in stated_changes(state, state.runs[key]):
            if changed == name:
                yield change


def renamed_by_text(state: State, run: Run) -> dict[DatasetName, DatasetName]:
    """Return the dataset that only the text of a run renames, with its former name."""
    return {
        name: state.identity.primary(change.other)
        for name, change in stated_changes(state, run)
        if change.kind == "RENAME" and change.other
    }


def _dataset(state: State, namespace: str, parts: tuple[str, ...]) -> DatasetName | None:
    """Return the name of a table; None if it fits no schema of the jobs, or several.

    `namespace` is that of the job, `parts` are the parts of the name in the text. A known dataset
    is preferred in the spelling of the text, in lower case, or in upper case.
    """
    found = {
        (place, schema)
        for place, schema in state.schemas.get(namespace, ())
        if _fits(parts, schema) and _has_tables(place, schema)
    }
    if len(found) != 1:
        return None
    ((place, schema),) = found
    names = [f"{schema}.{table}" if schema else table for table in _spellings(parts[-1])]
    known = (DatasetName(place, name) for name in names)
    return next((name for name in known if name in state.identity), DatasetName(place, names[0]))


def _has_tables(place: str, schema: str) -> bool:
    """Return False for topics, and for files at the top of a bucket."""
    is_folder = is_location(DatasetName(place, schema)) and not schema
    return not (place.startswith(_STREAMS) or is_folder)


def _fits(parts: tuple[str, ...], schema: str) -> bool:
    """Return True if a table may be in a schema. The name of a catalog may precede the schema."""
    above = schema.lower().split(".") if schema else []
    stated = [part.lower() for part in parts[:-1]]
    if above and len(stated) == len(above) + 1:
        stated = stated[1:]
    return len(stated) <= len(above) and above[len(above) - len(stated) :] == stated


def _spellings(table: str) -> tuple[str, str, str]:
    """Return the spellings of an unquoted name that databases use."""
    return table, table.lower(), table.upper()
