"""Models of schemas of datasets."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from headwater.query.models import Answer, DatasetRef, Field, Name

FieldChange = TypedDict("FieldChange", {"name": str, "from": str, "to": str})
FieldChange.__doc__ = """A field whose type changed."""


class SchemaChange(DatasetRef):
    """A change of the schema of a dataset, and the run that reported it."""

    at: str
    runId: str | None
    job: Name | None
    producer: str | None
    added: list[Field]
    removed: list[Field]
    changed: list[FieldChange]


class Removal(Answer):
    """The change after which a dataset, or its rows, are not found under its name."""

    kind: Literal["dropped", "emptied", "renamed"]
    at: str
    job: Name | None
    """Null if the dataset itself was reported, without a run."""
    runId: str | None
    renamedTo: DatasetRef | None
    """The new name of a renamed dataset."""
    evidence: Literal["reported", "sql"]
    """`sql` if the SQL text of the run states it and the producer did not report it."""


class WriteStatistics(Answer):
    """Statistics of a write (outputStatistics)."""

    rows: int | None
    bytes: int | None
    files: int | None
