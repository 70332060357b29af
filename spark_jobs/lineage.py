"""What the jobs tell lineage beside what Spark's listener sees. Nothing here can break a job.

DataHub's converter refuses an event unless it finds what runs its job, by `processing_engine`, and
knows the producer of its parent facet, as it does openlineage-python.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec

from lakehouse.backends import python_transport
from lakehouse.names import DatasetName, Table
from lakehouse.settings import Settings

if TYPE_CHECKING:
    from openlineage.client import OpenLineageClient
    from pyiceberg.table.snapshots import Snapshot
    from pyspark.sql import SparkSession

PRODUCER = "https://github.com/throughline-lineage/two-orchestrators-one-lineage"
COMMIT_REPORT = (
    "https://openlineage.io/spec/facets/1-0-0/IcebergCommitReportOutputDatasetFacet.json"
)

LAUNCHER = "spark.lakehouse.launcher"
"""The engine of the run that started the application, if that is not Airflow."""

P = ParamSpec("P")

PARENT_KEYS = (
    "parentRunId",
    "parentJobNamespace",
    "parentJobName",
    "rootParentRunId",
    "rootParentJobNamespace",
    "rootParentJobName",
)


def lineage_parent(spark: SparkSession) -> dict[str, str]:
    """The run that started this application, as its launcher told; empty if it told nothing."""
    conf = spark.sparkContext.getConf()
    found = {key: conf.get(f"spark.openlineage.{key}") for key in PARENT_KEYS}
    return {k: v for k, v in found.items() if v} if all(found.values()) else {}


def _harmless(report: Callable[P, None]) -> Callable[P, None]:
    """Turn any exception of a report into a warning."""

    @wraps(report)
    def call(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            report(*args, **kwargs)
        except Exception as error:
            print(f"warning: lineage was not reported in full: {error!r}")  # noqa: T201 - task log

    return call


@_harmless
def tell_checks(
    spark: SparkSession, settings: Settings, name: DatasetName, assertions: list[dict[str, Any]]
) -> None:
    """Assertions on a dataset as one run below the task, with `dataQualityAssertions`."""
    with _client(settings) as client:
        from openlineage.client.constants import DEFAULT_PRODUCER
        from openlineage.client.event_v2 import InputDataset, Job, Run, RunEvent, RunState
        from openlineage.client.facet_v2 import data_quality_assertions_dataset as quality
        from openlineage.client.facet_v2 import job_type_job, parent_run
        from openlineage.client.uuid import generate_new_uuid

        made = [quality.Assertion(**assertion) for assertion in assertions]
        facet = quality.DataQualityAssertionsDatasetFacet(made)
        dataset = InputDataset(
            name.namespace, name.name, inputFacets={"dataQualityAssertions": facet}
        )
        run_facets = _engine("spark", spark.version)
        if parent := lineage_parent(spark):
            run_facets["parent"] = parent_run.ParentRunFacet(
                run=parent_run.Run(parent["parentRunId"]),
                job=parent_run.Job(parent["parentJobNamespace"], parent["parentJobName"]),
                root=parent_run.Root(
                    run=parent_run.RootRun(parent["rootParentRunId"]),
                    job=parent_run.RootJob(
                        parent["rootParentJobNamespace"], parent["rootParentJobName"]
                    ),
                ),
                producer=DEFAULT_PRODUCER,
            )
        kind = job_type_job.JobTypeJobFacet("BATCH", "SPARK", "QUERY")
        job = Job(settings.job_namespace, f"{spark.sparkContext.appName}.checks", {"jobType": kind})
        run = Run(str(generate_new_uuid()), run_facets)
        for state in (RunState.START, RunState.COMPLETE):
            client.emit(
                RunEvent(
                    eventTime=_now(),
                    producer=PRODUCER,
                    run=run,
                    job=job,
                    eventType=state,
                    inputs=[dataset],
                )
            )


@_harmless
def tell_commit(spark: SparkSession, settings: Settings, table: Table, snapshot: Snapshot) -> None:
    """What a commit added and what it kept, as a further event of the run that started this one.

    From it follows that the files of earlier loads are still upstream. Spark's listener reports it
    only for tables that were not loaded before its first event, so it is not left to that.
    """
    parent = lineage_parent(spark)
    summary = snapshot.summary
    if not parent or summary is None:
        return
    with _client(settings) as client:
        from openlineage.client.event_v2 import Job, OutputDataset, Run, RunEvent, RunState
        from openlineage.client.facet_v2 import dataset_version_dataset as version

        name = table.dataset(settings)
        metrics = {
            "addedRecords": int(summary["added-records"] or 0),
            "totalRecords": int(summary["total-records"] or 0),
        }
        report: Any = {"_producer": PRODUCER, "_schemaURL": COMMIT_REPORT, "commitMetrics": metrics}
        dataset = OutputDataset(
            name.namespace,
            name.name,
            facets={"version": version.DatasetVersionDatasetFacet(str(snapshot.snapshot_id))},
            outputFacets={"icebergCommitReport": report},
        )
        launcher = spark.sparkContext.getConf().get(LAUNCHER, "Airflow")
        client.emit(
            RunEvent(
                eventTime=_now(),
                producer=PRODUCER,
                run=Run(parent["parentRunId"], _engine(launcher, "unknown")),
                job=Job(parent["parentJobNamespace"], parent["parentJobName"]),
                eventType=RunState.RUNNING,  # DataHub refuses OTHER
                outputs=[dataset],
            )
        )


def _engine(name: str, version: str) -> dict[str, Any]:
    from openlineage.client.facet_v2 import processing_engine_run

    return {"processing_engine": processing_engine_run.ProcessingEngineRunFacet(version, name)}


def _now() -> str:
    return datetime.now(UTC).isoformat()


def _client(settings: Settings) -> closing[OpenLineageClient]:
    from openlineage.client import OpenLineageClient, set_producer

    set_producer(PRODUCER)
    return closing(OpenLineageClient(config={"transport": python_transport(settings)}))
