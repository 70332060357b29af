"""Nodes, and searches for them."""

from __future__ import annotations

from headwater.datasets.models import Removal
from headwater.health.models import NodeHealth
from headwater.query.models import Answer, CodeLocation, Facets, Field, Json, Link, Name, NodeRef
from headwater.runs.models import RunSummary


class DescribedField(Field):
    """A field with its description and tags."""

    description: str | None
    tags: list[str]


class InferredOwners(Answer):
    """Owners of a node that reports none: those of a job that writes it or is above it."""

    owners: list[str]
    job: NodeRef


class NodeRow(NodeRef):
    """A node in a list."""

    kind: str
    """Level of a job (pipeline, task, query), exposure or job; or kind of a dataset (table, …)."""
    platform: str | None
    """The reported integration of a job, or the storage layer of a dataset."""
    owners: list[str]
    tags: list[str]
    health: NodeHealth
    removal: Removal | None
    """Of a dataset that was dropped, emptied or renamed and not written since."""


class NodeSummary(NodeRow):
    """A node in one line; fields that do not apply to its type are null or empty."""

    integration: str | None
    run: RunSummary | None
    """The newest run of a job."""
    aliases: list[Name]
    version: str | None
    """The newest version of a dataset."""
    writtenAt: str | None
    rows: int | None
    """Rows that the newest run wrote, in all its commits."""
    failedChecks: int | None
    """Failed checks of the newest check of a dataset; null if it was never checked."""


class NodeAnswer(NodeSummary):
    """A node with everything that was last reported about it."""

    description: str | None
    inferredOwners: InferredOwners | None
    """Null if the node reports owners, or no job that writes it or is above it does."""
    sql: str | None
    source: str | None
    """Source code."""
    language: str | None
    """Language of the source code."""
    code: CodeLocation
    links: list[Link]
    fields: list[DescribedField]
    facets: Json


class ListedNode(NodeRef):
    """A node of the graph."""

    owners: list[str]
    aliases: list[Name]
    run: RunSummary | None
    """The run of a job that its edges come from."""
    removal: Removal | None
    """Of a dataset that was dropped, emptied or renamed and not written since."""


class ListedDataset(NodeRow):
    """A dataset in a list."""

    jobOwners: list[str]
    """The owners of the jobs that write it."""
    writtenAt: str | None
    """The time of its last write; null if no write was reported."""


class ListedJob(NodeRow):
    """A job in a list, with its newest run."""

    run: RunSummary | None


class NodeGroup(Answer):
    """An owner or a tag, with the number of datasets and jobs that have it."""

    value: str
    """Empty for datasets and jobs without an owner or a tag."""
    datasets: int
    jobs: int


class SearchHit(NodeRow):
    """A node that matches a search."""

    activeAt: str | None
    """The last write of a dataset, or the start of the newest run of a job."""
    matched: str
    """The kind of text that matched: name, column, tag, owner, description, sql or error; or run or
    version for an id."""
    text: str
    """The text that matched, shortened."""
    isFuzzy: bool
    """True if the text is only similar."""


class SearchCounts(Answer):
    """Number of matching nodes, by what matched."""

    name: int
    column: int
    tag: int
    owner: int
    description: int
    sql: int
    error: int
    run: int
    version: int


class SearchAnswer(Answer):
    """One page of search results."""

    items: list[SearchHit]
    next: str | None
    counts: SearchCounts
    unreadTexts: int
    """Number of jobs whose SQL text was not read yet, as after a server with a large store has
    started. Columns that only these texts name are missing; each search reads some of them."""
    total: int | None
    facets: Facets | None
    """Null, like `total`, if they were not requested."""


class NewestDataset(NodeRef):
    """A recently written dataset that was not dropped or renamed since."""

    kind: str
    writtenAt: str | None
    removal: Removal | None
    """Only for a dataset that was emptied since."""


class NewestAnswer(Answer):
    """The datasets written last, newest first."""

    items: list[NewestDataset]
