"""Models of aliases."""

from __future__ import annotations

from headwater.lineage.orphans import EvidenceKind
from headwater.query.models import Answer, DatasetRef, Name


class AliasPair(Answer):
    """Two names that a user joined, or separated; or a rule."""

    one: Name
    other: Name
    isSeparate: bool
    isRule: bool
    """True if the names are patterns with a `%s`: all pairs of names that match are joined."""
    pairCount: int | None
    """Number of pairs of reported names that the rule joins; null if this is not a rule."""
    since: str | None


class NameEvidence(Answer):
    """A reason why two names may be one dataset."""

    kind: EvidenceKind
    message: str
    points: int


class SuggestedAlias(Answer):
    """Two names that may be one dataset: one is written and never read, the other only read."""

    score: int
    """The sum of the points, at most 100."""
    written: DatasetRef
    read: DatasetRef
    evidence: list[NameEvidence]
    writers: list[Name]
    readers: list[Name]
    otherCount: int
    """Number of other names that are as likely as `read`."""
