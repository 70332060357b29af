"""Trees, graphs, columns, and impact."""

from __future__ import annotations

from typing import Literal, NotRequired, get_args

from typing_extensions import TypedDict

from headwater.datasets.models import Removal
from headwater.events import Evidence
from headwater.health.models import NodeHealth
from headwater.nodes.models import NodeSummary
from headwater.query.models import (
    Answer,
    Field,
    Name,
    NodeRef,
    TagInfo,
    TypedName,
)
from headwater.query.parameters import Grade
from headwater.runs.models import RunSummary


class Seen(Answer):
    """Times of the runs that reported an edge."""

    first: str
    """Start of the first run that reported it, among the runs that a horizon has not deleted."""
    last: str
    """Start of the last run that reported it."""


class EdgeStatement(Answer):
    """A source of an edge: a kind of statement, and its producer."""

    kind: Literal["explicit", "columns", "sql", "rename", "datasets", "declared"]
    """Explicit lineage, column lineage, the SQL text, a rename that only the SQL text states, the
    inputs and outputs of a run, or an event without a run."""
    producer: str | None
    """Short name and version, such as `dbt 1.54.0`; null for SQL texts, and if not reported."""


class TreeNode(NodeRef):
    """A node of a tree."""

    isRepeated: bool
    """True if the node was expanded elsewhere in the tree, with the same runs."""
    hasMore: bool
    """True if neighbors of the node are not shown."""
    children: list[TreeNode]
    run: RunSummary | None
    """Of a job, the newest run that its edges on this path come from."""
    latestRun: RunSummary | None
    """Of a job, its newest run."""
    aliases: list[Name]
    """Of a dataset, its other names."""
    removal: Removal | None
    """Of a dataset that was dropped, emptied or renamed and not written since."""
    evidence: Evidence | None
    """Of the edge to the parent node in the tree; null for the root and parts of a job, and if
    `isControl`."""
    seen: Seen | None
    """Of the same edge, at the level of tasks; null also if no run reported it."""
    grade: Grade | None
    """Grade of the same edge; `stale` and `possible` only at the level of tasks."""
    statedBy: list[EdgeStatement]
    """Sources of the same edge in the run that it comes from."""
    isControl: bool
    """True if the edge to the parent node in the tree is a control dependency, not a data edge."""


class TreeAnswer(Answer):
    """The tree upstream of a node, downstream of it, or both."""

    node: str
    direction: Literal["up", "down", "both"]
    depth: int
    level: str
    up: NotRequired[TreeNode]
    down: NotRequired[TreeNode]


class OverviewAnswer(NodeRef):
    """A node with its state, owners, last run, and the trees in both directions."""

    health: NodeHealth
    removal: Removal | None
    owners: list[str]
    lastRun: RunSummary | None
    """Of a job, its newest run; of a dataset, that of the job that wrote it last."""
    jobOwners: list[str]
    """Owners of the job of the last run."""
    up: TreeNode
    down: TreeNode


class ColumnNode(Name):
    """A column of a tree; at its top the dataset."""

    id: str
    """Id of the dataset."""
    type: Literal["dataset", "column"]
    isRepeated: bool
    hasMore: bool
    children: list[ColumnNode]
    tags: list[TagInfo]
    field: str | None
    """Null stands for all rows of the dataset."""
    transformation: str
    """Empty for the columns that the query is about."""
    isDirect: bool
    """False if it only filters, joins, groups or sorts."""
    evidence: Evidence | None
    """Null for the columns that the query is about."""
    grade: Grade | None
    """`verified` if the producer and the SQL text state the edge, or `reported`; null as above."""
    job: str
    """Name of the job; empty for a view."""
    isFailed: bool
    """True if the edge to the parent comes only from failed or aborted runs."""


class ColumnsAnswer(Answer):
    """The column tree upstream or downstream of a dataset."""

    node: str
    direction: Literal["up", "down"]
    depth: int
    up: NotRequired[ColumnNode]
    down: NotRequired[ColumnNode]


class Reach(Answer):
    """Number of nodes upstream and downstream."""

    up: int
    down: int


class GraphNode(NodeSummary):
    """A node of a graph."""

    up: int
    """Number of neighbors upstream, shown or not."""
    down: int
    """Number of neighbors downstream, shown or not."""
    isControlOnly: bool
    """True if only a control dependency leads to the node."""
    pipeline: str | None
    """Id of the pipeline that a job is part of; null for pipelines and datasets."""
    pipelineHealth: NodeHealth | None
    """State of that pipeline; it may have failed although none of the shown tasks failed."""
    fields: list[Field]


GraphEdge = TypedDict(
    "GraphEdge",
    {"from": str, "to": str, "kind": Literal["data", "control"], "grade": Grade | None},
)
GraphEdge.__doc__ = """An edge between two nodes, by their ids.

`grade` is the grade of its evidence; null for control edges, between pipelines or queries, and
between two jobs or two datasets.
"""


class ColumnEnd(Answer):
    """A column of a node, or all rows if `field` is null."""

    id: str
    field: str | None


GraphColumnEdge = TypedDict(
    "GraphColumnEdge", {"from": ColumnEnd, "to": ColumnEnd, "how": str, "isDirect": bool}
)  # fmt: skip
GraphColumnEdge.__doc__ = """An edge between two columns, with its transformation."""


class HiddenNodes(Answer):
    """Number of nodes that edges stand for."""

    jobs: int


class JobSources(Answer):
    """Outputs of a job and the inputs that they come from, by their ids."""

    job: str
    inputs: list[str]
    outputs: list[str]


class GraphAnswer(Answer):
    """The graph around a node."""

    node: str
    level: str
    roots: list[str]
    """Ids of the nodes that stand for the node at the level."""
    reach: Reach
    nodes: list[GraphNode]
    edges: list[GraphEdge]
    sources: list[JobSources]
    """Of jobs whose outputs have different inputs; otherwise, every input feeds every output."""
    left: HiddenNodes
    columns: list[GraphColumnEdge]


class DatasetWithAliases(Name):
    """A dataset with its other names."""

    aliases: list[Name]


class DataEdgeRow(Answer):
    """A job that reads or writes a dataset."""

    job: Name
    dataset: DatasetWithAliases
    direction: Literal["reads", "writes"]


class PairRow(Answer):
    """An edge between two jobs or between two datasets."""

    upstream: Name
    downstream: Name


class NodePairRow(Answer):
    """A direct data edge between two nodes of one type."""

    upstream: TypedName
    downstream: TypedName


class AffectedNode(Name):
    """A node or column that a change affects."""

    distance: int
    """Steps along edges."""
    id: str
    """Id of the job or dataset."""
    type: Literal["job", "dataset", "column"]
    owners: list[str]
    kind: str
    run: RunSummary | None
    """Of a job, its newest run."""
    jobOwners: list[str]
    """Of a dataset, the owners of the jobs that write it."""
    writtenBy: RunSummary | None
    """Of a dataset, the newest run that wrote it."""
    tags: list[TagInfo]
    field: str | None
    """Of a column, its name; null stands for all rows of the dataset."""
    transformation: str
    """Of a column, how it is computed."""
    job: str
    """Of a column, the name of the job that computes it."""
    health: NodeHealth
    """Of a column, that of its dataset."""
    removal: Removal | None
    """Of a dataset, or the dataset of a column, that was dropped, emptied or renamed."""


Unreported = Literal[
    "no_column_lineage",
    "values_only",
    "unknown_use",
    "unread_change",
    "incomplete",
    "no_schema",
    "no_dbt_config",
    "spelling",
]
"""The reasons that some uses of a column are unknown."""

UNREPORTED: frozenset[str] = frozenset(get_args(Unreported))

DropReasonKind = Literal[
    "values",
    "rows",
    "sql_text",
    "dbt_config",
    "check",
    "dropped_use",
    Unreported,
    "removed",
    "removed_reader",
    "unused",
    "no_readers",
]


class DropReason(Answer):
    """A reason of a verdict on dropping a column."""

    kind: DropReasonKind
    message: str


class DropVerdict(Answer):
    """The verdict on dropping a column: safe if it affects no reported job or dataset."""

    verdict: Literal["safe", "unsafe", "unknown"]
    """Unknown: no use is known, but the column lineage of a job is missing or has values only."""
    reasons: list[DropReason]


class ImpactAnswer(Answer):
    """The nodes that a change of a node or column affects, nearest first."""

    node: str
    depth: int
    affected: list[AffectedNode]
    """Of a column, the columns that take values from it."""
    level: NotRequired[str]
    field: NotRequired[str]
    indirect: NotRequired[list[AffectedNode]]
    """Of a column, those whose rows it filters, joins, groups or sorts, with their downstream."""
    possible: NotRequired[list[AffectedNode]]
    """Of a column, nodes that may be affected: no column lineage was reported."""
    drop: NotRequired[DropVerdict]
    """Of a column, if `depth` is at least 1."""
    unknown: NotRequired[list[DropReason]]
    """Reasons why other jobs may read the node without a reported edge; not for columns."""


class DeletedSources(Answer):
    """Times about older sources of an incremental load that retention deleted."""

    before: str
    """Runs that ended before this time may be missing."""
    deletedAt: str
