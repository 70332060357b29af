"""Run the operations of the jobs, so that Java writes an archive of their classes at its exit.

`archive.py` starts it: `python -m spark_jobs.archive_training WORK BASE TARGET`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import functions as F

from lakehouse.names import Table
from lakehouse.settings import load_settings
from spark_jobs.runtime import classpath
from spark_jobs.session import open_session
from spark_jobs.tables import TableSchema, contents, ensure_table, first_of_each


def train(work: str, base: str, target: str) -> None:
    """Run the operations of the jobs in a temporary lakehouse, to archive the classes they use."""
    settings = load_settings()
    scratch = settings.model_copy(
        update={"state_dir": Path(work), "lakehouse": "local", "lineage_backend": "file"}
    )
    conf = {
        # An archive is only valid for one class path: the one of the drivers.
        "spark.driver.extraClassPath": classpath(settings),
        "spark.driver.extraJavaOptions": (
            # C2 would need a third of the CPU time of this short program.
            "-XX:TieredStopAtLevel=1 "
            f"-XX:SharedArchiveFile={base} -XX:ArchiveClassesAtExit={target}"
        ),
    }
    with open_session(scratch, "archive", conf) as spark:
        schema = TableSchema(Table("scratch"), {"id": "bigint", "part": "bigint"}, ("part",))
        ensure_table(spark, scratch, schema)
        rows = spark.range(100).selectExpr("id", "id % 2 AS part")
        rows.write.parquet(f"{work}/scratch.parquet")
        read = first_of_each(spark.read.parquet(f"{work}/scratch.parquet"), "id")
        contents(read, ["id"], by=F.col("part").cast("string"))
        read.writeTo(schema.table.spark).overwrite(F.lit(True))


if __name__ == "__main__":
    train(*sys.argv[1:])
