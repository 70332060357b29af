"""The lakehouse through PyIceberg: no JVM, for tasks and steps that read or write little."""

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
"""Snapshot property: which partition of the table (a file, a month, a window) the commit replaced."""
CONTENT_HASH = "content-hash"
"""Snapshot property: hash of the rows that the commit put into its partition."""
SOURCE_HASH = "source-hash"
"""Snapshot property: hash of the source files that the rows came from."""
STAGED = "staged-sources"
"""Snapshot property: the source file hash of each partition in the commit, as JSON."""
PASSED = "passed-checks"
"""Table property: the snapshot that passed its checks, its partitions and their sources."""
QUARANTINED = "quarantined"
"""Table property: a snapshot, and the number of quarantined rows per partition."""
NOTED = "slices-before-expiry"
"""Table property: what the partitions held, as of a snapshot before which others may have expired."""
WRITERS_AT_ONCE = {"commit.retry.num-retries": "30", "commit.retry.max-wait-ms": "2000"}
"""Table properties with which ten writers at once all get their turn: of Iceberg's own four tries,
a minute apart at most, six of ten writers come out with nothing."""
ATTEMPTS = 8
"""How often a commit that writes no rows is tried while others commit at the same moment."""


@dataclass(frozen=True)
class Contents:
    """The rows of a partition as a bag, in which the order does not matter."""

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
    """PyIceberg's properties of the catalog that Spark uses too."""
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
    given = {f"s3.{names[name]}": value for name, value in keys.items()}
    return {"glue.profile-name": settings.aws_profile, **given}


def open_catalog(settings: Settings) -> Catalog:
    """The catalog; the local one is made if it does not exist."""
    from pyiceberg.catalog import load_catalog

    settings.state_dir.mkdir(parents=True, exist_ok=True)
    return load_catalog(CATALOG, **properties(settings))


def load_table(settings: Settings, table: Table) -> IcebergTable | None:
    """The table as of now, or None while nobody has written it."""
    from pyiceberg.exceptions import NoSuchTableError

    try:
        return open_catalog(settings).load_table(table.identifier)
    except NoSuchTableError:
        return None


def list_tables(settings: Settings) -> list[Table]:
    """Every table of ours, by name."""
    catalog = open_catalog(settings)
    names = catalog.list_tables(DATABASE) if catalog.namespace_exists(DATABASE) else []
    return [Table(name[-1]) for name in sorted(names)]


def pin(settings: Settings, table: Table, name: str, snapshot_id: int | None = None) -> int | None:
    """Tag a snapshot (by default the current one), so that no engine's expiry takes it until
    KEEP_MODEL_INPUTS_DAYS from now; its id, or None while nobody has written the table.

    The tag is no snapshot: the table's version stays what it was. Whoever pins before reading,
    and reads that snapshot, cannot lose its files in between.
    """
    held = load_table(settings, table)
    if held is None:
        return None
    snapshot = held.snapshot_by_id(snapshot_id) if snapshot_id else held.current_snapshot()
    if snapshot is None:
        return None
    # An engine takes a tag's age to be that of its snapshot, which may be old by now.
    end = datetime.now() + timedelta(days=settings.keep_model_inputs_days)
    age = int(end.timestamp() * 1000) - snapshot.timestamp_ms
    tag = snapshot.snapshot_id, name, age
    _commit(held, lambda: held.manage_snapshots().create_tag(*tag).commit())
    return snapshot.snapshot_id


def _commit(table: IcebergTable, change: Callable[[], None]) -> None:
    """Make a change that writes no rows; again if somebody else commits at the same moment.

    PyIceberg itself tries only those again that write a snapshot.
    """
    from pyiceberg.exceptions import CommitFailedException

    for attempt in range(ATTEMPTS):
        try:
            change()
        except CommitFailedException:
            if attempt == ATTEMPTS - 1:
                raise
            time.sleep(random.uniform(0, 0.05 * 2**attempt))  # so that two do not meet again
            table.refresh()
        else:
            return


def loaded_content(table: IcebergTable | None, partition: str) -> str:
    """Hash of the rows that the partition holds; empty if it was never written, or if nobody knows
    because its snapshot expired without `note_partitions`: it is then written again.
    """
    return _newest(table, partition)[1].get(CONTENT_HASH, "")


def loaded_sources(table: IcebergTable | None, partition: str) -> set[str]:
    """Hashes of the source files that are known to hold the partition's rows: those it was loaded
    from, and those that were found to hold the same rows since (`note_source`)."""
    snapshot_id, summary = _newest(table, partition)
    if table is None or snapshot_id is None:
        return set()
    noted, _, digest = table.properties.get(f"{SOURCE_HASH}.{partition}", "").partition(":")
    return {summary.get(SOURCE_HASH, ""), digest if noted == str(snapshot_id) else ""} - {""}


def newest_partition(table: IcebergTable) -> str:
    """The partition that was written last; empty if none was."""
    snapshot = table.current_snapshot()
    found = snapshot.summary.additional_properties if snapshot and snapshot.summary else {}
    return found.get(PARTITION, "")


def rows_by_partition(table: IcebergTable | None) -> dict[str, int]:
    """Rows of each partition of a table that is partitioned by partition, from its metadata."""
    if table is None or table.current_snapshot() is None:
        return {}
    parts = table.inspect.partitions().select(["partition", "record_count"]).to_pylist()
    return {next(iter(part["partition"].values())): part["record_count"] for part in parts}


def staged_sources(table: IcebergTable) -> dict[str, str]:
    """Return the source file hash of each partition currently in the table."""
    snapshot = table.current_snapshot()
    summary = snapshot.summary.additional_properties if snapshot and snapshot.summary else {}
    sources: dict[str, str] = json.loads(summary.get(STAGED, "{}"))
    return sources


def note_passed(table: IcebergTable, contents: Mapping[str, Contents]) -> None:
    """Remember that the table's rows, as `table` shows them, passed their checks."""
    noted = {
        "snapshot": table.metadata.current_snapshot_id,
        "slices": {name: asdict(held) for name, held in contents.items()},
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
    contents = {name: Contents(**held) for name, held in noted["slices"].items()}
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
    """Remember that other source files hold the partition's very rows; writes no snapshot."""
    snapshot_id, _ = _newest(table, partition)
    _note(table, f"{SOURCE_HASH}.{partition}", f"{snapshot_id}:{source_hash}")


def note_partitions(table: IcebergTable) -> None:
    """Remember what the partitions that were loaded from files hold, because it is snapshots that
    say so until they expire: to be called before that."""
    known = {
        name: (snapshot_id, {key: summary[key] for key in (CONTENT_HASH, SOURCE_HASH)})
        for name, (snapshot_id, summary) in _partitions(table).items()
        if summary.get(SOURCE_HASH)
    }
    if known:
        noted = {"as-of": table.metadata.current_snapshot_id, "slices": known}
        _note(table, NOTED, json.dumps(noted, sort_keys=True))


def _note(table: IcebergTable, key: str, value: str) -> None:
    """Set a property of the table, unless it is set so."""

    def change() -> None:
        with table.transaction() as transaction:
            transaction.set_properties({key: value})

    if table.properties.get(key) != value:
        _commit(table, change)


def _newest(table: IcebergTable | None, partition: str) -> tuple[int | None, dict[str, str]]:
    """Id and summary of the newest snapshot that replaced the partition."""
    return (_partitions(table) if table else {}).get(partition, (None, {}))


def _partitions(table: IcebergTable) -> dict[str, tuple[int, dict[str, str]]]:
    """Id and summary of the newest snapshot that replaced each partition.

    Told by the history back to where it was noted (`note_partitions`). If a part is missing in between
    (somebody else expired it) or the table was rolled back, what was noted may not be true any
    more and does not count.
    """
    noted = json.loads(table.properties.get(NOTED, "{}"))
    found: dict[str, tuple[int, dict[str, str]]] = {}
    snapshots = {snapshot.snapshot_id: snapshot for snapshot in table.metadata.snapshots}
    at = table.metadata.current_snapshot_id
    while at is not None and at != noted.get("as-of"):
        if at not in snapshots:
            return found
        snapshot = snapshots[at]
        summary = snapshot.summary.additional_properties if snapshot.summary else {}
        if PARTITION in summary:
            found.setdefault(summary[PARTITION], (at, summary))
        at = snapshot.parent_snapshot_id
    if at is not None:
        for name, (snapshot_id, summary) in noted["slices"].items():
            found.setdefault(name, (snapshot_id, summary))
    return found
