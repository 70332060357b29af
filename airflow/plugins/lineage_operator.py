"""Base class of the operators that adds datasets and source code to OpenLineage events."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from airflow.providers.openlineage.extractors import OperatorLineage
from airflow.sdk import BaseOperator
from openlineage.client.event_v2 import Dataset
from openlineage.client.facet_v2 import source_code_location_job

from headwater_client.git import git_location
from lakehouse.descriptions import dataset_facets
from lakehouse.names import Table, file_dataset
from lakehouse.settings import load_settings


class LineageOperator(BaseOperator):
    """A task whose events contain its datasets and, in a git clone, the file of its DAG.

    The provider has an extension point for run facets only, so the operator adds the job facet.
    """

    def get_openlineage_facets_on_start(self) -> OperatorLineage[Dataset, Any]:
        """Return the source code, so that a task without an end event has it too."""
        return OperatorLineage(job_facets=self._source_code())

    def get_openlineage_facets_on_complete(
        self, task_instance: Any
    ) -> OperatorLineage[Dataset, Any]:
        """Return inputs, outputs and source code, also for a failed task."""
        inputs, outputs = self.datasets()
        return OperatorLineage(inputs=inputs, outputs=outputs, job_facets=self._source_code())

    def datasets(self) -> tuple[list[Dataset], list[Dataset]]:
        """Return the inputs and the outputs."""
        return [], []

    def _source_code(self) -> dict[str, Any]:
        dag = self.get_dag()
        location: Any = git_location(Path(dag.fileloc)) if dag else None
        facet = source_code_location_job.SourceCodeLocationJobFacet
        return {"sourceCodeLocation": facet(**location)} if location else {}


class TableOperator(LineageOperator):
    """A task with the tables it reads and writes."""

    def __init__(self, *, reads: Sequence[Table], writes: Sequence[Table], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.reads = list(reads)
        self.writes = list(writes)

    def datasets(self) -> tuple[list[Dataset], list[Dataset]]:
        """Return the tables passed to the constructor."""
        inputs = [dataset_of_table(table) for table in self.reads]
        return inputs, [dataset_of_table(table) for table in self.writes]


def dataset_of_file(url: str) -> Dataset:
    """Return the dataset of a file, given its URL or path."""
    name = file_dataset(url)
    return Dataset(name.namespace, name.name)


def dataset_of_table(table: Table) -> Dataset:
    """Return the dataset of a table, with the name used in Spark's events."""
    name = table.dataset(load_settings())
    return Dataset(name.namespace, name.name, facets=dict(dataset_facets(table)))
