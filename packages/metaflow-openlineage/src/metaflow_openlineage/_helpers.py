"""What a step can say about its data. Outside a decorated step all of this does nothing, safely."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ._dataset import ColumnSource, Dataset, Field
from ._names import FlowNames
from ._report import harmless
from ._settings import Settings

if TYPE_CHECKING:
    from ._task import TaskRun

_task: TaskRun | None = None


def enter(task: TaskRun | None) -> None:
    """Make `task` the one that declarations belong to."""
    global _task
    _task = task


def reads(dataset: Dataset) -> Dataset:
    """Declare that this step reads a dataset."""
    if _task:
        _task.inputs.append(dataset)
    return dataset


def writes(
    dataset: Dataset,
    *,
    column_lineage: Mapping[str, Iterable[ColumnSource]] | None = None,
    row_lineage: Iterable[ColumnSource] = (),
    sources: Iterable[Dataset] | None = None,
) -> Dataset:
    """Declare that this step writes a dataset.

    `column_lineage` maps a column to its sources, each (dataset, column), or (dataset, column,
    transformation). `row_lineage` lists the sources that decide which rows there are: filters,
    joins, groupings and sorts. `sources` are the inputs of the step that feed the dataset; by
    default all of them do.
    """
    if column_lineage:
        dataset = replace(dataset, column_lineage=column_lineage)
    if row_lineage:
        dataset = replace(dataset, row_lineage=row_lineage)
    if sources is not None:
        dataset = replace(dataset, sources=tuple(sources))
    if _task:
        _task.outputs.append(dataset)
    return dataset


def artifact(name: str, *, flow: str | None = None) -> Dataset:
    """The dataset of an artifact of this flow, or of another one, for use in declarations."""
    if _task:
        return Dataset(_task.artifact_namespace, f"{flow or _task.names.flow}/{name}")
    deployment = Settings.from_env(os.environ).deployment or "local"
    return Dataset(f"metaflow://{deployment}", f"{flow}/{name}" if flow else name)


def flow_run_id(flow: str, run: str) -> str:
    """The lineage run id of a Metaflow run, as any process can compute it."""
    namespace = Settings.from_env(os.environ).namespace
    return FlowNames(namespace, flow, run).flow_run().run_id


def table_read(table: Any, dataset: Dataset, *, snapshot_id: int | None = None) -> Dataset:
    """Declare that this step reads an Iceberg table, at `snapshot_id` or as `table` shows it.

    `table` is a PyIceberg table or anything with its `schema()` and `current_snapshot()`.
    """
    known = _described(table, dataset) or dataset
    return reads(replace(known, version=str(snapshot_id)) if snapshot_id is not None else known)


def table_written(
    table: Any,
    dataset: Dataset,
    *,
    column_lineage: Mapping[str, Iterable[ColumnSource]] | None = None,
    row_lineage: Iterable[ColumnSource] = (),
    sources: Iterable[Dataset] | None = None,
) -> Dataset:
    """Declare that this step has committed to an Iceberg table: call it after the commit.

    The other arguments are those of `writes`.
    """
    known = _described(table, dataset, written=True) or dataset
    return writes(known, column_lineage=column_lineage, row_lineage=row_lineage, sources=sources)


@harmless
def _described(table: Any, dataset: Dataset, *, written: bool = False) -> Dataset:
    snapshot = table.current_snapshot()
    summary = snapshot.summary if snapshot and written else None
    added = summary["added-records"] if summary else None
    return replace(
        dataset,
        version=str(snapshot.snapshot_id) if snapshot else dataset.version,
        type=dataset.type or "TABLE",
        fields=tuple(map(_field, table.schema().fields)),
        rows=int(added) if added is not None else dataset.rows,
        commit=_commit(summary) if summary else {},
    )


def _field(column: Any) -> Field:
    described = (column.name, str(column.field_type))
    comment = getattr(column, "doc", None)
    return (*described, str(comment)) if comment else described


def _commit(summary: Any) -> dict[str, Any]:
    """An Iceberg snapshot's summary as the commit report of OpenLineage's Spark integration.

    It tells whether rows of earlier commits are still in the table: whether they are upstream.
    """
    added, total = summary.get("added-records"), summary.get("total-records")
    if total is None:
        return {}
    return {"commitMetrics": {"addedRecords": int(added or 0), "totalRecords": int(total)}}


@dataclass
class Query:
    """A query under way; add to `inputs` and `outputs` what is only known once it has run."""

    inputs: list[Dataset] = field(default_factory=list)
    outputs: list[Dataset] = field(default_factory=list)


@contextmanager
def query(
    sql: str,
    *,
    inputs: Iterable[Dataset] = (),
    outputs: Iterable[Dataset] = (),
    name: str | None = None,
    dialect: str | None = None,
) -> Iterator[Query]:
    """Run a query as a child run of this step, named `Flow.step.<name>`, `query_<hash>` by default.

    For engines that emit no lineage of their own (DuckDB, Athena); Spark's queries do, by
    `spark_conf()`. What the query reads and writes also counts as the step's.
    """
    running = Query(list(inputs), list(outputs))
    if (task := _task) is None:
        yield running
        return
    name = name or f"query_{hashlib.sha256(sql.encode()).hexdigest()[:8]}"
    end = task.start_query(sql, name, dialect, running) or (lambda error: None)
    try:
        yield running
    except BaseException as error:
        end(error)
        raise
    end(None)


def spark_conf() -> dict[str, str]:
    """Spark settings that put a session's events under this step (or whatever run this is part of).

    Empty where no run is known. In a step: the step is the parent, the outermost run the root.
    """
    settings = Settings.from_env(os.environ)
    if settings.parent is None:
        return {}
    root = settings.root or settings.parent
    return {
        "spark.openlineage.namespace": settings.namespace,
        "spark.openlineage.parentJobNamespace": settings.parent.namespace,
        "spark.openlineage.parentJobName": settings.parent.job,
        "spark.openlineage.parentRunId": settings.parent.run_id,
        "spark.openlineage.rootParentJobNamespace": root.namespace,
        "spark.openlineage.rootParentJobName": root.job,
        "spark.openlineage.rootParentRunId": root.run_id,
    }
