"""Export the graph and the events as Parquet tables for Spark, DuckDB or pandas.

An item is the JSON of an answer that becomes a row; a place, such as `job.name` or `parent.0`, is
where the value of a column is in the item.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from headwater.console.source import Source, every
from headwater.errors import ConfigError, how_to_install
from headwater.events import ColumnLineage, DatasetId, parse_columns, parse_entries, parse_time
from headwater.events.column_lineage import objects
from headwater.identity import canonical_name

if TYPE_CHECKING:
    import pyarrow as pa

    from headwater.plugins.export.queries import Export
    from headwater.query.models import Json

_ROWS = 5_000  # in memory at once
_LEVELS = ("pipeline", "task", "query")
_Row = dict[str, object]
_Aliases = Mapping[tuple[str, str], tuple[str, str]]
"""Shown name of a dataset by its other names."""

# The columns of the tables with the place of their values in JSON; the suffix of a column is its
# type: see `type_of`.
_JOB = {"job_namespace": "job.namespace", "job_name": "job.name"}
_TIMES = {"started_at": "startedAt", "ended_at": "endedAt", "duration_ms": "durationMs"}
COLUMNS: Mapping[str, Mapping[str, str]] = {
    "events": {
        "event_at": "eventTime", "event_type": "eventType", "run_id": "run.runId", **_JOB,
        "producer": "producer", "body": "",
    },
    "runs": {
        "run_id": "runId", "job_namespace": "job.0", "job_name": "job.1", "state": "state",
        "started_at": "started", "ended_at": "ended", "duration_ms": "",
        "parent_run_id": "parent.0",
    },
    "nodes": {
        "level": "level", "node_type": "type", "namespace": "namespace", "name": "name",
        "owner_names": "owners", "alias_names": "aliases", "run_id": "run.runId",
        "removal": "removal.kind", "removed_at": "removal.at",
    },
    "edges": {
        "level": "level", **_JOB, "direction": "direction",
        "dataset_namespace": "dataset.namespace", "dataset_name": "dataset.name",
    },
    "direct_edges": {
        "level": "level", "node_type": "upstream.type", "namespace": "upstream.namespace",
        "name": "upstream.name", "to_node_type": "downstream.type",
        "to_namespace": "downstream.namespace", "to_name": "downstream.name",
    },
    "present_runs": {"level": "level", "run_id": "runId", **_JOB, "state": "state", **_TIMES},
    "columns": {
        "run_id": "run.runId", **_JOB,
        "dataset_namespace": "dataset.0", "dataset_name": "dataset.1", "column": "column",
        "input_namespace": "input.0", "input_name": "input.1", "input_column": "inputColumn",
        "transformation_type": "step.0", "transformation_subtype": "step.1",
    },
}  # fmt: skip


def write_parquet(
    folder: Path, source: Source, events: Callable[[], Iterable[Json]]
) -> dict[str, int]:
    """Write the tables, replacing existing ones; return their numbers of rows.

    `nodes`, `edges` and `present_runs` are the graph at every level and its effective runs;
    `columns` is the column lineage that each run reported.

    `source` answers queries. `events` returns all events and is called twice. Raises ConfigError if
    pyarrow is missing.
    """
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise ConfigError(f"parquet requires pyarrow. {how_to_install('parquet')}") from None
    folder.mkdir(parents=True, exist_ok=True)
    projection: Export = source("export", {})
    aliases = {
        tuple(alias): (dataset["namespace"], dataset["name"])
        for dataset in projection["datasets"]
        for alias in dataset["aliases"]
    }
    tables: dict[str, Iterable[object]] = {
        "events": events(),
        "runs": projection["runs"],
        "nodes": _at_levels(source, "nodes", "level"),
        "edges": _at_levels(source, "edges", "level", kind="data"),
        "direct_edges": _at_levels(source, "edges", "level", kind="direct"),
        "present_runs": _at_levels(source, "runs", "effective"),
        "columns": (item for event in events() for item in _columns(event, aliases)),
    }
    return {name: _write(folder / f"{name}.parquet", name, items) for name, items in tables.items()}


def _at_levels(source: Source, query: str, parameter: str, **params: str) -> Iterator[object]:
    """Yield the items of a query at every level."""
    for level in _LEVELS:
        for item in every(source, query, {parameter: level, **params}):
            yield {**item, "level": level}


def _write(path: Path, table: str, items: Iterable[object]) -> int:
    """Write one table; return the number of its rows. `table` is its name in `COLUMNS`."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    schema = pa.schema([(name, type_of(name)) for name in COLUMNS[table]])
    rows = (_row(COLUMNS[table], item) for item in items)
    count = 0
    new = path.with_suffix(".new")  # replaces the old table at once
    with ParquetWriter(new, schema, compression="zstd") as writer:
        while part := list(islice(rows, _ROWS)):
            writer.write_table(pa.Table.from_pylist(part, schema))
            count += len(part)
    new.replace(path)
    return count


def type_of(column: str) -> pa.DataType:
    """Return the type of a column by its suffix: _at time, _ms integer, _names list, else text."""
    import pyarrow as pa

    types = {"at": pa.timestamp("us", tz="UTC"), "ms": pa.int64(), "names": pa.list_(pa.string())}
    return types.get(column.rpartition("_")[2], pa.string())


def _row(columns: Mapping[str, str], item: object) -> _Row:
    """Return an item as a row; `columns` has the places of the values."""
    row = {name: _converted(name, _value(item, place)) for name, place in columns.items()}
    started, ended = row.get("started_at"), row.get("ended_at")
    if isinstance(started, datetime) and isinstance(ended, datetime):
        row["duration_ms"] = round((ended - started).total_seconds() * 1e3)
    return row


def _value(item: object, place: str) -> object:
    """Return the value at a place in JSON, such as `job.name` or `parent.0`; None if missing."""
    for key in filter(None, place.split(".")):
        if isinstance(item, Mapping):
            item = item.get(key)
        elif isinstance(item, Sequence) and key.isdecimal():
            item = item[int(key)]
    return item


def _converted(column: str, value: object) -> object:
    """Return a value of JSON in the type of its column."""
    if value is None or column == "duration_ms":
        return None  # computed from the times
    if column.endswith("_at"):
        return parse_time(str(value)) if value else None
    if isinstance(value, list):
        return [
            name if isinstance(name, str) else "{namespace}:{name}".format(**name) for name in value
        ]
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return str(value)


def _columns(event: Json, aliases: _Aliases) -> Iterator[object]:
    """Yield an item per source and transformation of each column that an event describes."""
    for output, lineage in _column_lineage(event):
        for link in lineage.links:
            for step in link.transformations or [(None, None)]:
                yield {
                    "run": event.get("run"),
                    "job": event.get("job"),
                    "dataset": _shown_name(output, aliases),
                    "input": _shown_name(link._asdict(), aliases),
                    "column": link.target or None,
                    "inputColumn": link.field or None,
                    "step": step,
                }


def _column_lineage(event: Json) -> Iterator[tuple[Json, ColumnLineage]]:
    """Yield the outputs of an event with their column lineage.

    Explicit lineage takes precedence over the facet of the output.
    """
    explicit = _facet(event.get("job"), "lineage")
    entries = [entry for entry in parse_entries(explicit) if entry.columns.links]
    for entry in entries:
        if isinstance(entry.target, DatasetId):
            yield entry.target._asdict(), entry.columns
    described = {entry.target for entry in entries}
    for output in objects(event.get("outputs")):
        if (output.get("namespace"), output.get("name")) not in described:
            yield output, parse_columns(_facet(output, "columnLineage"))


def _facet(item: object, name: str) -> Json:
    """Return a facet of a part of an event; empty if it is missing or invalid."""
    facets = item.get("facets") if isinstance(item, dict) else None
    facet = facets.get(name) if isinstance(facets, dict) else None
    return facet if isinstance(facet, dict) else {}


def _shown_name(dataset: Json, aliases: _Aliases) -> tuple[str, str]:
    """Return the name of a dataset as in the other tables, so that they can be joined."""
    name = canonical_name(str(dataset.get("namespace")), str(dataset.get("name")))
    return aliases.get(name, name)
