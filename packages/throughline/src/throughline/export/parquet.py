"""Export the graph and the events as Parquet tables for Spark, DuckDB or pandas."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from throughline.console.source import Source, every
from throughline.errors import ConfigError
from throughline.events import ColumnLineage, DatasetId, parse_columns, parse_entries, parse_time
from throughline.identity import canonical_name

if TYPE_CHECKING:
    import pyarrow as pa

    from throughline.lineage.models import DataEdgeRow, NodePairRow
    from throughline.query.models import Json
    from throughline.runs.models import RunInfo
    from throughline.search.models import ListedNode

_ROWS = 5_000  # in memory at once
_LEVELS = ("pipeline", "task", "query")
Row = dict[str, object]
_Aliases = Mapping[tuple[str, str], tuple[str, str]]
"""Shown name of a dataset by its other names."""

# The columns of the tables; the suffix of a column is its type: see `type_of`.
_RUN = ("run_id", "job_namespace", "job_name")
_DATASET = ("dataset_namespace", "dataset_name")
COLUMNS = {
    "events": ("event_at", "event_type", *_RUN, "producer", "body"),
    "runs": (*_RUN, "state", "started_at", "ended_at", "duration_ms", "parent_run_id"),
    "nodes": (
        "level", "node_type", "namespace", "name", "owner_names", "alias_names", "run_id",
    ),
    "edges": ("level", "job_namespace", "job_name", "direction", *_DATASET),
    "direct_edges": (
        "level", "node_type", "namespace", "name", "to_node_type", "to_namespace", "to_name",
    ),
    "present_runs": ("level", *_RUN, "state", "started_at", "ended_at", "duration_ms"),
    "columns": (
        *_RUN, *_DATASET, "column", "input_namespace", "input_name", "input_column",
        "transformation_type", "transformation_subtype",
    ),
}  # fmt: skip


def write_parquet(
    folder: Path, source: Source, events: Callable[[], Iterable[Json]]
) -> dict[str, int]:
    """Write the tables, replacing existing ones; return their numbers of rows.

    `nodes`, `edges` and `present_runs` are the graph at every level and its effective runs;
    `columns` is the column lineage that each run reported.
    """
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise ConfigError(
            "--format parquet requires pyarrow: install throughline's extra `parquet`"
        ) from None
    folder.mkdir(parents=True, exist_ok=True)
    projection: Json = source("export", {})
    aliases = {
        tuple(alias): (dataset["namespace"], dataset["name"])
        for dataset in projection["datasets"]
        for alias in dataset["aliases"]
    }
    tables: dict[str, Iterator[Row]] = {
        "events": map(_event, events()),
        "runs": map(_run, projection["runs"]),
        "nodes": _nodes(source),
        "edges": _edges(source),
        "direct_edges": _direct_edges(source),
        "present_runs": _present_runs(source),
        "columns": (row for event in events() for row in _columns(event, aliases)),
    }
    return {name: _write(folder / f"{name}.parquet", name, rows) for name, rows in tables.items()}


def _write(path: Path, table: str, rows: Iterator[Row]) -> int:
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    schema = pa.schema([(name, type_of(name)) for name in COLUMNS[table]])
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


def _event(event: Json) -> Row:
    return {
        **_run_columns(event),
        "event_at": _time(event.get("eventTime")),
        "event_type": _text(event.get("eventType")),
        "producer": _text(event.get("producer")),
        "body": json.dumps(event, ensure_ascii=False, separators=(",", ":")),
    }


def _run(run: Json) -> Row:
    started, ended = _time(run["started"]), _time(run["ended"])
    namespace, name = run["job"]
    return {
        "run_id": run["runId"],
        "job_namespace": namespace,
        "job_name": name,
        "state": str(run["state"]),
        "started_at": started,
        "ended_at": ended,
        "duration_ms": round((ended - started).total_seconds() * 1e3)
        if started and ended
        else None,
        "parent_run_id": run["parent"][0] if run["parent"] else None,
    }


def _nodes(source: Source) -> Iterator[Row]:
    for level in _LEVELS:
        nodes: Iterator[ListedNode] = every(source, "nodes", {"level": level})
        for node in nodes:
            yield {
                "level": level,
                "node_type": node["type"],
                "namespace": node["namespace"],
                "name": node["name"],
                "owner_names": node["owners"],
                "alias_names": [f"{name['namespace']}:{name['name']}" for name in node["aliases"]],
                "run_id": node["run"]["runId"] if node["run"] else None,
            }


def _present_runs(source: Source) -> Iterator[Row]:
    for level in _LEVELS:
        runs: Iterator[RunInfo] = every(source, "runs", {"counting": level})
        for run in runs:
            yield {
                "level": level,
                "run_id": run["runId"],
                "job_namespace": run["job"]["namespace"],
                "job_name": run["job"]["name"],
                "state": str(run["state"]),
                "started_at": _time(run["startedAt"]),
                "ended_at": _time(run["endedAt"]),
                "duration_ms": run["durationMs"],
            }


def _edges(source: Source) -> Iterator[Row]:
    for level in _LEVELS:
        edges: Iterator[DataEdgeRow] = every(source, "edges", {"level": level, "kind": "data"})
        for edge in edges:
            job, dataset = edge["job"], edge["dataset"]
            yield {
                "level": level,
                "job_namespace": job["namespace"],
                "job_name": job["name"],
                "direction": edge["direction"],
                "dataset_namespace": dataset["namespace"],
                "dataset_name": dataset["name"],
            }


def _direct_edges(source: Source) -> Iterator[Row]:
    for level in _LEVELS:
        edges: Iterator[NodePairRow] = every(source, "edges", {"level": level, "kind": "direct"})
        for edge in edges:
            start, end = edge["upstream"], edge["downstream"]
            yield {
                "level": level,
                "node_type": start["type"],
                "namespace": start["namespace"],
                "name": start["name"],
                "to_node_type": end["type"],
                "to_namespace": end["namespace"],
                "to_name": end["name"],
            }


def _columns(event: Json, aliases: _Aliases) -> Iterator[Row]:
    for output, lineage in _column_lineage(event):
        for link in lineage.links:
            row: Row = {
                **_run_columns(event),
                **_dataset_columns("dataset", output, aliases),
                **_dataset_columns("input", link._asdict(), aliases),
                "column": link.target or None,
                "input_column": link.field or None,
            }
            for step in link.transformations or [None]:
                yield row | {
                    "transformation_type": step.type if step else None,
                    "transformation_subtype": step.subtype if step else None,
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
    for output in _objects(event.get("outputs")):
        if (output.get("namespace"), output.get("name")) not in described:
            yield output, parse_columns(_facet(output, "columnLineage"))


def _facet(item: object, name: str) -> Json:
    facets = item.get("facets") if isinstance(item, dict) else None
    facet = facets.get(name) if isinstance(facets, dict) else None
    return facet if isinstance(facet, dict) else {}


def _dataset_columns(prefix: str, dataset: Json, aliases: _Aliases) -> Row:
    """Return the name of a dataset as in the other tables, so that they can be joined."""
    name = canonical_name(str(dataset.get("namespace")), str(dataset.get("name")))
    namespace, shown_name = aliases.get(name, name)
    return {f"{prefix}_namespace": namespace, f"{prefix}_name": shown_name}


def _objects(value: object) -> list[Json]:
    items = value if isinstance(value, list) else []
    return [item for item in items if isinstance(item, dict)]


def _run_columns(event: Json) -> Row:
    run, job = event.get("run") or {}, event.get("job") or {}
    return {
        "run_id": _text(run.get("runId")),
        "job_namespace": _text(job.get("namespace")),
        "job_name": _text(job.get("name")),
    }


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _time(text: Any) -> datetime | None:
    return parse_time(text) if text else None
