"""Record Spark with OpenLineage's listener: files and JDBC, and SQL on tables."""

from __future__ import annotations

import os
from pathlib import Path

from .recording import copied, keep, run

_JARS = [
    "io.openlineage:openlineage-spark_2.13:1.53.0",
    "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",
    "org.xerial:sqlite-jdbc:3.54.1.0",
]
NOISE = (
    "spark_properties",
    "spark_applicationDetails",
    "environment-properties",
    "spark_jobDetails",
    "icebergScanReport",
    "icebergCommitReport",
    "spark.logicalPlan",
    "spark_unknown",
    "debug",
)


def main() -> None:
    """Record a case for each script."""
    for script in ("tables", "files", "renames"):
        case = f"spark-{script}"
        with copied("spark") as folder:
            events = folder / "events.jsonl"
            events.touch()
            command = ["spark-submit", *_options(case, folder, events), f"{script}.py"]
            environment = {"SHOP": str(folder), "JAVA_HOME": os.environ.get("JAVA_HOME", "")}
            run(["pyspark==4.1.4"], command, folder, environment)
            keep(case, events, folder, {"/srv/shop/": f"/srv/{case}/"})


def _options(case: str, folder: Path, events: Path) -> list[str]:
    catalog = "spark.sql.catalog.lake"
    settings = {
        "spark.app.name": "shop",
        "spark.master": "local[1]",
        "spark.jars.packages": ",".join(_JARS),
        "spark.jars.ivy": os.environ.get("IVY", str(folder / "ivy")),
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.warehouse.dir": str(folder / "spark-warehouse"),
        "spark.sql.extensions": (
            "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
        ),
        catalog: "org.apache.iceberg.spark.SparkCatalog",
        f"{catalog}.type": "jdbc",
        # In lower case, the listener fails to parse it (see docs of OpenLineage with Iceberg).
        f"{catalog}.URI": f"jdbc:sqlite:{folder}/catalog.db",
        f"{catalog}.jdbc.schema-version": "V1",
        f"{catalog}.warehouse": str(folder / "warehouse"),
        "spark.hadoop.hive.metastore.uris": f"thrift://{case}.example.org:9083",
        "spark.extraListeners": "io.openlineage.spark.agent.OpenLineageSparkListener",
        "spark.openlineage.transport.type": "file",
        "spark.openlineage.transport.location": str(events),
        "spark.openlineage.namespace": case,
        "spark.openlineage.filter.rddEventsDisabled": "true",
        "spark.openlineage.columnLineage.datasetLineageEnabled": "true",
        **{f"spark.openlineage.facets.{name}.disabled": "true" for name in NOISE},
    }
    return [item for key, value in settings.items() for item in ("--conf", f"{key}={value}")]
