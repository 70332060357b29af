"""Project events into jobs, runs and datasets: a pure function of the set of events."""

from throughline.projection._apply import apply, project
from throughline.projection.derived import (
    Outcome,
    RunState,
    outcome,
    start_of,
    version_of,
    versions_of,
)
from throughline.projection.facets import FacetBook, Stamp, unpack
from throughline.projection.state import DatasetRecord, Job, Run, RunKey, State, Use

__all__ = [
    "DatasetRecord",
    "FacetBook",
    "Job",
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
