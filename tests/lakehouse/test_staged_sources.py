"""A run checks and publishes only files that it staged itself."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from lakehouse.catalog import (
    PASSED,
    STAGED,
    Contents,
    Passed,
    load_table,
    note_passed,
    open_catalog,
    passed_contents,
    staged_sources,
)
from lakehouse.errors import ChecksFailed, Conflict
from lakehouse.ingest import Partition
from lakehouse.names import DATABASE
from lakehouse.settings import Settings
from spark_jobs import ingest, taxi

SPEC = taxi.SPECS["yellow"]
FIRST = Partition("a.parquet", ("/landing/a.parquet",), "first")
SECOND = Partition("a.parquet", ("/landing/a.parquet",), "second")
NO_SPARK: Any = None


def staged(settings: Settings, partition: Partition, rows: int) -> Any:
    """Return the staging table after staging rows like Spark's job `stage`."""
    data = pa.table({"filename": [partition.name] * rows})
    catalog = open_catalog(settings)
    catalog.create_namespace_if_not_exists(DATABASE)
    table = catalog.create_table_if_not_exists(SPEC.staging.table.identifier, data.schema)
    table.append(
        data, snapshot_properties={STAGED: json.dumps({partition.name: partition.source_hash})}
    )
    return table


def test_check_rejects_files_staged_by_another_run(settings: Settings) -> None:
    staged(settings, FIRST, 3)
    staged(settings, SECOND, 2)
    theirs = "a.parquet with the source hash second, but this run loads first"
    with pytest.raises(Conflict, match=theirs):
        ingest.check_staging(NO_SPARK, settings, SPEC, [FIRST])
    table = load_table(settings, SPEC.staging.table)
    assert table is not None
    assert PASSED not in table.properties


def test_merge_rejects_files_staged_and_checked_by_another_run(settings: Settings) -> None:
    staged(settings, FIRST, 3)
    table = staged(settings, SECOND, 2)
    with pytest.raises(ChecksFailed, match="has not passed its checks"):
        ingest.merge(NO_SPARK, settings, SPEC, [SECOND])
    contents = {"a.parquet": Contents(2, 2, "digest")}
    note_passed(table, contents)
    table.refresh()
    assert staged_sources(table) == {"a.parquet": "second"}
    passed = Passed(table.metadata.current_snapshot_id, contents, {"a.parquet": "second"})
    assert passed_contents(table) == passed
    with pytest.raises(Conflict, match=r"the source hash second, but this run loads first.*stage"):
        ingest.merge(NO_SPARK, settings, SPEC, [FIRST])
    staged(settings, FIRST, 3)
    with pytest.raises(ChecksFailed, match="has not passed its checks"):
        ingest.merge(NO_SPARK, settings, SPEC, [SECOND])


def test_staging_without_sources_is_rejected(settings: Settings) -> None:
    """Use a table from an earlier version of the job `stage`, which stored no sources."""
    table = staged(settings, FIRST, 1)
    table.append(pa.table({"filename": [FIRST.name]}))
    with pytest.raises(Conflict, match="the source hash unknown, but this run loads first"):
        ingest.check_staging(NO_SPARK, settings, SPEC, [FIRST])
