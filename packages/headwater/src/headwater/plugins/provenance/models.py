"""Everything that the contents of a dataset come from."""

from __future__ import annotations

from headwater.datasets.models import Removal
from headwater.lineage.models import DeletedSources
from headwater.query.models import Answer, CodeLocation, DatasetTag, Name, NodeRef
from headwater.runs.models import RunSummary


class DatasetVersions(Name):
    """A dataset with the versions that were read or written."""

    versions: list[str]


class ProvenanceOutput(DatasetVersions):
    """A written dataset."""

    sources: list[Name] | None
    """The inputs that feed it, if the events state them; null if all do."""
    hasFailed: bool
    """True if the run failed and reported neither a version nor rows of it."""


class ProvenanceRun(Answer):
    """A run that the contents of a dataset come from."""

    job: Name
    run: RunSummary | None
    """Null for a job that only declared its edges."""
    code: CodeLocation
    inputs: list[DatasetVersions]
    outputs: list[ProvenanceOutput]


class ProvenanceDataset(NodeRef):
    """A dataset on the way."""

    kind: str
    owners: list[str]
    removal: Removal | None
    """Of a dataset that was dropped, emptied or renamed and not written since."""


class ProvenanceAnswer(Answer):
    """All runs, input versions and code versions that a dataset comes from, newest first."""

    node: str
    version: str | None
    level: str
    runs: list[ProvenanceRun]
    sources: list[DatasetVersions]
    """Datasets that no run wrote."""
    deletedSources: DeletedSources | None
    datasets: list[ProvenanceDataset]
    tags: list[DatasetTag]
