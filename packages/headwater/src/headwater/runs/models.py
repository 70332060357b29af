"""Runs."""

from __future__ import annotations

from typing import NotRequired

from headwater.projection import RunState
from headwater.query.models import Answer, CodeLocation, Json, Link, Name


class RunSummary(Answer):
    """A run in one line."""

    runId: str
    job: Name
    state: RunState
    startedAt: str | None
    endedAt: str | None
    durationMs: int | None
    lastEventAt: NotRequired[str | None]
    """Only for a running stream."""


class RunInfo(RunSummary):
    """A run with its parameters and its error."""

    ownId: str | None
    """The id that the orchestrator gave the run."""
    platform: str | None
    """The integration that the run's job reported."""
    parameters: Json
    error: str | None


class RunTree(RunInfo):
    """A run and the runs that it started."""

    hasMore: bool
    """True if the run has children that are not shown."""
    children: list[RunTree]


class DatasetVersion(Name):
    """A dataset that a run read or wrote."""

    version: str | None


class WrittenVersion(DatasetVersion):
    """A dataset that a run wrote or failed to write."""

    hasFailed: bool
    """True if the run failed and reported neither a version nor rows of it."""


class RunDetail(RunInfo):
    """A run with its code and the dataset versions that it and its children used."""

    code: CodeLocation
    inputs: list[DatasetVersion]
    outputs: list[WrittenVersion]


class FailedRun(RunSummary):
    """A failed run with its error and its pages in the orchestrator."""

    error: str | None
    links: list[Link]


class RunAnswer(RunDetail):
    """A run with its facets, its ancestors and its descendants."""

    facets: Json
    links: list[Link]
    above: list[RunSummary]
    """Ancestors, nearest first."""
    below: list[RunDetail]
    """Descendants, earliest first."""
    causes: list[FailedRun]
    """For a failed run: the lowest failed runs below it, newest first, without those retried."""
