"""A job completes even if its lineage cannot be written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lakehouse.catalog import load_table, staged_sources
from lakehouse.names import Table, file_dataset
from lakehouse.settings import Settings
from spark_jobs.lineage import report_checks, report_commit

from .test_drivers import SPEC, driver, month_file

pytestmark = pytest.mark.spark


def test_driver_stages_a_month_without_a_spool_folder(
    make_settings: Callable[..., Settings], tmp_path: Path
) -> None:
    settings = make_settings("without-spool", lineage_backend="file")
    settings.spool_dir.parent.mkdir(parents=True, exist_ok=True)
    settings.spool_dir.write_text("a file in the way")
    partition = month_file(tmp_path, 1, 1_000)
    process = driver(settings, "stage", [partition])
    log = settings.state_dir / "logs" / f"stage-{partition.name}.log"
    assert process.wait(300) == 0, log.read_text()
    assert "warning: no lineage of this application" in log.read_text()
    staging = load_table(settings, SPEC.staging.table)
    assert staging is not None
    assert staging.scan().to_arrow().num_rows == 1_000
    assert staged_sources(staging) == {partition.name: partition.source_hash}
    assert settings.spool_dir.read_text() == "a file in the way"


class _Broken:
    """A Spark session whose configuration cannot be read."""

    @property
    def sparkContext(self) -> Any:
        raise OSError("gone")


@pytest.mark.parametrize("backend", ["no such backend", "file"])
def test_failed_report_is_a_warning(
    backend: str, make_settings: Callable[..., Settings], capsys: pytest.CaptureFixture[str]
) -> None:
    settings = make_settings("broken-lineage").model_copy(update={"lineage_backend": backend})
    spark: Any = _Broken()
    checks = [{"assertion": "not_null", "success": True, "column": None}]
    report_checks(spark, settings, file_dataset("/landing/a.parquet"), checks)
    snapshot: Any = SimpleNamespace(summary=None)
    report_commit(spark, settings, Table("t"), snapshot)
    assert capsys.readouterr().out.count("warning: lineage is incomplete") == 2
