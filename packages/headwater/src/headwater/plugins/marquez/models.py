"""Models of the answers of /api/v1, in the shapes of Marquez 0.51.

Source: Marquez's OpenAPI document and its recorded answers; `tests/reports/marquez.md` of this
package lists the differences.
"""

from __future__ import annotations

from typing import Literal

from headwater.projection import RunState
from headwater.query.models import Answer, Json, Name


class VersionId(Name):
    """A version of a job or a dataset."""

    version: str


class Transformation(Answer):
    """A transformation of columns, in Marquez's terms."""

    transformationDescription: str | None
    transformationType: str | None


# Runs


class RunDatasetVersion(Answer):
    """A dataset version that a run read or wrote."""

    datasetVersionId: VersionId
    datasetVersion: str | None
    facets: Json


class Run(Answer):
    """A run."""

    id: str
    createdAt: str | None
    updatedAt: str | None
    nominalStartTime: str | None
    nominalEndTime: str | None
    state: RunState
    startedAt: str | None
    endedAt: str | None
    durationMs: int | None
    args: dict[str, str]
    jobVersion: VersionId | None
    inputDatasetVersions: list[RunDatasetVersion]
    outputDatasetVersions: list[RunDatasetVersion]
    facets: Json


class Runs(Answer):
    """One page of runs."""

    runs: list[Run]
    totalCount: int


class RunFacets(Answer):
    """The facets of a run or of its job."""

    runId: str
    facets: Json


# Jobs


class JobInfo(Answer):
    """The fields that a job and its node in the graph share."""

    id: Name
    type: Literal["BATCH", "STREAM"]
    name: str
    simpleName: str
    parentJobName: str | None
    parentJobUuid: str | None
    createdAt: str | None
    updatedAt: str | None
    namespace: str
    inputs: list[Name]
    outputs: list[Name]
    location: str | None
    description: str | None
    latestRun: Run | None


class Job(JobInfo):
    """A job with its latest runs and facets."""

    latestRuns: list[Run]
    facets: Json
    currentVersion: str | None
    labels: list[str]
    tags: list[str]


class JobNode(JobInfo):
    """A job as a node of the graph."""

    currentRunUuid: str | None


class Jobs(Answer):
    """One page of jobs."""

    totalCount: int
    jobs: list[Job]


class JobVersion(Answer):
    """A version of a job, with the newest run of it."""

    id: VersionId
    name: str
    createdAt: str | None
    version: str
    namespace: str
    location: str | None
    inputs: list[Name]
    outputs: list[Name]
    latestRun: Run | None


class JobVersions(Answer):
    """One page of versions of a job."""

    versions: list[JobVersion]
    totalCount: int


# Datasets


class DatasetId(Answer):
    """The names of a dataset."""

    id: Name
    type: str
    name: str
    physicalName: str
    namespace: str


class MarquezField(Answer):
    """A field of a dataset."""

    name: str | None
    type: str | None
    tags: list[str]
    description: str | None


class DatasetDescription(Answer):
    """The schema, tags and description of a dataset."""

    sourceName: str
    fields: list[MarquezField]
    tags: list[str]
    description: str | None


class DatasetNode(DatasetId, DatasetDescription):
    """A dataset as a node of the graph."""

    createdAt: str | None
    updatedAt: str | None
    lastModifiedAt: None
    lastLifecycleState: str


class InputField(Transformation):
    """A column that another one is computed from."""

    namespace: str
    dataset: str
    field: str


class ColumnLineage(Transformation):
    """The columns that a column is computed from."""

    name: str
    inputFields: list[InputField]


class Dataset(DatasetNode):
    """A dataset with its facets."""

    currentVersion: str
    columnLineage: list[ColumnLineage] | None
    facets: Json
    deleted: bool


class Datasets(Answer):
    """One page of datasets."""

    totalCount: int
    datasets: list[Dataset]


class MarquezDatasetVersion(DatasetId, DatasetDescription):
    """A dataset as one run left it."""

    createdAt: str | None
    version: str
    datasetVersion: str | None
    lifecycleState: str
    currentSchemaVersion: str
    createdByRun: Run | None
    facets: Json


class MarquezDatasetVersions(Answer):
    """One page of versions of a dataset."""

    versions: list[MarquezDatasetVersion]
    totalCount: int


# Graphs


class Edge(Answer):
    """An edge between two nodes."""

    origin: str
    destination: str


class MarquezGraphNode(Answer):
    """A job or a dataset of the graph, with its edges."""

    id: str
    type: Literal["JOB", "DATASET"]
    data: JobNode | DatasetNode
    inEdges: list[Edge]
    outEdges: list[Edge]


class Graph(Answer):
    """The graph around a node."""

    graph: list[MarquezGraphNode]


class VersionedField(InputField):
    """A column of a dataset version."""

    datasetVersion: str


class ColumnData(VersionedField):
    """A column with the columns that it is computed from."""

    fieldType: str
    inputFields: list[VersionedField]


class MarquezColumnNode(Answer):
    """A column of the column graph, with its edges."""

    id: str
    type: Literal["DATASET_FIELD"]
    data: ColumnData
    inEdges: list[Edge]
    outEdges: list[Edge]


class ColumnGraph(Answer):
    """The column graph around a node."""

    graph: list[MarquezColumnNode]


class UpstreamJob(Name):
    """The job of an upstream run."""

    version: str | None


class UpstreamRunInfo(Answer):
    """The times and the state of an upstream run."""

    id: str
    start: str | None
    end: str | None
    status: RunState


class UpstreamInput(VersionId):
    """A dataset version that a run read, and the run that wrote it."""

    producedByRunId: str | None


class UpstreamRun(Answer):
    """A run and what it read."""

    job: UpstreamJob
    run: UpstreamRunInfo
    inputs: list[UpstreamInput]


class UpstreamRuns(Answer):
    """A run and the runs that wrote what it read, nearest first."""

    runs: list[UpstreamRun]


# Namespaces, sources, tags, search, events and statistics


class Namespace(Answer):
    """A namespace."""

    name: str
    createdAt: str | None
    updatedAt: str | None
    ownerName: str
    description: None
    isHidden: bool


class Namespaces(Answer):
    """One page of namespaces."""

    namespaces: list[Namespace]


class Source(Answer):
    """A source of datasets."""

    type: str
    name: str
    createdAt: str | None
    updatedAt: str | None
    connectionUrl: str
    description: None


class Sources(Answer):
    """One page of sources."""

    sources: list[Source]


class Tag(Answer):
    """A tag."""

    name: str
    description: None


class Tags(Answer):
    """One page of tags."""

    tags: list[Tag]


class SearchResult(Answer):
    """A job or dataset with a matching name."""

    type: str
    name: str
    updatedAt: str | None
    namespace: str
    nodeId: str


class SearchResults(Answer):
    """One page of search results."""

    totalCount: int
    results: list[SearchResult]


class Interval(Answer):
    """An interval of time."""

    startInterval: str | None
    endInterval: str | None


class EventCounts(Interval):
    """Events in an interval, by type."""

    fail: int
    start: int
    complete: int
    abort: int


class Count(Interval):
    """Number of items at the end of an interval."""

    count: int
