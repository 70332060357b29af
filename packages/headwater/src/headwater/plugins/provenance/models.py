"""Models of provenance: everything upstream of a dataset, and the statement about it."""

from __future__ import annotations

from typing import Literal

from headwater.datasets.models import Removal
from headwater.lineage.models import DeletedSources
from headwater.query.models import Answer, CodeLocation, DatasetTag, Json, Name, NodeRef
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


PersonalDataState = Literal["contained", "possible", "excluded", "untagged", "unknown"]


class PersonalData(Answer):
    """A statement on personal data in a dataset, decided from the tags `pii` of its inputs."""

    state: PersonalDataState
    """`possible` without column lineage; `excluded` if PII is masked or not used. `untagged` is no
    proof, and `unknown` means that no input has a tag or that sources were deleted."""
    message: str
    columns: list[str]
    """The columns tagged PII that decide it, as `DATASET.COLUMN`."""


class ProvenanceAnswer(Answer):
    """All runs, input versions and code versions that a dataset comes from, newest first."""

    node: str
    version: str | None
    level: str
    runs: list[ProvenanceRun]
    sources: list[DatasetVersions]
    """Datasets that no run wrote."""
    deletedSources: DeletedSources | None
    unknown: list[str]
    """Sentences about facts that the producers did not report; empty if nothing is missing."""
    datasets: list[ProvenanceDataset]
    tags: list[DatasetTag]
    personalData: PersonalData


class Resource(Answer, total=False):
    """A ResourceDescriptor of in-toto: a dataset at a version, a file or code at a commit."""

    name: str
    """The id of the node, or the name of the file."""
    uri: str
    digest: dict[str, str]
    """`sha1`, `sha256` and `gitCommit` are hashes; `version` is a version that a run reported."""


class StatedCheck(Name):
    """A check of a dataset at one of the versions of a statement."""

    checkedAt: str
    version: str | None
    """Null if the producer did not report the checked version."""
    passed: list[str]
    failed: list[str]
    """The failed assertions, including those that are only warnings."""
    withoutResult: list[str]


class StatedRun(ProvenanceRun):
    """A run with its parameters."""

    parameters: Json


class Subject(Answer):
    """The `externalParameters`: the dataset, and the parameters of the run that wrote it."""

    dataset: str
    parameters: Json


class StatedLineage(Answer):
    """The `internalParameters`: everything upstream."""

    runs: list[StatedRun]
    checks: list[StatedCheck]
    unknown: list[str]
    """Sentences about facts that the producers did not report; empty if nothing is missing."""


class BuildDefinition(Answer):
    """The inputs of SLSA's provenance."""

    buildType: str
    externalParameters: Subject
    internalParameters: StatedLineage
    resolvedDependencies: list[Resource]


class Builder(Answer):
    """The program that made the statement from the events of the producers."""

    id: str
    version: dict[str, str]


class BuildMetadata(Answer):
    """The run that wrote the dataset."""

    invocationId: str
    startedOn: str | None
    finishedOn: str | None


class RunDetails(Answer):
    """The run that wrote the dataset, and the program that reports it."""

    builder: Builder
    metadata: BuildMetadata


class Predicate(Answer):
    """SLSA's provenance, version 1."""

    buildDefinition: BuildDefinition
    runDetails: RunDetails


class Statement(Answer):
    """An in-toto statement about a version of a dataset, to be signed and kept with it."""

    _type: str
    subject: list[Resource]
    predicateType: str
    predicate: Predicate
