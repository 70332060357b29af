"""What the catalog remembers of tables, without a JVM."""

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
    """A load as the jobs leave it in the history; its snapshot."""
    table.refresh()
    properties = {PARTITION: partition, CONTENT_HASH: content, SOURCE_HASH: f"file {content}"}
    table.append(pa.table({"id": [1]}), snapshot_properties=properties)
    return table.metadata.current_snapshot_id or 0


def expire(table: IcebergTable, *snapshots: int) -> None:
    table.maintenance.expire_snapshots().by_ids(list(snapshots)).commit()


def test_what_was_loaded_is_known_after_its_snapshot_has_expired(table: IcebergTable) -> None:
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


def test_what_was_noted_does_not_count_once_somebody_else_expires_what_came_after(
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


def test_a_rollback_takes_back_what_was_known_of_later_loads(table: IcebergTable) -> None:
    first = load(table, "a", "1")
    load(table, "a", "2")
    note_partitions(table)
    table.manage_snapshots().rollback_to_snapshot(first).commit()
    assert loaded_content(table, "a") == "1"


def test_a_tag_lasts_as_long_as_the_setting_says_however_old_its_snapshot_is(
    table: IcebergTable, settings: Settings
) -> None:
    old, new = load(table, "a", "1"), load(table, "a", "2")
    make_older(table, old, days=400)
    assert pin(settings, TABLE, "run/1", old) == old
    assert pin(settings, TABLE, "run/2") == new
    assert pin(settings, Table("missing"), "run/3") is None
    held = load_table(settings, TABLE)
    assert held is not None
    assert held.metadata.current_snapshot_id == new
    tags = {name: ref for name, ref in held.refs().items() if name != "main"}
    assert {name: tag.snapshot_id for name, tag in tags.items()} == {"run/1": old, "run/2": new}
    times = {each.snapshot_id: each.timestamp_ms for each in held.snapshots()}
    assert times[new] - times[old] >= 400 * DAY
    end = time() * 1000 + settings.keep_model_inputs_days * DAY
    for tag in tags.values():
        assert times[tag.snapshot_id] + (tag.max_ref_age_ms or 0) == pytest.approx(end, abs=60_000)


def test_tags_and_rows_written_at_once_are_all_kept(
    table: IcebergTable, settings: Settings
) -> None:
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
    held = load_table(settings, TABLE)
    assert held is not None
    assert len(held.refs()) == WRITERS * 5 + 1
    assert held.scan().to_arrow().num_rows == 6
