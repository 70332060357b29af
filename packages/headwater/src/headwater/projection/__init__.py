"""Project events into jobs, runs and datasets: a pure function of the set of events."""

from headwater.projection._apply import apply, project
from headwater.projection._records import MOST_VERSIONS
from headwater.projection.derived import (
    Outcome,
    RunState,
    outcome,
    start_of,
    version_of,
    versions_of,
)
from headwater.projection.facet_books import FacetBook, Stamp, unpack
from headwater.projection.state import DatasetRecord, Job, Run, RunKey, State, Use

__all__ = [
    "DatasetRecord",
    "FacetBook",
    "Job",
    "MOST_VERSIONS",
    "Outcome",
    "Run",
    "RunKey",
    "RunState",
    "Stamp",
    "State",
    "Use",
    "apply",
    "outcome",
    "project",
    "start_of",
    "unpack",
    "version_of",
    "versions_of",
]
