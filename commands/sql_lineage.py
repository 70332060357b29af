"""Lineage of `./run sql`: one run per query, the parent of its Spark application.

Spark's listener reports every application as completed. It does not report queries that fail before
they run, or that Iceberg answers from metadata (docs/explanation/spark.md#ad-hoc-queries).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime

from commands.output import say
from headwater.redaction import Redactor
from headwater_client.parents import RunRef
from lakehouse.backends import is_on, python_transport
from lakehouse.names import DatasetName
from lakehouse.settings import Settings
from spark_jobs.lineage import PARENT_KEYS

AD_HOC = "ad-hoc"
"""Tag of jobs that run on request, so they are never late."""


class QueryRun:
    """The run of one query; set `inputs` to the tables that it reads."""

    def __init__(self, settings: Settings, query: str) -> None:
        self.inputs: list[DatasetName] = []
        self._warnings: list[str] = []
        self._settings = settings
        self._query = query
        self._ref = RunRef.new(settings.job_namespace, "sql")

    def spark_conf(self) -> dict[str, str]:
        """Return the Spark configuration of an application that is a child of this run."""
        ref = (self._ref.run_id, self._ref.namespace, self._ref.job)
        parent = {
            f"spark.openlineage.{key}": value
            for key, value in zip(PARENT_KEYS, ref + ref, strict=True)
        }
        return parent | {"spark.openlineage.job.tags": AD_HOC}

    @contextmanager
    def guard(self) -> Iterator[None]:
        """Turn an error into a warning, which `report` prints: lineage must never break a query."""
        try:
            yield
        except Exception as error:
            self._warnings.append(f"warning: lineage is incomplete: {error!r}")

    def report(self, state: str, error: str | None = None) -> None:
        """Send an event of the run, and print the warnings since the previous one."""
        with self.guard():
            self._send(state, error)
        while self._warnings:
            say(self._warnings.pop(0), is_error=True)

    def _send(self, state: str, error: str | None) -> None:
        from openlineage.client import OpenLineageClient
        from openlineage.client.event_v2 import InputDataset
        from openlineage.client.facet_v2 import processing_engine_run, sql_job, tags_job
        from pyspark import __version__ as spark_version

        from headwater_client.events import ReportedRun

        redactor = Redactor.of(os.environ.get("HEADWATER_REDACT", ""))
        tag = tags_job.TagsJobFacetFields(AD_HOC, "true", "USER")
        run = ReportedRun(
            ref=self._ref,
            integration="SPARK",
            job_type="QUERY",
            language="SQL",
            inputs=[InputDataset(dataset.namespace, dataset.name) for dataset in self.inputs],
            run_facets={
                "processing_engine": processing_engine_run.ProcessingEngineRunFacet(
                    spark_version, "spark"
                )
            },
            job_facets={
                "sql": sql_job.SQLJobFacet(redactor.redact_text(self._query), "spark"),
                "tags": tags_job.TagsJobFacet([tag]),
            },
        )
        with closing(
            OpenLineageClient(config={"transport": python_transport(self._settings)})
        ) as client:
            client.emit(run.event(state, datetime.now(UTC), error and redactor.redact_text(error)))


@contextmanager
def reported_query(settings: Settings, query: str) -> Iterator[QueryRun]:
    """Report the body of a `with` statement as a run: START, then COMPLETE, FAIL or ABORT."""
    run = QueryRun(settings, query)
    if not is_on(settings):
        yield run
        return
    run.report("START")
    try:
        yield run
    except Exception as error:
        run.report("FAIL", str(error))
        raise
    except BaseException:  # such as Ctrl-C
        run.report("ABORT")
        raise
    run.report("COMPLETE")
