"""Nodes and their summaries."""

from __future__ import annotations

from headwater.datasets.models import Removal
from headwater.health.models import NodeHealth
from headwater.query.models import (
    Answer,
    CodeLocation,
    Field,
    FieldRef,
    Json,
    Link,
    Name,
    NodeRef,
)
from headwater.runs.models import RunSummary


class InheritedDescription(Answer):
    """The description of a column upstream that is passed on unchanged."""

    text: str
    column: FieldRef


class DescribedField(Field):
    """A field with its description and tags."""

    description: str | None
    inheritedDescription: InheritedDescription | None
    """Null if the field has a description of its own."""
    tags: list[str]


class InferredOwners(Answer):
    """Owners of a node that reports none."""

    owners: list[str]
    node: NodeRef
    """The job that writes the node, its parent job, or the dataset whose columns it passes on."""


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
    """Null if the node reports owners, or if none can be inferred."""
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
