"""The lakehouse through PyIceberg: no JVM, for tasks and steps that read or write little."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakehouse.names import CATALOG, Table
from lakehouse.settings import Settings

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table as IcebergTable

SLICE = "slice"
"""Snapshot property: which slice of the table (a file, a month, a window) the commit replaced."""
CONTENT_HASH = "content-hash"
"""Snapshot property: hash of the rows that the commit put into its slice."""
SOURCE_HASH = "source-hash"
"""Snapshot property: hash of the source files that the rows came from."""
PASSED = "passed-checks"
"""Table property: the snapshot that passed its checks."""


def properties(settings: Settings) -> dict[str, str]:
    """PyIceberg's properties of the catalog that Spark uses too."""
    if settings.lakehouse == "glue":
        glue = {"type": "glue", "warehouse": settings.warehouse}
        glue |= {"glue.region": settings.aws_region, "s3.region": settings.aws_region}
        if settings.aws_endpoint_url:
            glue |= {
                "glue.endpoint": settings.aws_endpoint_url,
                "s3.endpoint": settings.aws_endpoint_url,
                "s3.force-virtual-addressing": "false",
            }
        return glue
    database = settings.state_dir / "catalog.db"
    return {"type": "sql", "uri": f"sqlite:///{database}", "warehouse": settings.warehouse}


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


def loaded_content(table: IcebergTable | None, slice_: str) -> str:
    """Hash of the rows that the slice holds; empty if it was never written.

    A slice whose snapshot has expired counts as never written: it is then written again.
    """
    return _newest(table, slice_)[1].get(CONTENT_HASH, "")


def loaded_sources(table: IcebergTable | None, slice_: str) -> set[str]:
    """Hashes of the source files that are known to hold the slice's rows: those it was loaded
    from, and those that were found to hold the same rows since (`note_source`)."""
    snapshot_id, summary = _newest(table, slice_)
    if table is None or snapshot_id is None:
        return set()
    noted, _, digest = table.properties.get(f"{SOURCE_HASH}.{slice_}", "").partition(":")
    return {summary.get(SOURCE_HASH, ""), digest if noted == str(snapshot_id) else ""} - {""}


def newest_slice(table: IcebergTable) -> str:
    """The slice that was written last; empty if none was."""
    snapshot = table.current_snapshot()
    found = snapshot.summary.additional_properties if snapshot and snapshot.summary else {}
    return found.get(SLICE, "")


def rows_by_slice(table: IcebergTable | None) -> dict[str, int]:
    """Rows of each slice of a table that is partitioned by slice, from its metadata."""
    if table is None:
        return {}
    parts = table.inspect.partitions().select(["partition", "record_count"]).to_pylist()
    return {next(iter(part["partition"].values())): part["record_count"] for part in parts}


def note_passed(table: IcebergTable) -> None:
    """Remember that the table's rows, as `table` shows them, passed their checks."""
    with table.transaction() as transaction:
        transaction.set_properties({PASSED: str(table.metadata.current_snapshot_id)})


def has_passed(table: IcebergTable | None) -> bool:
    """Whether the rows that are in the table now are those that passed."""
    return table is not None and table.properties.get(PASSED) == str(
        table.metadata.current_snapshot_id
    )


def note_source(table: IcebergTable, slice_: str, source_hash: str) -> None:
    """Remember that other source files hold the slice's very rows; writes no snapshot."""
    snapshot_id, _ = _newest(table, slice_)
    with table.transaction() as transaction:
        transaction.set_properties({f"{SOURCE_HASH}.{slice_}": f"{snapshot_id}:{source_hash}"})


def _newest(table: IcebergTable | None, slice_: str) -> tuple[int | None, dict[str, str]]:
    """Id and summary of the newest snapshot that replaced the slice."""
    for snapshot in reversed(table.metadata.snapshots if table else []):
        summary = snapshot.summary.additional_properties if snapshot.summary else {}
        if summary.get(SLICE) == slice_:
            return snapshot.snapshot_id, summary
    return None, {}
