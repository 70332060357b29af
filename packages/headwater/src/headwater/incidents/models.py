"""Models of versions and incidents.

`headwater.query.models` explains the models.
"""

from __future__ import annotations

from typing import Literal

from headwater.query.models import Answer, CodeLocation, DatasetRef, Name, NodeRef
from headwater.runs.models import RunSummary

By = Literal["version", "time"]
"""How a version is known: reported by the runs, or derived from the times of writes and reads."""


GapKind = Literal[
    "no_writer", "no_version", "inputs", "by_time", "no_reader", "by_time_downstream", "deleted",
    "no_code", "no_previous", "no_owner", "no_command", "checked_by_time",
]  # fmt: skip


class UsedVersions(DatasetRef):
    """A dataset that a run read, with the versions."""

    versions: list[str]
    """Empty if unknown."""
    by: By


class VersionWriter(Answer):
    """A run that wrote the version."""

    run: RunSummary
    code: CodeLocation
    inputs: list[UsedVersions]


class WrittenVersions(DatasetRef):
    """A dataset with the versions that a run wrote."""

    versions: list[str]


class VersionReader(Answer):
    """A run that read the version."""

    run: RunSummary
    by: By
    owners: list[str]
    """Of the job."""
    outputs: list[WrittenVersions]
    """The outputs that contain what it read."""


class AffectedNode(NodeRef):
    """A dataset, or a job without outputs such as an exposure, that contains or uses the version.

    The lists have at most 20 items; the counts are exact.
    """

    kind: str
    """Of a dataset: table, file, model and so on; else `job` or `exposure`."""
    versionCount: int
    versions: list[str]
    """Those of the dataset that contain data of the version, newest first. None is listed for a
    view, or if no run was reported."""
    runCount: int
    runs: list[RunSummary]
    """The runs that wrote these versions, or that read without writing, newest first."""
    by: By
    """`version` if reported versions prove each step to at least one of the runs."""
    isCurrent: bool
    """True if the present contents of the dataset contain the data, as those of a failed or open
    run may, or if the newest run used it."""
    owners: list[str]
    """Of a dataset without owners, those of the jobs that write it."""


class VersionGap(Answer):
    """A reason why the answer may be incomplete."""

    kind: GapKind
    message: str
    jobs: list[Name]
    """The jobs that did not report it."""


class TaintInfo(Answer):
    """A statement that a version is recalled."""

    reason: str
    at: str | None


class TaintedVersion(DatasetRef):
    """A recalled version."""

    version: str
    reason: str
    at: str | None


class VersionAnswer(DatasetRef):
    """A version of a dataset: who made it, who read it, and what was made of it."""

    kind: str
    version: str
    isReported: bool
    """False for the id of a run that wrote without reporting a version."""
    taint: TaintInfo | None
    """Null unless the version was recalled."""
    writers: list[VersionWriter]
    wasRead: Literal["yes", "by_time", "unknown"]
    """`yes` if a run reported to have read it, `by_time` if it follows from times. Without such a
    run it is `unknown`: a reader may not report its runs."""
    readerCount: int
    readers: list[VersionReader]
    """Newest first."""
    affectedCount: int
    affected: list[AffectedNode]
    """In the order in which they were first written, also if they were replaced since."""
    unknown: list[VersionGap]


class BadVersion(DatasetRef):
    """A version that an incident is about."""

    version: str
    by: By
    """`time` if a check did not report the version that it checked."""
    checks: list[str]
    """The failed assertions."""
    writers: list[VersionWriter]


class CodeChange(Answer):
    """The commits of two runs; null if not reported."""

    before: str | None
    after: str | None


class InputChange(DatasetRef):
    """The versions of an input that two runs read; empty if unknown."""

    before: list[str]
    after: list[str]


class VersionChange(DatasetRef):
    """What differs between the run that wrote a bad version and the one that wrote before it."""

    version: str
    previous: str
    """The version before it."""
    run: RunSummary
    previousRun: RunSummary
    code: CodeChange | None
    """Null if both runs reported the same commit."""
    inputs: list[InputChange]
    """The inputs whose versions differ or are unknown."""


class CleanDataset(DatasetRef):
    """A dataset whose present contents have no data of the bad versions, as far as reported."""

    isProven: bool
    """True if reported versions and commits prove it. Otherwise it is only likely: times decide,
    or a write may have kept rows of earlier versions."""


class OwnerToTell(Answer):
    """An owner with the affected nodes."""

    owner: str
    nodes: list[str]
    """Ids."""


class Rerun(Answer):
    """A pipeline to run again, after those listed before it."""

    job: Name
    tool: str | None
    """The integration that reported it, such as AIRFLOW."""
    command: str | None
    """Null if headwater knows no command for the tool."""
    writes: list[str]
    """Ids of the datasets to be written again."""


class IncidentAnswer(Answer):
    """A failed check or a bad version, with its cause, everybody who used it, and what to do."""

    subject: str
    kind: Literal["check", "run", "version"]
    message: str
    """The incident in one text, for a message to the owners."""
    versions: list[BadVersion]
    changes: list[VersionChange]
    readerCount: int
    readers: list[VersionReader]
    """Newest first."""
    affectedCount: int
    affected: list[AffectedNode]
    cleanCount: int
    clean: list[CleanDataset]
    owners: list[OwnerToTell]
    reruns: list[Rerun]
    unknown: list[VersionGap]
