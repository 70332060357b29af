"""Models of unused datasets."""

from __future__ import annotations

from typing import Literal

from headwater.nodes.models import NodeRow
from headwater.query.models import Answer, Facets, Name

Verdict = Literal["unused", "unknown"]
"""`unused` if no reader is known and all that may read the dataset report what they read."""

ReasonKind = Literal[
    "new",
    "short_log",
    "deleted",
    "no_reports",
    "reader_silent",
    "reader_incomplete",
    "declared",
    "view",
    "folder",
    "sql_text",
    "other_name",
    "no_inputs",
    "no_datasets",
]


class UnknownReason(Answer):
    """A reason why a reader of a dataset may be unknown."""

    kind: ReasonKind
    message: str
    jobs: list[Name]
    """The jobs that did not report what they read, or whose reads are uncertain."""


class LastRead(Answer):
    """The last reported read of a dataset."""

    at: str
    """The end of the run that read it."""
    job: Name
    runId: str


class UnusedDataset(NodeRow):
    """A dataset that was written, and not read for some time."""

    verdict: Verdict
    reasons: list[UnknownReason]
    """Empty if the dataset is unused."""
    jobOwners: list[str]
    """Owners of the jobs that write it."""
    writtenAt: str | None
    lastRead: LastRead | None
    """Null if no read was ever reported."""
    writers: list[Name]
    """The jobs that write it."""
    runCount: int
    """Runs that wrote it in this time."""
    runTimeMs: int
    """Duration of these runs in this time. A run that also writes other datasets counts fully."""


class UnusedCounts(Answer):
    """Number of datasets by verdict."""

    unused: int
    unknown: int


class UnusedAnswer(Answer):
    """One page of datasets that were written, and not read for some time."""

    items: list[UnusedDataset]
    next: str | None
    total: int
    """Number of datasets that match all filters."""
    facets: Facets
    since: str | None
    """Start of the time in which no read was reported."""
    counts: UnusedCounts
    """All datasets whose name contains the text, before other filters."""
    runTimeMs: int
    """Duration of the runs that wrote the datasets of all pages; each run counts once."""
