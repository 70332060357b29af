"""Models of the answers about trust: health, lateness, completeness, gate and findings.

See `throughline.query.models` for how answers are modelled.
"""

from __future__ import annotations

from typing import Literal

from throughline.query.models import Answer, Json, Name
from throughline.runs.models import RunSummary


class LateJob(Answer):
    """A job that has not started when it usually does."""

    job: Name
    lastStartedAt: str | None
    everySeconds: int
    """Median interval between its starts."""
    dueAt: str
    lateSeconds: int
    isStopped: bool
    """True if it has not started for so long that it seems to be switched off."""


class FailureCause(RunSummary):
    """A failed run that made a run above it fail."""

    message: str | None
    """Its error message."""


class FailedRun(RunSummary):
    """A failed run with the lowest runs that failed below it."""

    causes: list[FailureCause]


class FailedChecks(Answer):
    """The failed checks of the newest check of a dataset."""

    dataset: str
    at: str | None
    run: RunSummary | None
    version: str | None
    assertions: list[Json]


class IncompleteJob(Answer):
    """A job with runs that lack something."""

    job: Name
    runs: int
    newest: RunSummary


class MeasureResult(Answer):
    """A measure of completeness."""

    share: float | None
    """Share of complete runs; null if the measure applies to no run."""
    runs: int
    """Number of runs that the measure applies to."""
    lost: list[IncompleteJob]
    """Jobs with incomplete runs, those with most first."""


class Measures(Answer):
    """All measures of completeness (see `throughline.trust.completeness`)."""

    inputs: MeasureResult
    outputs: MeasureResult
    columns: MeasureResult
    code: MeasureResult
    ends: MeasureResult


class Orphans(Answer):
    """Jobs, datasets and runs without edges."""

    jobs: list[Name]
    """Jobs without inputs, outputs and child jobs."""
    datasets: list[str]
    """Ids of datasets that no job reads or writes."""
    runs: list[RunSummary]
    """Parent runs that sent no events."""


class CompletenessAnswer(Measures):
    """All measures over the newest runs of all jobs, and what no edge leads to."""

    orphans: Orphans


class GraphCounts(Answer):
    """Size of the graph."""

    jobs: int
    runs: int
    datasets: int


class HealthAnswer(Answer):
    """Failed and stale runs, late jobs, failed checks and completeness."""

    at: str | None
    isHealthy: bool
    counts: GraphCounts
    failed: list[FailedRun]
    lost: list[RunSummary]
    """Runs without an end event."""
    late: list[LateJob]
    quality: list[FailedChecks]
    stopped: list[LateJob]
    completeness: CompletenessAnswer


class Reason(Answer):
    """A problem upstream."""

    distance: int
    """Steps along edges."""
    kind: Literal["failed", "lost", "running", "late"]
    job: Name
    run: RunSummary
    message: str | None
    since: str | None
    """When the problem began."""


class LatenessAnswer(Answer):
    """When a node was due, and the problems upstream that delay it."""

    node: str
    lastAt: str | None
    everySeconds: int | None
    dueAt: str | None
    lateSeconds: int | None
    isLate: bool
    isStopped: bool
    reasons: list[Reason]


class Violation(Answer):
    """A violated rule of a policy, with its place."""

    rule: str
    """Key of the policy."""
    dataset: str | None
    column: str | None
    job: Name | None
    runId: str | None
    message: str


class GatedDataset(Answer):
    """A dataset with the rules that its provenance violates."""

    id: str
    passed: bool
    violations: list[Violation]


class PolicyInfo(Answer):
    """A policy, in the form in which it is accepted."""

    no_failed_runs: bool
    quality_passed: bool
    no_pii: bool
    fresh: bool
    sources: list[str] | None
    completeness: dict[str, float]


class GateAnswer(Answer):
    """True in `passed` if the provenance of all datasets meets the policy."""

    at: str | None
    passed: bool
    datasets: list[GatedDataset]
    policy: PolicyInfo


class Producer(Answer):
    """An integration that sent events."""

    name: str
    lastEventAt: str | None
    runs: int


class Finding(Answer):
    """A problem of the received lineage."""

    severity: Literal["error", "warning"]
    """`error` if lineage was lost or is wrong, `warning` if it may be."""
    kind: str
    subject: str
    """Id of the node, name of the producer, or place of the problem."""
    message: str
    remedy: str


class DoctorAnswer(Answer):
    """The producers and the problems of the received lineage."""

    producers: list[Producer]
    findings: list[Finding]
