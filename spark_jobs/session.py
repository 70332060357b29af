"""Configuration of Spark: catalog, jars and lineage.

It is the same for a driver that spark-submit starts and for a session in a Metaflow step or a
test. docs/explanation/spark.md explains the less obvious keys.
"""

from __future__ import annotations

import os
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

from lakehouse.aws_profile import endpoint, use_profile
from lakehouse.backends import is_on, spark_transport
from lakehouse.names import CATALOG, LOCAL_NAMESPACE
from lakehouse.network import java_options
from lakehouse.settings import Settings
from spark_jobs.archive import archive_options
from spark_jobs.runtime import classpath, java_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOG_CONFIG = Path(__file__).resolve().with_name("log4j2.properties")
"""Log configuration of the driver, which limits the log of a failed lineage event to one line."""

QUIET_FACETS = (
    "spark_properties",
    "spark_applicationDetails",
    "environment-properties",
    "spark_jobDetails",
    "spark.logicalPlan",
    "spark_unknown",
    "icebergScanReport",
    "icebergCommitReport",
)


def submit_conf(settings: Settings) -> dict[str, str]:
    """Return the properties that must be set before the driver's JVM starts, as --conf.

    They contain no secrets, because every user of the machine can read command lines.
    """
    path = classpath(settings)
    loopback = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    return {
        **(loopback if settings.spark_master.startswith("local") else {}),
        "spark.driver.memory": settings.spark_driver_memory,
        "spark.driver.extraClassPath": path,
        "spark.driver.extraJavaOptions": _driver_options(settings),
        "spark.executor.extraClassPath": path,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "WARN",
    }


def _driver_options(settings: Settings) -> str:
    # Spark splits its options at unquoted spaces.
    network = (
        f'"{option}"' if " " in option else option for option in java_options(settings.state_dir)
    )
    log = f"-Dlog4j2.configurationFile={LOG_CONFIG.as_uri()}"  # first: a setting overrides it
    return " ".join(
        filter(None, [log, settings.spark_java_options, archive_options(settings), *network])
    )


def session_conf(settings: Settings, spool_name: str) -> dict[str, str]:
    """Return the properties of catalog, SQL and lineage, which the driver itself sets.

    `spool_name` is the name of the application's own spool file.
    """
    return {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "8",
        "spark.sql.warehouse.dir": str(
            settings.state_dir / "spark-warehouse"
        ),  # default: the working folder
        "spark.sql.extensions": (
            "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
        ),
        **_catalog(settings),
        **(_lineage(settings, spool_name) if is_on(settings) else {}),
    }


def _catalog(settings: Settings) -> dict[str, str]:
    at = f"spark.sql.catalog.{CATALOG}"
    common = {at: "org.apache.iceberg.spark.SparkCatalog", f"{at}.warehouse": settings.warehouse}
    if settings.lakehouse == "glue":
        glue = {
            # Not `type=glue`: OpenLineage's listener detects a Glue catalog by this key only.
            f"{at}.catalog-impl": "org.apache.iceberg.aws.glue.GlueCatalog",
            "spark.glue.accountId": settings.aws_account,
            f"{at}.io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
            f"{at}.client.region": settings.aws_region,
        }
        if url := endpoint(settings, "glue"):
            glue[f"{at}.glue.endpoint"] = url
        if url := endpoint(settings, "s3"):
            glue |= {f"{at}.s3.endpoint": url, f"{at}.s3.path-style-access": "true"}
        return common | glue
    database = settings.state_dir / "catalog.db"
    return common | {
        f"{at}.type": "jdbc",
        # In capitals, because OpenLineage's listener interprets a lower-case `uri` as a Hive
        # metastore and drops all tables. Iceberg accepts both (docs/explanation/spark.md).
        f"{at}.URI": f"jdbc:sqlite:{database}?busy_timeout=30000&journal_mode=WAL",
        f"{at}.jdbc.schema-version": "V1",
        # Never contacted; the listener only derives table names from it.
        "spark.hadoop.hive.metastore.uris": LOCAL_NAMESPACE.replace("hive://", "thrift://"),
    }


def _lineage(settings: Settings, spool_name: str) -> dict[str, str]:
    quiet = {f"spark.openlineage.facets.{name}.disabled": "true" for name in QUIET_FACETS}
    return {
        "spark.extraListeners": "io.openlineage.spark.agent.OpenLineageSparkListener",
        "spark.openlineage.namespace": settings.job_namespace,
        "spark.openlineage.columnLineage.datasetLineageEnabled": "true",
        "spark.openlineage.filter.rddEventsDisabled": "true",
        **quiet,
        **spark_transport(settings, spool_name),
    }


def open_session(
    settings: Settings, app_name: str, conf: dict[str, str] | None = None
) -> SparkSession:
    """Create the Spark session, or configure the one that spark-submit started.

    `conf` overrides other properties; a Metaflow step passes its lineage parent in it.
    """
    from pyspark.sql import SparkSession

    os.environ.setdefault("AWS_REGION", settings.aws_region)  # for OpenLineage's listener
    use_profile(settings, os.environ)
    _make_spool(settings)
    spool_name = f"spark-{app_name}-{uuid.uuid4().hex[:12]}"
    builder = SparkSession.builder.appName(app_name)
    if "PYSPARK_GATEWAY_PORT" not in os.environ:  # not under spark-submit
        os.environ.setdefault("JAVA_HOME", str(java_home(settings)))
        builder = builder.master(settings.spark_master)
        builder = _configured(builder, submit_conf(settings))
    return _configured(builder, session_conf(settings, spool_name) | (conf or {})).getOrCreate()


def _make_spool(settings: Settings) -> None:
    """Create the folder that the listener writes to; on an error, run the job without lineage."""
    try:
        settings.spool_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        print(f"warning: no lineage of this application: the spool cannot be created: {error}")  # noqa: T201 - task log


def _configured(builder: SparkSession.Builder, conf: dict[str, str]) -> SparkSession.Builder:
    for key, value in conf.items():
        builder = builder.config(key, value)
    return builder
