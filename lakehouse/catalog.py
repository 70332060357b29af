"""Access to the lakehouse with PyIceberg, without a JVM, for small reads and writes."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from lakehouse.aws_profile import KEYS, credentials, endpoint
from lakehouse.names import CATALOG, DATABASE, Table
from lakehouse.settings import Settings

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table as IcebergTable

PARTITION = "slice"
"""Snapshot property: the partition (a file, a month or a window) that the commit replaced."""
CONTENT_HASH = "content-hash"
"""Snapshot property: hash of the rows that the commit wrote to its partition."""
SOURCE_HASH = "source-hash"
"""Snapshot property: hash of the source files that the rows came from."""
STAGED = "staged-sources"
"""Snapshot property: the source file hash of each partition in the commit, as JSON."""
PASSED = "passed-checks"
"""Table property: the snapshot that passed its checks, its partitions and their sources."""
QUARANTINED = "quarantined"
"""Table property: a snapshot, and the number of quarantined rows per partition."""
PROVENANCE = "provenance"
"""Table property: a snapshot, and the Metaflow artifact with the signed provenance of its model."""
NOTED = "slices-before-expiry"
"""Table property: contents of the partitions at a snapshot; earlier snapshots may have expired."""
WRITERS_AT_ONCE = {"commit.retry.num-retries": "30", "commit.retry.max-wait-ms": "2000"}
"""Table properties that allow ten concurrent writers to commit. With Iceberg's default of four
retries, up to a minute apart, six of ten writers fail."""
ATTEMPTS = 8
"""Attempts for a commit that writes no rows while others commit at the same time."""


@dataclass(frozen=True)
class Contents:
    """Counts and an order-independent hash of a partition's rows."""

    rows: int = 0
    distinct: int = 0
    digest: str = "empty"


@dataclass(frozen=True)
class Quarantined:
    """The number of quarantined rows of a file."""

    rows: int
    """All rows of the file."""
    broken: int
    by_column: dict[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        share = self.broken / self.rows if self.rows else 0.0
        columns = ", ".join(f"{name} {count:,}" for name, count in self.by_column.items())
        by = f" by column: {columns}" if columns else ""
        return f"{self.broken:,} of {self.rows:,} rows ({share:.2%}) with impossible values{by}"


def properties(settings: Settings) -> dict[str, str]:
    """Return the PyIceberg properties of the catalog, which Spark shares."""
    if settings.lakehouse == "glue":
        glue = {"type": "glue", "warehouse": settings.warehouse}
        glue |= {"glue.region": settings.aws_region, "s3.region": settings.aws_region}
        if url := endpoint(settings, "glue"):
            glue["glue.endpoint"] = url
        if url := endpoint(settings, "s3"):
            glue |= {"s3.endpoint": url, "s3.force-virtual-addressing": "false"}
        return glue | _profile(settings)
    database = settings.state_dir / "catalog.db"
    return {"type": "sql", "uri": f"sqlite:///{database}", "warehouse": settings.warehouse}


def _profile(settings: Settings) -> dict[str, str]:
    """Return the AWS profile as PyIceberg's properties: a name for boto3, keys for PyArrow."""
    keys = credentials(settings)
    if not keys:
        return {}
    names = dict(zip(KEYS, ("access-key-id", "secret-access-key", "session-token"), strict=True))
    properties = {f"s3.{names[name]}": value for name, value in keys.items()}
    return {"glue.profile-name": settings.aws_profile, **properties}


def open_catalog(settings: Settings) -> Catalog:
    """Return the catalog; create the local one if it does not exist."""
    from pyiceberg.catalog import load_catalog

    settings.state_dir.mkdir(parents=True, exist_ok=True)
    return load_catalog(CATALOG, **properties(settings))


def load_table(settings: Settings, table: Table) -> IcebergTable | None:
    """Return the table's current state, or None if it was never written."""
    from pyiceberg.exceptions import NoSuchTableError

    try:
        return open_catalog(settings).load_table(table.identifier)
    except NoSuchTableError:
        return None


def list_tables(settings: Settings) -> list[Table]:
    """Return all tables of the lakehouse by name."""
    catalog = open_catalog(settings)
    names = catalog.list_tables(DATABASE) if catalog.namespace_exists(DATABASE) else []
    return [Table(name[-1]) for name in sorted(names)]


def pin(settings: Settings, table: Table, name: str, snapshot_id: int | None = None) -> int | None:
    """Tag a snapshot, by default the current one, and return its id; None for an unwritten table.

    The tag protects the snapshot from expiry by any engine for KEEP_MODEL_INPUTS_DAYS from now.
    It does not change the table's version. If you pin a snapshot before you read it, its files
    cannot be deleted in between.
    """
    current = load_table(settings, table)
    if current is None:
        return None
    snapshot = current.snapshot_by_id(snapshot_id) if snapshot_id else current.current_snapshot()
    if snapshot is None:
        return None
    # Engines compute a tag's age from its snapshot, which may already be old.
    end = datetime.now() + timedelta(days=settings.keep_model_inputs_days)
    age = int(end.timestamp() * 1000) - snapshot.timestamp_ms
    tag = snapshot.snapshot_id, name, age
    _commit(current, lambda: current.manage_snapshots().create_tag(*tag).commit())
    return snapshot.snapshot_id


def _commit(table: IcebergTable, change: Callable[[], None]) -> None:
    """Apply a change that writes no rows, and retry it if another commit happens at the same time.

    PyIceberg itself only retries commits that write a snapshot.
    """
    from pyiceberg.exceptions import CommitFailedException

    for attempt in range(ATTEMPTS):
        try:
            change()
        except CommitFailedException:
            if attempt == ATTEMPTS - 1:
                raise
            time.sleep(random.uniform(0, 0.05 * 2**attempt))  # avoids the next collision
            table.refresh()
        else:
            return


def loaded_content(table: IcebergTable | None, partition: str) -> str:
    """Return the hash of the partition's rows; empty if it was never written or is unknown.

    It is unknown if the snapshot expired without a call of `note_partitions`. The partition is
    then written again.
    """
    return _newest(table, partition)[1].get(CONTENT_HASH, "")


def loaded_sources(table: IcebergTable | None, partition: str) -> set[str]:
    """Return the hashes of all source files known to contain the partition's rows.

    These are the files it was loaded from and any with the same rows (`note_source`).
    """
    snapshot_id, summary = _newest(table, partition)
    if table is None or snapshot_id is None:
        return set()
    noted, _, digest = table.properties.get(f"{SOURCE_HASH}.{partition}", "").partition(":")
    return {summary.get(SOURCE_HASH, ""), digest if noted == str(snapshot_id) else ""} - {""}


def newest_partition(table: IcebergTable) -> str:
    """Return the name of the partition that was written last; empty if there is none."""
    snapshot = table.current_snapshot()
    summary = snapshot.summary.additional_properties if snapshot and snapshot.summary else {}
    return summary.get(PARTITION, "")


def rows_by_partition(table: IcebergTable | None) -> dict[str, int]:
    """Return the number of rows per partition from the table's metadata."""
    if table is None or table.current_snapshot() is None:
        return {}
    parts = table.inspect.partitions().select(["partition", "record_count"]).to_pylist()
    return {next(iter(part["partition"].values())): part["record_count"] for part in parts}


def partition_rows(table: IcebergTable | None, partition: str) -> list[dict[str, object]]:
    """Return all rows of a small partition, which is one source file (the column `filename`)."""
    if table is None or table.current_snapshot() is None:
        return []
    rows = table.scan(row_filter=f"filename = '{partition}'").to_arrow().to_pylist()
    return list(rows)


def staged_sources(table: IcebergTable) -> dict[str, str]:
    """Return the source file hash of each partition currently in the table."""
    snapshot = table.current_snapshot()
    summary = snapshot.summary.additional_properties if snapshot and snapshot.summary else {}
    sources: dict[str, str] = json.loads(summary.get(STAGED, "{}"))
    return sources


def note_passed(table: IcebergTable, contents: Mapping[str, Contents]) -> None:
    """Store that the table's rows, at the snapshot of `table`, passed their checks."""
    noted = {
        "snapshot": table.metadata.current_snapshot_id,
        "slices": {name: asdict(content) for name, content in contents.items()},
        "sources": staged_sources(table),
    }
    _note(table, PASSED, json.dumps(noted, sort_keys=True))


@dataclass(frozen=True)
class Passed:
    """Contents that passed the checks: a snapshot, its partitions and their source hashes."""

    snapshot_id: int
    contents: Mapping[str, Contents]
    sources: Mapping[str, str]


def passed_contents(table: IcebergTable | None) -> Passed | None:
    """Return the passed contents; None if the table never passed or changed since."""
    noted = json.loads(table.properties.get(PASSED, "{}")) if table else {}
    if table is None or noted.get("snapshot") != table.metadata.current_snapshot_id:
        return None
    contents = {name: Contents(**content) for name, content in noted["slices"].items()}
    return Passed(noted["snapshot"], contents, noted.get("sources", {}))


def note_quarantined(table: IcebergTable, partitions: Mapping[str, Quarantined]) -> None:
    """Store the number of quarantined rows per partition currently in the table."""
    counts = {name: asdict(count) for name, count in partitions.items()}
    noted = {"snapshot": table.metadata.current_snapshot_id, "slices": counts}
    _note(table, QUARANTINED, json.dumps(noted, sort_keys=True))


def quarantined_rows(table: IcebergTable | None) -> dict[str, Quarantined]:
    """Return the number of quarantined rows per partition currently in the table."""
    noted = json.loads(table.properties.get(QUARANTINED, "{}")) if table else {}
    if table is None or noted.get("snapshot") != table.metadata.current_snapshot_id:
        return {}
    return {name: Quarantined(**count) for name, count in noted["slices"].items()}


def note_source(table: IcebergTable, partition: str, source_hash: str) -> None:
    """Store that another source file contains the same rows; writes no snapshot."""
    snapshot_id, _ = _newest(table, partition)
    _note(table, f"{SOURCE_HASH}.{partition}", f"{snapshot_id}:{source_hash}")


def note_provenance(table: IcebergTable, snapshot_id: int, artifact: str, digest: str) -> None:
    """Store the Metaflow artifact with the signed provenance of a snapshot's model.

    `digest` is the SHA-256 of the statement.
    """
    noted = {"snapshot": snapshot_id, "artifact": artifact, "sha256": digest}
    _note(table, PROVENANCE, json.dumps(noted, sort_keys=True))


def note_partitions(table: IcebergTable) -> None:
    """Store the contents of the partitions that were loaded from files.

    Call this before snapshots expire, because the information is otherwise in the snapshots only.
    """
    contents = {
        name: (snapshot_id, {key: summary[key] for key in (CONTENT_HASH, SOURCE_HASH)})
        for name, (snapshot_id, summary) in _partitions(table).items()
        if summary.get(SOURCE_HASH)
    }
    if contents:
        noted = {"as-of": table.metadata.current_snapshot_id, "slices": contents}
        _note(table, NOTED, json.dumps(noted, sort_keys=True))


def _note(table: IcebergTable, key: str, value: str) -> None:
    """Set a property of the table unless it already has this value."""

    def change() -> None:
        with table.transaction() as transaction:
            transaction.set_properties({key: value})

    if table.properties.get(key) != value:
        _commit(table, change)


def _newest(table: IcebergTable | None, partition: str) -> tuple[int | None, dict[str, str]]:
    """Return id and summary of the newest snapshot that replaced the partition."""
    return (_partitions(table) if table else {}).get(partition, (None, {}))


def _partitions(table: IcebergTable) -> dict[str, tuple[int, dict[str, str]]]:
    """Return id and summary of the newest snapshot that replaced each partition.

    They come from the history back to the snapshot of `note_partitions`, and before it from what
    was stored there. If snapshots in between were expired by another program or the table was
    rolled back, the stored contents may be outdated and are ignored.
    """
    noted = json.loads(table.properties.get(NOTED, "{}"))
    newest: dict[str, tuple[int, dict[str, str]]] = {}
    snapshots = {snapshot.snapshot_id: snapshot for snapshot in table.metadata.snapshots}
    at = table.metadata.current_snapshot_id
    while at is not None and at != noted.get("as-of"):
        if at not in snapshots:
            return newest
        snapshot = snapshots[at]
        summary = snapshot.summary.additional_properties if snapshot.summary else {}
        if PARTITION in summary:
            newest.setdefault(summary[PARTITION], (at, summary))
        at = snapshot.parent_snapshot_id
    if at is not None:
        for name, (snapshot_id, summary) in noted["slices"].items():
            newest.setdefault(name, (snapshot_id, summary))
    return newest
