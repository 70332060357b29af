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
    "no_writer", "no_version", "inputs", "by_time", "no_reader", "by_time_downstream", "deleted"
]


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
    owners: list[str]


class VersionGap(Answer):
    """A reason why the answer may be incomplete."""

    kind: GapKind
    message: str
    jobs: list[Name]
    """The jobs that did not report it."""


class VersionAnswer(DatasetRef):
    """A version of a dataset: who made it, who read it, and what was made of it."""

    kind: str
    version: str
    isReported: bool
    """False for the id of a run that wrote without reporting a version."""
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
