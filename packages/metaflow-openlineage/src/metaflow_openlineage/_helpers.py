"""Functions with which a step declares its data. Outside a decorated step, they do nothing."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from headwater_client.capture import name_of_path, paused

from ._dataset import ColumnSource, Dataset, Field
from ._names import FlowNames
from ._report import harmless
from ._settings import Settings

EndQuery = Callable[[BaseException | None], None]


class Task(Protocol):
    """The task to which declarations belong; `_task.TaskRun` is one."""

    inputs: list[Dataset]
    outputs: list[Dataset]
    names: FlowNames
    artifact_namespace: str
    tables: dict[tuple[str, str], Dataset]

    def start_query(
        self, sql: str, name: str, dialect: str | None, query: Query
    ) -> EndQuery | None:
        """Emit a query's START; return a function that emits its end."""


_task: Task | None = None


def enter(task: Task | None) -> None:
    """Set the task to which declarations belong."""
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

    `column_lineage` maps a column to its sources: (dataset, column), or (dataset, column,
    transformation). `row_lineage` lists the sources that determine the rows: filters, joins,
    groupings and sorts. `sources` are the inputs of the step that feed the dataset, by default all.
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
    """Return the dataset of an artifact of this flow or another one, for use in declarations."""
    if _task:
        return Dataset(_task.artifact_namespace, f"{flow or _task.names.flow}/{name}")
    deployment = Settings.from_env(os.environ).deployment or "local"
    return Dataset(f"metaflow://{deployment}", f"{flow}/{name}" if flow else name)


def flow_run_id(flow: str, run: str) -> str:
    """Return the lineage run id of a Metaflow run; any process can compute it."""
    namespace = Settings.from_env(os.environ).namespace
    return FlowNames(namespace, flow, run).flow_run().run_id


def table_read(table: Any, dataset: Dataset, *, snapshot_id: int | None = None) -> Dataset:
    """Declare that this step reads an Iceberg table, at `snapshot_id` or as `table` shows it.

    `table` is a PyIceberg table or anything with its `schema()` and `current_snapshot()`.
    """
    described = _with_metadata(table, dataset) or dataset
    _locate(table, dataset)
    return reads(
        replace(described, version=str(snapshot_id)) if snapshot_id is not None else described
    )


def table_written(
    table: Any,
    dataset: Dataset,
    *,
    column_lineage: Mapping[str, Iterable[ColumnSource]] | None = None,
    row_lineage: Iterable[ColumnSource] = (),
    sources: Iterable[Dataset] | None = None,
) -> Dataset:
    """Declare that this step has written an Iceberg table; call it after the commit.

    The other arguments are those of `writes`.
    """
    described = _with_metadata(table, dataset, written=True) or dataset
    _locate(table, dataset)
    return writes(
        described, column_lineage=column_lineage, row_lineage=row_lineage, sources=sources
    )


def _locate(table: Any, dataset: Dataset) -> None:
    """Remember the location of a declared table, under which PyIceberg's reads are captured."""
    with suppress(Exception):
        if _task and (name := name_of_path(table.location())):
            _task.tables[name] = dataset


@harmless
def _with_metadata(table: Any, dataset: Dataset, *, written: bool = False) -> Dataset:
    """Return a dataset with what an Iceberg table shows: version, columns, and rows if written.

    An error is only a warning (None): declarations must not break a step.
    """
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
        layer="iceberg",
    )


def _field(column: Any) -> Field:
    described = (column.name, str(column.field_type))
    comment = getattr(column, "doc", None)
    return (*described, str(comment)) if comment else described


def _commit(summary: Any) -> dict[str, Any]:
    """Return a snapshot's summary as the commit report of OpenLineage's Spark integration.

    It shows whether the table still contains rows of earlier commits, which are then upstream.
    """
    added, total = summary.get("added-records"), summary.get("total-records")
    if total is None:
        return {}
    return {"commitMetrics": {"addedRecords": int(added or 0), "totalRecords": int(total)}}


@dataclass
class Query:
    """A running query; append datasets to `inputs` and `outputs` that are known only afterwards."""

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

    Use it for engines without lineage of their own (DuckDB, Athena); for Spark use `spark_conf()`.
    The inputs and outputs of the query are also those of the step.
    """
    running = Query(list(inputs), list(outputs))
    if (task := _task) is None:
        yield running
        return
    name = name or f"query_{hashlib.sha256(sql.encode()).hexdigest()[:8]}"
    end = task.start_query(sql, name, dialect, running) or (lambda error: None)
    try:
        with paused():  # its datasets are declared
            yield running
    except BaseException as error:
        end(error)
        raise
    end(None)


def spark_conf() -> dict[str, str]:
    """Return Spark settings that make a session's runs children of this step or run.

    Empty outside a run. In a step, the step is the parent and the outermost run is the root.
    """
    settings = Settings.from_env(os.environ)
    if settings.parent is None:
        return {}
    root = settings.root or settings.parent
    return {
        "spark.openlineage.namespace": _task.names.job_namespace if _task else settings.namespace,
        "spark.openlineage.parentJobNamespace": settings.parent.namespace,
        "spark.openlineage.parentJobName": settings.parent.job,
        "spark.openlineage.parentRunId": settings.parent.run_id,
        "spark.openlineage.rootParentJobNamespace": root.namespace,
        "spark.openlineage.rootParentJobName": root.job,
        "spark.openlineage.rootParentRunId": root.run_id,
    }
