"""Read the landed files of a partition with typed columns, and report their differences."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from lakehouse.errors import BadSourceFile
from lakehouse.ingest import Partition
from lakehouse.names import file_dataset
from lakehouse.settings import Settings
from spark_jobs.conform import Drift, conform
from spark_jobs.ingest.spec import Spec
from spark_jobs.lineage import report_checks
from spark_jobs.tables import PARTITION_COLUMN, literal


def typed_query(spark: SparkSession, spec: Spec, partition: Partition) -> tuple[str, Drift]:
    """Return the query for a partition's files with typed columns, and the files' differences."""
    files = spec.read(spark, partition)
    schema = spark.sql(f"SELECT * FROM {files}").schema
    select, drift = conform(schema, spec.columns, spec.required, partition.name)
    select.append(f"{literal(partition.name)} AS {PARTITION_COLUMN}")
    return "SELECT\n  " + ",\n  ".join(select) + f"\nFROM {files}", drift


@contextmanager
def naming_files(*partitions: Partition) -> Iterator[None]:
    """Re-raise Spark read errors as BadSourceFile, naming the files."""
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        paths = ", ".join(path for partition in partitions for path in partition.paths)
        causes = [line for line in str(error).splitlines() if "Exception: " in line]
        cause = (causes or [str(error)])[-1].split("Exception: ", 1)[-1]
        raise BadSourceFile(
            f"Spark cannot read {paths}: {cause}. Check the file at its publisher, delete the "
            "landed file, then run the task again."
        ) from error


def report_drift(
    spark: SparkSession, settings: Settings, partition: Partition, drift: Drift
) -> None:
    """Log the columns that a file lacks, and report unknown columns to lineage."""
    if drift.missing:
        print(f"{drift.file} lacks {', '.join(drift.missing)}: null")  # noqa: T201 - task log
    if not drift.unknown:
        return
    names = ", ".join(drift.unknown)
    print(f"warning: {drift.file}: unknown columns ignored: {names}")  # noqa: T201 - task log
    failed: dict[str, Any] = {"assertion": "known_columns", "success": False, "severity": "warn"}
    failed |= {"expected": "only columns of the table", "actual": names}
    for path in partition.paths:
        report_checks(spark, settings, file_dataset(path), [failed])
