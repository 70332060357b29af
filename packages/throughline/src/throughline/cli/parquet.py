"""What is known as tables for Spark, DuckDB or pandas: a Parquet file each in a folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

from throughline.cli.source import Source, every
from throughline.errors import ConfigError
from throughline.identity import canonical_name
from throughline.spec import ColumnLineage, DatasetId, parse_columns, parse_entries, parse_time

_ROWS = 5_000  # held at once
_LEVELS = ("pipeline", "task", "query")
Row = dict[str, Any]

# Of each table its columns; a name's end tells the type: see `type_of`.
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


def write_parquet(folder: Path, ask: Source, events: Callable[[], Iterable[Row]]) -> dict[str, int]:
    """Write the tables; answers how many rows each has. What was there is replaced.

    `nodes`, `edges` and `present_runs` are the graph at every level, and the runs that it is made
    of; `columns` what each run told of the columns that it wrote.
    """
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise ConfigError(
            "--format parquet needs pyarrow: install throughline's extra `parquet`"
        ) from None
    folder.mkdir(parents=True, exist_ok=True)
    known = ask("export", {})
    shown = {
        tuple(alias): (each["namespace"], each["name"])
        for each in known["datasets"]
        for alias in each["aliases"]
    }
    tables: dict[str, Iterator[Row]] = {
        "events": map(_event, events()),
        "runs": map(_run, known["runs"]),
        "nodes": _nodes(ask),
        "edges": _edges(ask),
        "direct_edges": _direct_edges(ask),
        "present_runs": _present_runs(ask),
        "columns": (row for event in events() for row in _columns(event, shown)),
    }
    return {name: _write(folder / f"{name}.parquet", name, rows) for name, rows in tables.items()}


def _write(path: Path, table: str, rows: Iterator[Row]) -> int:
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    schema = pa.schema([(name, type_of(name)) for name in COLUMNS[table]])
    count = 0
    aside = path.with_suffix(".new")  # whoever reads the table sees the old or the new one
    with ParquetWriter(aside, schema, compression="zstd") as writer:
        while part := list(islice(rows, _ROWS)):
            writer.write_table(pa.Table.from_pylist(part, schema))
            count += len(part)
    aside.replace(path)
    return count


def type_of(column: str) -> Any:
    """A name that ends with _at is a time, with _ms a number, with _names a list, else a text."""
    import pyarrow as pa

    kinds = {"at": pa.timestamp("us", tz="UTC"), "ms": pa.int64(), "names": pa.list_(pa.string())}
    return kinds.get(column.rpartition("_")[2], pa.string())


def _event(event: Row) -> Row:
    return {
        **_who(event),
        "event_at": _time(event.get("eventTime")),
        "event_type": _text(event.get("eventType")),
        "producer": _text(event.get("producer")),
        "body": json.dumps(event, ensure_ascii=False, separators=(",", ":")),
    }


def _run(run: Row) -> Row:
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


def _nodes(ask: Source) -> Iterator[Row]:
    for level in _LEVELS:
        for node in every(ask, "nodes", {"level": level}):
            yield {
                "level": level,
                "node_type": node["type"],
                "namespace": node["namespace"],
                "name": node["name"],
                "owner_names": node["owners"],
                "alias_names": [f"{each['namespace']}:{each['name']}" for each in node["aliases"]],
                "run_id": node["run"]["runId"] if node["run"] else None,
            }


def _present_runs(ask: Source) -> Iterator[Row]:
    for level in _LEVELS:
        for run in every(ask, "runs", {"counting": level}):
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


def _edges(ask: Source) -> Iterator[Row]:
    for level in _LEVELS:
        for edge in every(ask, "edges", {"level": level, "kind": "data"}):
            job, dataset = edge["job"], edge["dataset"]
            yield {
                "level": level,
                "job_namespace": job["namespace"],
                "job_name": job["name"],
                "direction": edge["direction"],
                "dataset_namespace": dataset["namespace"],
                "dataset_name": dataset["name"],
            }


def _direct_edges(ask: Source) -> Iterator[Row]:
    for level in _LEVELS:
        for edge in every(ask, "edges", {"level": level, "kind": "direct"}):
            above, below = edge["upstream"], edge["downstream"]
            yield {
                "level": level,
                "node_type": above["type"],
                "namespace": above["namespace"],
                "name": above["name"],
                "to_node_type": below["type"],
                "to_namespace": below["namespace"],
                "to_name": below["name"],
            }


def _columns(event: Row, shown: dict[Any, Any]) -> Iterator[Row]:
    for output, lineage in _told(event):
        for link in lineage.links:
            row = {
                **_who(event),
                **_named(output, "dataset", shown),
                **_named(link._asdict(), "input", shown),
                "column": link.target or None,
                "input_column": link.field or None,
            }
            for kind in link.transformations or [None]:
                yield row | {
                    "transformation_type": kind.type if kind else None,
                    "transformation_subtype": kind.subtype if kind else None,
                }


def _told(event: Row) -> Iterator[tuple[Row, ColumnLineage]]:
    """The column lineage of each output: of the explicit lineage, or else of its own facet."""
    stated = _facet(event.get("job"), "lineage")
    entries = [entry for entry in parse_entries(stated) if entry.columns.links]
    for entry in entries:
        if isinstance(entry.target, DatasetId):
            yield entry.target._asdict(), entry.columns
    described = {entry.target for entry in entries}
    for output in _objects(event.get("outputs")):
        if (output.get("namespace"), output.get("name")) not in described:
            yield output, parse_columns(_facet(output, "columnLineage"))


def _facet(item: Any, name: str) -> Row:
    facets = item.get("facets") if isinstance(item, dict) else None
    facet = facets.get(name) if isinstance(facets, dict) else None
    return facet if isinstance(facet, dict) else {}


def _named(dataset: Row, prefix: str, shown: dict[Any, Any]) -> Row:
    """The name under which a dataset is shown, so that the tables can be joined."""
    name = canonical_name(str(dataset.get("namespace")), str(dataset.get("name")))
    namespace, own = shown.get(name, name)
    return {f"{prefix}_namespace": namespace, f"{prefix}_name": own}


def _objects(value: Any) -> list[Row]:
    listed = value if isinstance(value, list) else []
    return [each for each in listed if isinstance(each, dict)]


def _who(event: Row) -> Row:
    run, job = event.get("run") or {}, event.get("job") or {}
    return {
        "run_id": _text(run.get("runId")),
        "job_namespace": _text(job.get("namespace")),
        "job_name": _text(job.get("name")),
    }


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _time(text: Any) -> datetime | None:
    return parse_time(text) if text else None
