"""Models of the facets that headwater uses; all others stay JSON.

Each model has one parser. It ignores values of an unexpected type, because producers send arbitrary
values. The facets of lineage are in `column_lineage` and `_explicit_lineage`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self, dataclass_transform

from headwater.events._event import Facets, JobRef, Json
from headwater.events._parse import run_id_of
from headwater.events.column_lineage import is_name, objects
from headwater.sql.changes import FROM_SQL, REFILLED
from headwater.text import tag_label

EXPOSURE = "EXPOSURE"
"""The jobType of an exposure of dbt, which is no job but something that shows data."""

ASSERTION_FACETS = ("dataQualityAssertions", "greatExpectations_assertions")
"""Facets of a dataset with results of checks: of the specification, and of Great Expectations."""


@dataclass_transform(frozen_default=True)
class Facet:
    """Base of the models, which become frozen dataclasses; by default all fields are texts."""

    KEY: ClassVar[str]
    """The name of the facet in an event."""

    def __init_subclass__(cls, key: str) -> None:
        dataclass(frozen=True)(cls)
        cls.KEY = key

    @classmethod
    def parse(cls, facet: Json) -> Self:
        """Parse a facet; the model of an empty one has no values."""
        return cls(*cls._values(facet))

    @classmethod
    def _values(cls, facet: Json) -> Iterable[object]:
        return (text_or_none(facet.get(name)) for name in cls.__annotations__)


class Airflow(Facet, key="airflow"):
    """The DAG run, log, operator, map index and upstream tasks of an Airflow task."""

    run_id: str | None
    log_url: str | None
    operator: str | None
    map_index: str | None
    upstream_tasks: frozenset[str]

    @classmethod
    def _values(cls, facet: Json) -> Iterable[object]:
        instance, task = _object(facet.get("taskInstance")), _object(facet.get("task"))
        yield text_or_none(_object(facet.get("dagRun")).get("run_id"))
        yield text_or_none(instance.get("log_url"))
        yield text_or_none(task.get("operator_class"))
        yield None if (index := instance.get("map_index")) is None else str(index)
        # Airflow reports a list as text, such as "['load', 'group.check']".
        yield frozenset(re.findall(r"[\w.-]+", str(task.get("upstream_task_ids") or "")))


class AirflowDagRun(Facet, key="airflowDagRun"):
    """A DAG run of Airflow, its configuration and partition, and the schedule of the DAG."""

    run_id: str | None
    run_type: str | None
    conf: Json
    schedule: str | None
    zone: str | None
    partition: Json

    @classmethod
    def _values(cls, facet: Json) -> Iterable[object]:
        dag, dag_run = _object(facet.get("dag")), _object(facet.get("dagRun"))
        yield text_or_none(dag_run.get("run_id"))
        yield text_or_none(dag_run.get("run_type"))
        yield _object(dag_run.get("conf"))
        yield text_or_none(dag.get("timetable_summary") or dag.get("schedule_interval"))
        yield text_or_none(_object(dag.get("timetable")).get("timezone"))
        yield {k: dag_run[k] for k in ("partition_key", "partition_date") if dag_run.get(k)}


class CommitReport(Facet, key="icebergCommitReport"):
    """Rows that a commit added to an Iceberg table, and rows of the table after it."""

    is_reported: bool
    added: float
    total: float

    @classmethod
    def _values(cls, facet: Json) -> Iterable[object]:
        metrics = facet.get("commitMetrics")
        yield isinstance(metrics, dict)
        for key in ("addedRecords", "totalRecords"):
            value = _object(metrics).get(key)
            yield float(value) if isinstance(value, int | float) else 0.0


class DatasetType(Facet, key="datasetType"):
    """The kind of a dataset, such as VIEW or MODEL."""

    datasetType: str | None


class DbtExposures(Facet, key="dbt_exposures"):
    """The exposures of dbt that a dataset feeds, by unique id."""

    exposures: dict[str, Json]

    @classmethod
    def _values(cls, facet: Json) -> Iterable[object]:
        listed = objects(facet.get("exposures"))
        yield {item["unique_id"]: item for item in listed if is_name(item.get("unique_id"))}


class DbtRun(Facet, key="dbt_run"):
    """An invocation of dbt."""

    invocation_id: str | None


class Documentation(Facet, key="documentation"):
    """A description of a job or a dataset."""

    description: str | None


class ErrorMessage(Facet, key="errorMessage"):
    """The error of a failed run; its message may be empty."""

    message: str | None

    @classmethod
    def _values(cls, facet: Json) -> Iterable[object]:
        message = facet.get("message")
        yield None if message is None else str(message)


class ExecutionParameters(Facet, key="executionParameters"):
    """The parameters of a run by name."""

    parameters: Json

    @classmethod
    def _values(cls, facet: Json) -> Iterable[object]:
        named = (item for item in objects(facet.get("parameters")) if "name" in item)
        yield {str(item["name"]): item.get("value") for item in named}


class Reference(NamedTuple):
    """A job in a facet, with one of its runs if the facet names one."""

    job: JobRef
    run_id: str | None


class JobDependencies(Facet, key="jobDependencies"):
    """The jobs that a run waits for, and those that wait for it."""

    upstream: set[Reference]
    downstream: set[Reference]

    @classmethod
    def _values(cls, facet: Json) -> Iterable[object]:
        for key in ("upstream", "downstream"):
            found = map(_reference, objects(facet.get(key)))
            yield {reference for reference in found if reference is not None}


class JobType(Facet, key="jobType"):
    """The type of a job, and the integration that reports it."""

    jobType: str | None
    integration: str | None
    processingType: str | None


class Storage(Facet, key="storage"):
    """The storage layer of a dataset, such as iceberg."""

    storageLayer: str | None


class LifecycleStateChange(Facet, key="lifecycleStateChange"):
    """A change of a dataset as a whole, such as DROP."""

    lifecycleStateChange: str | None
    previousIdentifier: Json
    is_from_sql: bool
    """True if the SQL text states it and the producer did not report it."""
    is_refilled: bool
    """True if the SQL text fills the table that it emptied."""

    @classmethod
    def _values(cls, facet: Json) -> Iterable[object]:
        yield (text_or_none(facet.get("lifecycleStateChange")) or "").upper() or None
        yield _object(facet.get("previousIdentifier"))
        yield facet.get(FROM_SQL) in (True, REFILLED)
        yield facet.get(FROM_SQL) == REFILLED

    @property
    def removes_data(self) -> bool:
        """True if no rows are left."""
        return self.lifecycleStateChange in ("DROP", "TRUNCATE")

    @property
    def former_name(self) -> tuple[str, str] | None:
        """The namespace and name before a RENAME."""
        names = (self.previousIdentifier.get("namespace"), self.previousIdentifier.get("name"))
        is_rename = self.lifecycleStateChange == "RENAME"
        if is_rename and all(isinstance(name, str) and name for name in names):
            return str(names[0]), str(names[1])
        return None


class Subset(Facet, key="subset"):
    """The part of an output that a run wrote (BaseSubsetDatasetFacet 1-0-0)."""

    is_reported: bool
    parts: frozenset[str]
    """The partitions or locations; empty if the part is described in another way."""

    @classmethod
    def _values(cls, facet: Json) -> Iterable[object]:
        condition = _object(facet.get("outputCondition"))
        yield bool(condition)
        locations = condition.get("locations")
        parts = [_partition(part) for part in objects(condition.get("partitions"))]
        parts += filter(is_name, locations) if isinstance(locations, list) else ()
        yield frozenset(parts) if all(parts) else frozenset()


class SourcePart(NamedTuple):
    """A dataset, or one partition of it, as a source."""

    namespace: str
    name: str
    partition: str
    """Empty for the whole dataset."""


class PartitionSources(Facet, key="headwater_partitionSources"):
    """All sources of the partitions of an output, by partition (docs/how-to/incidents.md)."""

    sources: dict[str, frozenset[SourcePart]]

    @classmethod
    def _values(cls, facet: Json) -> Iterable[object]:
        found: dict[str, frozenset[SourcePart]] = {}
        for item in objects(facet.get("partitions")):
            inputs = item.get("inputs")
            parts = list(map(_source_part, inputs)) if isinstance(inputs, list) else []
            stated = frozenset(part for part in parts if part)
            if (partition := _partition(item)) and stated and None not in parts:
                found[partition] = found.get(partition, frozenset()) | stated
        yield found


def _source_part(value: object) -> SourcePart | None:
    """Return a source of a partition; None if its name or its partition is invalid."""
    part = _object(value)
    namespace, name = part.get("namespace"), part.get("name")
    if not (is_name(namespace) and is_name(name)):
        return None
    stated = "partition" in part
    partition = _partition(_object(part.get("partition")))
    return SourcePart(namespace, name, partition) if bool(partition) is stated else None


def _partition(part: Json) -> str:
    """Return the identifier of a partition, or else its dimensions as JSON; empty without any."""
    identifier, dimensions = part.get("identifier"), _object(part.get("dimensions"))
    if is_name(identifier):
        return identifier
    return json.dumps(dimensions, sort_keys=True) if dimensions else ""


def replaces_rows(facets: Facets, output_facets: Facets) -> bool:
    """Return True if a completed run replaced all rows of an output.

    `facets` are those of the dataset, `output_facets` those of it as an output. An Iceberg commit
    report decides: the rows that it added are all rows. Without one, Spark's OVERWRITE does not
    count, because it may be that of a partition. Other producers report a partition in the facet
    `subset`.
    """
    change = facets.get(LifecycleStateChange.KEY, {})
    if LifecycleStateChange.parse(change).lifecycleStateChange != "OVERWRITE":
        return False
    report = CommitReport.parse(output_facets.get(CommitReport.KEY, {}))
    if report.is_reported:
        return report.added >= report.total
    is_of_spark = "/integration/spark" in str(change.get("_producer"))
    return not is_of_spark and "subset" not in output_facets


class MetaflowTask(Facet, key="metaflow_task"):
    """The path of a task of Metaflow, `flow/run/step/task`, and its page."""

    url: str | None
    pathspec: str | None


class NominalTime(Facet, key="nominalTime"):
    """The time that a run is scheduled for."""

    nominalStartTime: str | None
    nominalEndTime: str | None


class OutputStatistics(Facet, key="outputStatistics"):
    """The size of a write."""

    rowCount: int | None
    size: int | None
    fileCount: int | None

    @classmethod
    def _values(cls, facet: Json) -> Iterable[object]:
        values = map(facet.get, cls.__annotations__)
        return (int(value) if isinstance(value, int) else None for value in values)


class Ownership(Facet, key="ownership"):
    """The names of the owners of a job or a dataset."""

    owners: list[str]

    @classmethod
    def _values(cls, facet: Json) -> Iterable[object]:
        names = (owner.get("name") for owner in objects(facet.get("owners")))
        yield [str(name) for name in names if name]


class Parent(Facet, key="parent"):
    """The parent of a run and the root of its tree; None unless they name a job and a run."""

    run: Reference | None
    root: Reference | None

    @classmethod
    def _values(cls, facet: Json) -> Iterable[object]:
        for named in (facet, _object(facet.get("root"))):
            reference = _reference(named)
            yield reference if reference and reference.run_id else None


class SchemaField(NamedTuple):
    """A field of a schema."""

    type: str
    description: str | None
    is_nested: bool


class Schema(Facet, key="schema"):
    """The fields of a dataset; a nested one has a dotted name and follows the one around it."""

    fields: dict[str, SchemaField]
    producer: str | None
    """Producers name types differently."""

    @classmethod
    def _values(cls, facet: Json) -> Iterable[object]:
        found: dict[str, SchemaField] = {}
        open_ = [("", item) for item in reversed(objects(facet.get("fields")))]
        while open_:
            around, item = open_.pop()
            if item.get("name"):
                name = around + str(item["name"])
                about = str(item.get("type") or ""), text_or_none(item.get("description"))
                found[name] = SchemaField(*about, is_nested=bool(around))
                open_ += ((f"{name}.", inner) for inner in reversed(objects(item.get("fields"))))
        return found, text_or_none(facet.get("_producer"))


class SourceCode(Facet, key="sourceCode"):
    """The source code of a job."""

    sourceCode: str | None
    language: str | None


class SourceCodeLocation(Facet, key="sourceCodeLocation"):
    """The place of the source code of a job."""

    repoUrl: str | None
    path: str | None
    version: str | None
    url: str | None


class SparkApplication(Facet, key="spark_applicationDetails"):
    """The application of Spark that a run belongs to."""

    applicationId: str | None


class Sql(Facet, key="sql"):
    """The query of a job."""

    query: str | None
    dialect: str | None


class Symlink(NamedTuple):
    """Another name of a dataset; the type, such as TABLE, is in upper case."""

    namespace: str
    name: str
    type: str


class Symlinks(Facet, key="symlinks"):
    """The other names of a dataset."""

    identifiers: list[Symlink]

    @classmethod
    def _values(cls, facet: Json) -> Iterable[object]:
        yield [
            Symlink(item["namespace"], item["name"], str(item.get("type", "")).upper())
            for item in objects(facet.get("identifiers"))
            if is_name(item.get("namespace")) and is_name(item.get("name"))
        ]


class Tag(NamedTuple):
    """A tag of a run, a job or a dataset, or of its column `field`."""

    key: str
    value: str
    source: str
    field: str

    @property
    def label(self) -> str:
        """The key, with the value if it adds information; see `tag_label`."""
        return tag_label(self.key, self.value)

    @property
    def is_pii(self) -> bool:
        """True if the tag marks personal data."""
        return self.key.lower() == "pii" and self.value.lower() not in ("false", "no", "0")


class Tags(Facet, key="tags"):
    """The tags of a run, a job or a dataset."""

    tags: list[Tag]

    @classmethod
    def _values(cls, facet: Json) -> Iterable[object]:
        yield [
            Tag(*(str(item.get(key) or "") for key in Tag._fields))
            for item in objects(facet.get("tags"))
            if item.get("key")
        ]


def text_or_none(value: Any) -> str | None:
    """Return a string or a number as text; None for an empty one, zero and any other value."""
    return str(value) if value and isinstance(value, str | int | float) else None


def _object(value: Any) -> Json:
    return value if isinstance(value, dict) else {}


def _reference(facet: Json) -> Reference | None:
    """Return the job and the run that a facet names; None without a job. The run may be missing."""
    job, run_id = _object(facet.get("job")), _object(facet.get("run")).get("runId")
    if not (is_name(job.get("namespace")) and is_name(job.get("name"))):
        return None
    ref = JobRef(sys.intern(job["namespace"]), job["name"])
    return Reference(ref, run_id_of(run_id) if is_name(run_id) else None)
