"""Evidence of edges, and the producers of a column."""

from __future__ import annotations

from typing import Literal

from headwater.events import Evidence
from headwater.lineage.models import EdgeStatement, Seen
from headwater.nodes.models import InheritedDescription
from headwater.query.models import Answer, CodeLocation, DatasetRef, Name, NodeRef, TagInfo
from headwater.query.parameters import Grade
from headwater.runs.models import RunSummary


class WhyRun(Answer):
    """A run that states an edge."""

    run: RunSummary
    statedBy: list[EdgeStatement]
    events: str
    """Path of the API that returns the events of the run."""


Replaced = Literal["yes", "maybe"]
"""`maybe`: another job overwrote some or all rows with Spark, which does not report which."""


class WhyJob(Answer):
    """The evidence of the edges through one job."""

    job: Name | None
    """Null for a dataset that is derived without a job, such as a view."""
    reads: NodeRef | None
    writes: NodeRef | None
    grade: Grade
    replaced: Replaced | None
    """`yes` if the rows that the newest run with the edge wrote were replaced or removed since,
    `maybe` if they may have been. Null if no run is known to have done so, and for an edge
    that only reads."""
    statedBy: list[EdgeStatement]
    """Sources in the newest run with the edge."""
    seen: Seen | None
    """Null if no run states it."""
    runCount: int
    """Number of runs of the task with the edge; mapped elements and retries of a run count once."""
    missedCount: int
    """The number of finished runs of the task after the last one that states the edge."""
    runs: list[WhyRun]
    """The newest ones first."""


class WhyAnswer(Answer):
    """The evidence of the edges between two nodes or columns."""

    source: str
    target: str
    sourceField: str | None
    targetField: str | None
    jobs: list[WhyJob]


class TransformationInfo(Answer):
    """A transformation of one column into another."""

    type: str
    subtype: str | None
    description: str | None
    isMasking: bool


class ColumnInput(DatasetRef):
    """A column that a job computes another one from."""

    field: str
    evidence: Evidence
    transformations: list[TransformationInfo]


class CodeInfo(Answer):
    """The query and the source code of a run."""

    sql: str | None
    source: str | None
    language: str | None
    code: CodeLocation


class ColumnProducer(CodeInfo):
    """A job that writes a column."""

    job: Name
    task: Name
    run: RunSummary
    """The newest of its runs in the current contents."""
    runs: int
    inputs: list[ColumnInput]


class ColumnAnswer(Answer):
    """A column and the jobs that write it, newest first."""

    node: str
    field: str
    type: str | None
    description: str | None
    inheritedDescription: InheritedDescription | None
    """Null if the column has a description of its own."""
    tags: list[TagInfo]
    producers: list[ColumnProducer]
