"""Checks of what is about to be published, in one pass, reported as lineage."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lakehouse.backends import python_transport
from lakehouse.errors import ChecksFailed
from lakehouse.names import Table
from lakehouse.settings import Settings


@dataclass(frozen=True)
class Check:
    """A rule for rows: `violated` is SQL that is true for a row that breaks it.

    More than `tolerated` (a share of the rows, 0 to 1) is critical; up to it is a warning.
    """

    assertion: str
    violated: str
    column: str | None = None
    tolerated: float = 0.0


@dataclass(frozen=True)
class Result:
    """A check and how many of how many rows broke it."""

    check: Check
    broken: int
    rows: int

    @property
    def critical(self) -> bool:
        """Whether nothing may be published."""
        return self.rows == 0 or self.broken > self.check.tolerated * self.rows

    def __str__(self) -> str:
        share = f"{self.broken:,} of {self.rows:,} rows"
        column = f" {self.check.column}" if self.check.column else ""
        return f"{self.check.assertion}{column}: {share} break `{self.check.violated}`"


def run_checks(rows: DataFrame, checks: tuple[Check, ...]) -> list[Result]:
    """Every check's result, from one pass over the rows."""
    counts = [F.count_if(F.expr(check.violated)).alias(f"c{n}") for n, check in enumerate(checks)]
    found = rows.agg(F.count("*").alias("rows"), *counts).first()
    assert found is not None  # an aggregate without groups always has its one row
    return [Result(check, found[f"c{n}"], found["rows"]) for n, check in enumerate(checks)]


def report(spark: SparkSession, settings: Settings, table: Table, results: list[Result]) -> None:
    """Tell lineage, and refuse to go on if a result is critical.

    Raises:
        ChecksFailed: names each critical check, its count and its condition.
    """
    try:
        emit(spark, settings, table, results)
    except Exception as error:  # whatever the backend does, lineage must not break the load
        print(f"warning: the checks did not reach lineage: {error!r}")  # noqa: T201 - task log
    for result in results:
        if result.broken:
            print(f"{'CRITICAL' if result.critical else 'warning'}: {result}")  # noqa: T201 - task log
    critical = [str(result) for result in results if result.critical]
    if critical:
        raise ChecksFailed(
            f"{table.name}: {'; '.join(critical)}. Nothing was published; correct the source "
            "file or the check, then run the task again."
        )


def emit(spark: SparkSession, settings: Settings, table: Table, results: list[Result]) -> None:
    """The results as one run below the task, with `dataQualityAssertions` on the table."""
    from openlineage.client import OpenLineageClient
    from openlineage.client.event_v2 import InputDataset, Job, Run, RunEvent, RunState
    from openlineage.client.facet_v2 import data_quality_assertions_dataset as quality
    from openlineage.client.facet_v2 import job_type_job, parent_run
    from openlineage.client.uuid import generate_new_uuid

    name = table.dataset(settings)
    assertions = [
        quality.Assertion(
            assertion=result.check.assertion,
            success=result.broken == 0,
            column=result.check.column,
            severity="error" if result.critical else "warn",
            expected=f"at most {result.check.tolerated:.0%} of rows with {result.check.violated}",
            actual=str(result.broken),
        )
        for result in results
    ]
    dataset = InputDataset(
        name.namespace,
        name.name,
        inputFacets={
            "dataQualityAssertions": quality.DataQualityAssertionsDatasetFacet(assertions)
        },
    )
    run_facets: dict[str, Any] = {}
    job_name = f"{spark.sparkContext.appName}.checks"
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
        )
    job = Job(
        settings.job_namespace,
        job_name,
        {"jobType": job_type_job.JobTypeJobFacet("BATCH", "SPARK", "QUERY")},
    )
    run = Run(str(generate_new_uuid()), run_facets)
    client = OpenLineageClient(config={"transport": python_transport(settings)})
    for state in (RunState.START, RunState.COMPLETE):
        now = datetime.now(UTC).isoformat()
        client.emit(
            RunEvent(
                eventTime=now,
                producer=PRODUCER,
                run=run,
                job=job,
                eventType=state,
                inputs=[dataset],
            )
        )
    client.close()


PRODUCER = "https://github.com/throughline-lineage/two-orchestrators-one-lineage"

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
