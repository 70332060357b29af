"""History, timelines and differences."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from headwater.datasets.models import Removal, SchemaChange, WriteStatistics
from headwater.query.models import Answer, CodeLocation, Json, Name, TypedName
from headwater.runs.models import RunInfo, RunSummary


class WrittenEntry(WriteStatistics):
    """A version of a dataset that a run wrote."""

    done: Literal["wrote"]
    at: str
    run: RunSummary
    version: str | None


class FailedEntry(Answer):
    """A run that failed before it reported that it wrote the dataset."""

    done: Literal["failed"]
    at: str
    run: RunSummary


class CheckedEntry(Answer):
    """A check of a dataset, with its assertions and metrics as reported."""

    done: Literal["checked"]
    at: str
    run: RunSummary | None
    version: str | None
    assertions: list[Json]
    metrics: Json


class SchemaEntry(SchemaChange):
    """A change of the schema of a dataset."""

    done: Literal["schema"]


class RunWork(Answer):
    """The code of a run and what it and its descendants read and wrote."""

    code: CodeLocation
    inputs: list[Name]
    outputs: list[Name]


class RanEntry(RunWork):
    """A run of a job."""

    done: Literal["ran"]
    at: str | None
    run: RunSummary
    changed: list[Literal["code", "inputs", "outputs"]]
    """The fields that differ from the last completed run before it."""


class RemovedEntry(Removal):
    """A change that dropped, emptied or renamed a dataset."""

    done: Literal["removed"]


HistoryEntry = WrittenEntry | FailedEntry | CheckedEntry | SchemaEntry | RemovedEntry | RanEntry


class HistoryAnswer(Answer):
    """One page of the history of a node, newest first."""

    node: str
    items: list[HistoryEntry]
    next: str | None


RunCounts = TypedDict(
    "RunCounts",
    {
        "from": str,
        "to": str,
        "at": str,
        "completed": int,
        "failed": int,
        "lost": int,
        "running": int,
    },
)
RunCounts.__doc__ = "Runs that started between two times; at `at`, all runs with an end had ended."


ChangeKind = Literal["node", "input", "output", "schema", "code", "failed"]


class GraphChange(Answer):
    """A change of the graph, of a schema or of code, or a failed run."""

    kind: ChangeKind
    isGone: bool
    """True for an edge that was removed."""
    at: str
    """A time at which all of the change had been reported."""
    before: str
    """A time before the change."""
    node: str
    other: str | None
    runId: str | None
    detail: list[str]


TimelineAnswer = TypedDict(
    "TimelineAnswer",
    {
        "node": str,
        "level": str,
        "from": str,
        "to": str,
        "runs": list[RunCounts],
        "changes": list[GraphChange],
        "nodes": dict[str, TypedName],
        "isMore": bool,
    },
)
TimelineAnswer.__doc__ = "Runs around a node over time, and the changes there, newest first."


class NamedNode(TypedName):
    """A node that a difference names."""

    kind: str | None


class SchemaDifference(Answer):
    """Fields, as `name: type`, that differ between two moments."""

    node: str
    added: list[str]
    removed: list[str]


CodeDifference = TypedDict(
    "CodeDifference",
    {"node": str, "from": str | None, "to": str | None, "isSourceChanged": bool},
)
CodeDifference.__doc__ = """Versions of the code of a job at two moments."""


class DiffAnswer(Answer):
    """The difference between two moments."""

    level: str
    nodes: dict[str, NamedNode]
    """The nodes that the other fields name, by id."""
    added: list[str]
    removed: list[str]
    edgesAdded: list[list[str]]
    """Pairs of ids in the direction of the data."""
    edgesRemoved: list[list[str]]
    schemas: list[SchemaDifference]
    code: list[CodeDifference]
    failed: list[RunInfo]
    """Runs that failed in between, without the runs that started them, newest first."""
