"""Properties that the catalog stores in tables, without a JVM."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from time import time

import pyarrow as pa
import pytest
from pyiceberg.table import Table as IcebergTable

from lakehouse.catalog import (
    CONTENT_HASH,
    PARTITION,
    SOURCE_HASH,
    load_table,
    loaded_content,
    loaded_sources,
    note_partitions,
    open_catalog,
    pin,
)
from lakehouse.names import DATABASE, Table
from lakehouse.settings import Settings
from tests.conftest import make_older

TABLE = Table("loaded")
WRITERS = 4
DAY = 24 * 3600 * 1000


@pytest.fixture
def table(settings: Settings) -> IcebergTable:
    catalog = open_catalog(settings)
    catalog.create_namespace(DATABASE)
    return catalog.create_table(TABLE.identifier, pa.schema([("id", pa.int64())]))


def load(table: IcebergTable, partition: str, content: str) -> int:
    """Append a snapshot like the jobs' loads and return its id."""
    table.refresh()
    properties = {PARTITION: partition, CONTENT_HASH: content, SOURCE_HASH: f"file {content}"}
    table.append(pa.table({"id": [1]}), snapshot_properties=properties)
    return table.metadata.current_snapshot_id or 0


def expire(table: IcebergTable, *snapshots: int) -> None:
    table.maintenance.expire_snapshots().by_ids(list(snapshots)).commit()


def test_loaded_content_is_known_after_snapshot_expiry(table: IcebergTable) -> None:
    first, second = load(table, "a", "1"), load(table, "b", "2")
    third = load(table, "c", "3")
    note_partitions(table)
    expire(table, first, second)
    assert [loaded_content(table, s) for s in "abcd"] == ["1", "2", "3", ""]
    assert loaded_sources(table, "a") == {"file 1"}
    load(table, "a", "4")
    note_partitions(table)
    expire(table, third)
    assert [loaded_content(table, s) for s in "abc"] == ["4", "2", "3"]


def test_stored_content_is_ignored_after_foreign_expiry(
    table: IcebergTable,
) -> None:
    load(table, "a", "1")
    note_partitions(table)
    replaced = load(table, "a", "2")
    load(table, "b", "3")
    expire(table, replaced)
    assert [loaded_content(table, s) for s in "ab"] == ["", "3"]
    note_partitions(table)
    assert [loaded_content(table, s) for s in "ab"] == ["", "3"]


def test_rollback_forgets_later_loads(table: IcebergTable) -> None:
    first = load(table, "a", "1")
    load(table, "a", "2")
    note_partitions(table)
    table.manage_snapshots().rollback_to_snapshot(first).commit()
    assert loaded_content(table, "a") == "1"


def test_tag_lifetime_does_not_depend_on_the_snapshots_age(
    table: IcebergTable, settings: Settings
) -> None:
    old, new = load(table, "a", "1"), load(table, "a", "2")
    make_older(table, old, days=400)
    assert pin(settings, TABLE, "run/1", old) == old
    assert pin(settings, TABLE, "run/2") == new
    assert pin(settings, Table("missing"), "run/3") is None
    table_ = load_table(settings, TABLE)
    assert table_ is not None
    assert table_.metadata.current_snapshot_id == new
    tags = {name: ref for name, ref in table_.refs().items() if name != "main"}
    assert {name: tag.snapshot_id for name, tag in tags.items()} == {"run/1": old, "run/2": new}
    times = {snapshot.snapshot_id: snapshot.timestamp_ms for snapshot in table_.snapshots()}
    assert times[new] - times[old] >= 400 * DAY
    end = time() * 1000 + settings.keep_model_inputs_days * DAY
    for tag in tags.values():
        assert times[tag.snapshot_id] + (tag.max_ref_age_ms or 0) == pytest.approx(end, abs=60_000)


def test_concurrent_tags_and_rows_are_all_kept(table: IcebergTable, settings: Settings) -> None:
    load(table, "a", "1")

    def write(writer: int) -> None:
        for n in range(5):
            pin(settings, TABLE, f"{writer}/{n}")
            own = load_table(settings, TABLE)
            assert own is not None
            if not writer:
                own.append(pa.table({"id": [n]}))

    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(write, range(WRITERS)))
    table_ = load_table(settings, TABLE)
    assert table_ is not None
    assert len(table_.refs()) == WRITERS * 5 + 1
    assert table_.scan().to_arrow().num_rows == 6
