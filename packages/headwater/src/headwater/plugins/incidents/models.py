"""Models of versions and incidents.

`headwater.query.models` explains the models.
"""

from __future__ import annotations

from typing import Literal

from headwater.query.models import Answer, CodeLocation, DatasetRef, Name, NodeRef
from headwater.runs.models import RunSummary

By = Literal["version", "time"]
"""Source of a version: reported by the runs, or derived from the times of writes and reads."""


GapKind = Literal[
    "no_writer", "no_version", "inputs", "by_time", "no_reader", "by_time_downstream", "deleted",
    "no_code", "no_previous", "no_owner", "no_command", "keeps_rows",
    "checked_by_time",
]  # fmt: skip


class UsedVersions(DatasetRef):
    """A dataset that a run read, with the versions that it read."""

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
    """Owners of the job."""
    outputs: list[WrittenVersions]
    """The outputs that contain what it read."""


class NodeWithVersion(NodeRef):
    """A dataset, or a job without outputs such as an exposure, that contains or uses the version.

    The lists have at most 20 items; the counts are exact.
    """

    kind: str
    """The kind of a dataset, such as table, file or model; otherwise `job` or `exposure`."""
    versionCount: int
    versions: list[str]
    """The versions of the dataset that contain the data, newest first. Empty for a view, or if no
    run was reported."""
    runCount: int
    runs: list[RunSummary]
    """The runs that wrote these versions, or that read without writing, newest first."""
    by: By
    """`version` if reported versions prove each step to at least one of the runs."""
    isCurrent: bool
    """True if the present contents of the dataset contain the data, or if the newest run used it.
    Also true if a failed or running run may have written the data."""
    owners: list[str]
    """Owners of the node. If a dataset has none, the owners of the jobs that write it."""


class VersionGap(Answer):
    """A reason why the answer may be incomplete."""

    kind: GapKind
    message: str
    jobs: list[Name]
    """The jobs that did not report it."""


class TaintInfo(Answer):
    """The recall of a version."""

    reason: str
    at: str | None


class TaintedVersion(DatasetRef):
    """A recalled version."""

    version: str
    reason: str
    at: str | None


class RecalledVersions(Answer):
    """One page of recalled versions, and the number of all."""

    items: list[TaintedVersion]
    next: str | None
    """Cursor of the next page; null on the last one."""
    total: int


class VersionAnswer(DatasetRef):
    """A version of a dataset, with its writers, its readers and what contains its data."""

    kind: str
    version: str
    isReported: bool
    """False for the id of a run that wrote without reporting a version."""
    taint: TaintInfo | None
    """Null unless the version was recalled."""
    writers: list[VersionWriter]
    wasRead: Literal["yes", "by_time", "unknown"]
    """`yes` if a run reported that it read the version, `by_time` if this is derived from times,
    and `unknown` otherwise, because a reader may not report its runs."""
    readerCount: int
    readers: list[VersionReader]
    """Newest first."""
    affectedCount: int
    affected: list[NodeWithVersion]
    """In the order of their first runs, including those whose data was replaced since."""
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
    """The differences between the run that wrote a bad version and the previous writer."""

    version: str
    previous: str
    """The version before it."""
    run: RunSummary
    previousRun: RunSummary
    code: CodeChange | None
    """Null if both runs reported the same commit, or neither reported one."""
    inputs: list[InputChange]
    """The inputs whose versions differ; left out if both are unknown."""


class CleanDataset(DatasetRef):
    """A dataset whose present contents have no data of the bad versions, as far as reported."""

    isProven: bool
    """True if reported versions and commits prove it. Otherwise it is derived from times, or a
    write may have kept rows of earlier versions."""


class OwnerToNotify(Answer):
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
    """Null if the command is unknown, such as for other tools or if a parameter is masked."""
    writes: list[str]
    """Ids of the datasets to be written again."""


class IncidentAnswer(Answer):
    """A failed check or a bad version, with its cause, its users, and what to run again."""

    subject: str
    kind: Literal["check", "run", "version"]
    message: str
    """A message about the incident to the owners."""
    versions: list[BadVersion]
    changes: list[VersionChange]
    readerCount: int
    readers: list[VersionReader]
    """Newest first."""
    affectedCount: int
    affected: list[NodeWithVersion]
    cleanCount: int
    clean: list[CleanDataset]
    owners: list[OwnerToNotify]
    reruns: list[Rerun]
    unknown: list[VersionGap]
