"""Lineage events of the jobs in addition to Spark's listener. An error here never fails a job.

DataHub's converter rejects an event unless it has the facet `processing_engine` and a known
producer of the parent facet, such as openlineage-python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
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

PRODUCER = "https://github.com/headwater-lineage/two-orchestrators-one-lineage"
COMMIT_REPORT = (
    "https://openlineage.io/spec/facets/1-0-0/IcebergCommitReportOutputDatasetFacet.json"
)
PARTITION_SOURCES = f"{PRODUCER}/blob/main/docs/how-to/incidents.md"
"""Description of the facet `headwater_partitionSources`, which has no schema."""

LAUNCHER = "spark.lakehouse.launcher"
"""Spark property: the engine of the parent run, if it is not Airflow."""

P = ParamSpec("P")


@dataclass(frozen=True)
class Source:
    """A dataset, or one of its partitions (columns and values), from which rows come."""

    dataset: DatasetName
    partition: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Loaded:
    """A partition that a run replaced, or found to have the same rows already.

    It is identified by its columns and values. `sources` are all sources of its rows; empty if they
    are unknown.
    """

    partition: Mapping[str, str]
    sources: tuple[Source, ...] = ()


PARENT_KEYS = (
    "parentRunId",
    "parentJobNamespace",
    "parentJobName",
    "rootParentRunId",
    "rootParentJobNamespace",
    "rootParentJobName",
)


def lineage_parent(spark: SparkSession) -> dict[str, str]:
    """Return the parent run that the launcher passed to this application; empty without one."""
    conf = spark.sparkContext.getConf()
    values = {key: conf.get(f"spark.openlineage.{key}") for key in PARENT_KEYS}
    return {k: v for k, v in values.items() if v} if all(values.values()) else {}


def _never_failing(report: Callable[P, None]) -> Callable[P, None]:
    """Turn any exception of a report into a warning."""

    @wraps(report)
    def call(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            report(*args, **kwargs)
        except Exception as error:
            print(f"warning: lineage is incomplete: {error!r}")  # noqa: T201 - task log

    return call


@_never_failing
def report_checks(
    spark: SparkSession, settings: Settings, name: DatasetName, assertions: list[dict[str, Any]]
) -> None:
    """Report `dataQualityAssertions` of a dataset as a child run of the task."""
    with _client(settings) as client:
        from openlineage.client.constants import DEFAULT_PRODUCER
        from openlineage.client.event_v2 import InputDataset, Job, Run, RunEvent, RunState
        from openlineage.client.facet_v2 import data_quality_assertions_dataset as quality
        from openlineage.client.facet_v2 import job_type_job, parent_run
        from openlineage.client.uuid import generate_new_uuid

        quality_assertions = [quality.Assertion(**assertion) for assertion in assertions]
        facet = quality.DataQualityAssertionsDatasetFacet(quality_assertions)
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


@_never_failing
def report_commit(
    spark: SparkSession,
    settings: Settings,
    table: Table,
    snapshot: Snapshot,
    loaded: Sequence[Loaded] = (),
    *,
    has_written: bool = True,
) -> None:
    """Report the version and the rows of a commit as an event of the parent run.

    The added and the total rows show whether the files of earlier loads are still upstream, and
    `loaded` which of them. Spark's listener reports the rows only for tables that were not loaded
    before its first event, and on a busy machine it sometimes leaves out the version. If the run
    has not written, because all partitions had the same rows already, the event names their sources
    as inputs, and the snapshot is that of an earlier run.
    """
    parent = lineage_parent(spark)
    summary = snapshot.summary
    if not parent or summary is None:
        return
    with _client(settings) as client:
        from openlineage.client.event_v2 import (
            InputDataset,
            Job,
            OutputDataset,
            Run,
            RunEvent,
            RunState,
        )
        from openlineage.client.facet_v2 import base_subset_dataset as subset
        from openlineage.client.facet_v2 import dataset_version_dataset as version
        from openlineage.client.facet_v2 import lifecycle_state_change_dataset as lifecycle

        name = table.dataset(settings)
        facets: dict[str, Any] = {
            "version": version.DatasetVersionDatasetFacet(str(snapshot.snapshot_id))
        }
        metrics = {
            "addedRecords": int(summary["added-records"] or 0),
            "totalRecords": int(summary["total-records"] or 0),
        }
        report: Any = {"_producer": PRODUCER, "_schemaURL": COMMIT_REPORT, "commitMetrics": metrics}
        output_facets = {"icebergCommitReport": report} if has_written else {}
        if loaded:
            condition = subset.PartitionSubsetCondition(
                [subset.Partition(dict(load.partition)) for load in loaded]
            )
            output_facets["subset"] = subset.OutputSubsetOutputDatasetFacet(condition)
            output_facets["headwater_partitionSources"] = _partition_sources(loaded)
            facets["lifecycleStateChange"] = lifecycle.LifecycleStateChangeDatasetFacet(
                lifecycle.LifecycleStateChange.OVERWRITE
            )
        sources = {source.dataset: None for load in loaded for source in load.sources}
        dataset = OutputDataset(
            name.namespace, name.name, facets=facets, outputFacets=output_facets
        )
        launcher = spark.sparkContext.getConf().get(LAUNCHER, "Airflow")
        client.emit(
            RunEvent(
                eventTime=_now(),
                producer=PRODUCER,
                run=Run(parent["parentRunId"], _engine(launcher, "unknown")),
                job=Job(parent["parentJobNamespace"], parent["parentJobName"]),
                eventType=RunState.RUNNING,  # DataHub rejects OTHER
                inputs=[] if has_written else [InputDataset(s.namespace, s.name) for s in sources],
                outputs=[dataset],
            )
        )


def _partition_sources(loaded: Iterable[Loaded]) -> Any:
    """Return the facet with all sources of each partition for which they are known."""
    partitions = [
        {
            "dimensions": dict(load.partition),
            "inputs": [
                {"namespace": source.dataset.namespace, "name": source.dataset.name}
                | (
                    {"partition": {"dimensions": dict(source.partition)}}
                    if source.partition
                    else {}
                )
                for source in load.sources
            ],
        }
        for load in loaded
        if load.sources
    ]
    return {"_producer": PRODUCER, "_schemaURL": PARTITION_SOURCES, "partitions": partitions}


def _engine(name: str, version: str) -> dict[str, Any]:
    from openlineage.client.facet_v2 import processing_engine_run

    return {"processing_engine": processing_engine_run.ProcessingEngineRunFacet(version, name)}


def _now() -> str:
    return datetime.now(UTC).isoformat()


def _client(settings: Settings) -> closing[OpenLineageClient]:
    from openlineage.client import OpenLineageClient, set_producer

    set_producer(PRODUCER)
    return closing(OpenLineageClient(config={"transport": python_transport(settings)}))
