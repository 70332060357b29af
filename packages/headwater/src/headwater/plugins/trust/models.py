"""Models of the answers about trust; every problem is a `Finding`.

`headwater.query.models` explains the models.
"""

from __future__ import annotations

from typing import Literal

from headwater.health.models import Finding, Measure, NodeHealth, Severity
from headwater.query.models import Answer, Json, Link, Name, NodeRef, ValueCount

SPOOL = "spool"
"""Kind of the `doctor` findings about spool data that is not ingested yet."""

FindingState = Literal["open", "acknowledged", "muted"]


class HealthFinding(Finding):
    """A finding of health, and whether it is muted or acknowledged."""

    state: FindingState
    """`open`, `acknowledged` until the finding changes, or `muted` until `mutedUntil`."""
    note: str | None
    mutedUntil: str | None
    """Null if it is not muted, or muted without an end."""


ProblemKind = Literal["failed", "lost", "late", "quality", "stopped", "branches"]


class FindingRef(Answer):
    """The kind and subject of a finding, by which its state is changed."""

    kind: ProblemKind
    subject: str


class AffectedNode(NodeRef):
    """A dataset that was not rebuilt, a job that did not run, or a view or exposure of its data."""

    kind: str
    owners: list[str]


class Problem(Answer):
    """One cause of findings of health, with everything that was not rebuilt because of it."""

    id: str
    kind: ProblemKind
    severity: Severity
    cause: NodeRef
    """The lowest failed job, the late job, or the dataset with failed checks."""
    pipeline: NodeRef | None
    """The failed pipeline that the cause is part of."""
    message: str
    """The problem without its error, as a sentence whose subject is the name of `cause`."""
    remedy: str
    runId: str | None
    at: str | None
    error: list[str]
    """Up to three lines of the error that state the reason; no stack frames or headings."""
    links: list[Link]
    """Pages of the run in its orchestrator, such as its log."""
    datasets: int
    """Number of datasets that were not rebuilt, without views, as far as lineage was reported."""
    views: int
    """Number of views that show old data or data with failed checks, or were not created again."""
    jobs: int
    """Number of other jobs that did not run."""
    exposures: int
    """Number of exposures, such as dashboards, that show old data or data with failed checks."""
    affected: list[AffectedNode]
    """The first 50 of these datasets, jobs and exposures, nearest first."""
    owners: list[str]
    """Owners of the cause and of everything affected."""
    tags: list[ValueCount]
    """Tags of the affected datasets, with the number of datasets."""
    findings: list[FindingRef]
    """The findings with this cause; a change of their state applies to all their causes."""
    state: FindingState
    note: str | None
    mutedUntil: str | None


class ProblemFacets(Answer):
    """Values by which problems can be filtered, with the number of problems that have them."""

    kind: list[ValueCount]
    owner: list[ValueCount]
    tag: list[ValueCount]
    platform: list[ValueCount]
    age: list[ValueCount]


class ProblemsAnswer(Answer):
    """One page of problems, errors with most affected datasets first."""

    items: list[Problem]
    next: str | None
    total: int
    decided: int
    """Number of muted and acknowledged problems, without the filters."""
    facets: ProblemFacets
    uncounted: int
    """Number of jobs and datasets that are not checked for lateness yet, so that problems may be
    missing. Each query checks more of them."""


class MeasureResult(Answer):
    """A measure of completeness."""

    share: float | None
    """Share of complete runs; null if the measure applies to no run, or is unknown for some."""
    runs: int
    """Number of runs that the measure applies to."""
    unknownRuns: int
    """Number of these for which it is unknown: SQL wrote tables whose columns were not reported."""
    findings: list[Finding]
    """Jobs with incomplete runs, those with most first."""


class CompletenessAnswer(Answer):
    """All measures over the newest runs of all jobs, and the nodes without edges."""

    measures: dict[Measure, MeasureResult]
    orphans: list[Finding]
    """Jobs without datasets and child jobs, datasets without jobs, parent runs without events.

    A pipeline with datasets has one entry for all its tasks without datasets.
    """
    uncounted: int
    """Number of jobs whose runs were not measured yet, because the server with a large store
    started a short time ago. Each query measures some of them. Meanwhile, every `share` is null,
    `runs` and `findings` are those of the other jobs, and `orphans` is empty."""


class PipelineCompleteness(Answer):
    """The gaps in the lineage that the newest runs of a pipeline report."""

    id: str
    job: Name
    runs: int
    """Number of task runs that were checked."""
    missing: list[Finding]
    """The incomplete jobs by measure; empty if all runs are complete."""
    isMeasured: bool
    """False if no completed run read or wrote data, so that completeness is unknown."""


class HealthCounts(Answer):
    """Size of the graph, and the number of findings by severity."""

    jobs: int
    runs: int
    datasets: int
    errors: int
    warnings: int
    problems: int
    """Number of open problems. A finding counts once for each of its causes."""


class HealthAnswer(Answer):
    """Numbers of jobs, runs, datasets and findings."""

    at: str | None
    isHealthy: bool | None
    """True if no open finding is an error; null if none is, but nodes are `uncounted`."""
    counts: HealthCounts
    uncounted: int
    """Number of jobs and datasets that are not checked for lateness yet, so that findings may be
    missing. Each query checks more of them."""


class Reason(Finding):
    """A problem upstream: `failed`, `lost`, `running` or `late`."""

    distance: int
    """Steps along edges."""


class LatenessAnswer(Answer):
    """The due time of a node, and the problems upstream that delay it."""

    node: str
    lastAt: str | None
    everySeconds: int | None
    dueAt: str | None
    job: Name | None
    """The pipeline whose writes the times are about, if several have schedules of their own."""
    lateSeconds: int | None
    isLate: bool
    """True if the node is due, even if its state is failed or blocked."""
    isStopped: bool
    health: NodeHealth
    reasons: list[Reason]


class Violation(Finding):
    """A violation of a policy; `kind` is a key of the policy."""

    pipeline: str | None
    """Id of the pipeline whose run failed or is stale."""
    isMuted: bool
    """True if the finding of health about the subject or its pipeline is muted."""


class GatedDataset(Answer):
    """A dataset with the rules that its provenance violates."""

    id: str
    passed: bool
    """True if there is no violation; with `allow_muted`, none that is not muted."""
    violations: list[Violation]


class GateAnswer(Answer):
    """True in `passed` if the provenance of all datasets meets the policy."""

    at: str | None
    passed: bool
    datasets: list[GatedDataset]
    policy: Json
    """The policy with its defaults."""


class CheckAnswer(Answer):
    """The differences of the captured lineage from a contract."""

    passed: bool
    findings: list[Finding]
    contract: Json
    """The contract updated to the captured lineage, as `headwater check --write` writes it."""


class Producer(Answer):
    """An integration that sent events."""

    name: str
    lastEventAt: str | None
    runs: int


class UnreadSql(Answer):
    """The SQL texts of a job that could not be read; its lineage is what the producer reported."""

    job: str
    """Id of the node."""
    producer: str
    texts: int
    """Number of different texts."""
    reason: str
    """Why the newest of them could not be read."""
    sql: str
    """The beginning of the newest of them; null if the API key may not read SQL."""


class DoctorAnswer(Answer):
    """The producers and the problems of the received lineage."""

    producers: list[Producer]
    findings: list[Finding]
    eventsWithWarnings: int
    """Number among the newest events (`GET /api/v2/events/warnings`)."""
    unreadSql: list[UnreadSql]
    """Unread SQL texts of the 1,000 newest runs with SQL, by job and producer, most first."""
