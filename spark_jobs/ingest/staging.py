"""The job stage: load landed files into staging."""

from __future__ import annotations

import json

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lakehouse.catalog import STAGED
from lakehouse.ingest import Partition
from lakehouse.names import file_dataset
from lakehouse.settings import Settings
from spark_jobs.ingest.files import naming_files, report_drift, typed_query
from spark_jobs.ingest.spec import Spec
from spark_jobs.lineage import Source
from spark_jobs.quarantine import Sifted, sift, unchanged, write_quarantine
from spark_jobs.tables import ensure_table, loaded_from, report_newest_commit


def stage(spark: SparkSession, settings: Settings, spec: Spec, partitions: list[Partition]) -> None:
    """Load landed files into staging, which then contains only these partitions.

    Raises:
        BadSourceFile: a file cannot be read, fails its source's check or has another schema.
            Staging is unchanged.
    """
    ensure_table(spark, settings, spec.staging)
    rows: DataFrame | None = None
    sifted: list[Sifted] = []
    for partition in partitions:
        if spec.check_files:
            spec.check_files(settings, partition)
        with naming_files(partition):
            query, drift = typed_query(spark, spec, partition)
        report_drift(spark, settings, partition, drift)
        if spec.rules:
            narrowed = (unchanged(name, spec.columns[name]) for name in drift.narrowed)
            sifted.append(sift(spark, query, partition, (*spec.rules(partition), *narrowed)))
            typed = sifted[-1].possible.select(*spec.staging.columns)
        else:
            typed = spark.sql(query)
        rows = typed if rows is None else rows.unionByName(typed)
    if rows is not None:
        with naming_files(*partitions):
            sources = json.dumps(
                {partition.name: partition.source_hash for partition in partitions}
            )
            writer = rows.writeTo(spec.staging.table.spark)
            writer.option(f"snapshot-property.{STAGED}", sources).overwrite(F.lit(True))
            loaded = [loaded_from(partition.name, *_files(partition)) for partition in partitions]
            report_newest_commit(spark, settings, spec.staging.table, loaded)
            if sifted:
                write_quarantine(spark, settings, spec.quarantine, spec.staging.table, sifted)


def _files(partition: Partition) -> list[Source]:
    return [Source(file_dataset(path)) for path in partition.paths]
