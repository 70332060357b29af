"""Models of the health of jobs and datasets.

`headwater.query.models` explains the models.
"""

from __future__ import annotations

from typing import Literal, NotRequired

from headwater.query.models import Answer, Name, NodeRef

Severity = Literal["error", "warning"]
Measure = Literal["inputs", "outputs", "columns", "code", "ends"]
"""Measures of the completeness of lineage."""

HealthState = Literal[
    "failed", "failed_checks", "blocked", "late", "unknown", "healthy", "streaming", "ad_hoc"
]
"""The states of a node by precedence; the last two replace `healthy`.

- `failed`: the newest run that ended failed; of a dataset, that of a job that writes it.
- `failed_checks`: assertions of the newest check failed; of a view or an exposure, also those of a
  table whose rows it shows.
- `blocked`: a job upstream failed, and the node was due since but was not written.
- `late`: the node is due, by the evidence of a schedule (`headwater.health.freshness`).
- `unknown`: no run ended, no end was reported, or the job seems to be switched off; or a dataset
  was dropped or renamed, or a model was removed from its dbt project, which outrank all others.
- `healthy`: the newest run completed, and none of the above holds.
- `streaming`: a streaming job, or a dataset that one writes; silence says nothing about it.
- `ad_hoc`: tagged `ad-hoc`, so that it is never late.
"""


class NodeHealth(Answer):
    """The state of a job or a dataset."""

    state: HealthState
    message: str
    """The reason, as a sentence without its subject."""
    at: str | None
    """When the state began, or the last sign of it."""
    by: list[NodeRef]
    """The failed jobs upstream, or datasets whose checks failed, nearest first."""


class LateJob(Answer):
    """A job that did not start at its usual time."""

    job: Name
    lastStartedAt: str | None
    everySeconds: int
    """Median interval between its starts."""
    dueAt: str
    lateSeconds: int
    isStopped: bool
    """True if it has not started for so long that it seems to be switched off."""


class Finding(Answer):
    """A problem or a possible problem."""

    severity: Severity
    """`error` for a problem, `warning` for a possible one."""
    kind: str
    subject: str
    """Id of the node, name of the producer, or place of the problem."""
    column: str | None
    message: str
    """The problem, as a sentence whose subject is the name of `subject`."""
    remedy: str
    runId: str | None
    at: str | None
    """When it began or was found."""
    causes: NotRequired[list[Finding]]
    """For a failed run: the lowest failed runs below it."""
