"""Summary of a harvest by job."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from throughline.events import DatasetEvent, RunEvent
from throughline.log import Entry, RejectedLine

_REASONS = 10


@dataclass(slots=True)
class JobSummary:
    """The events of one job; dataset events have an empty job name. Times in microseconds."""

    events: int = 0
    new: int = 0
    runs: set[str] = field(default_factory=set)
    inputs: set[str] = field(default_factory=set)
    outputs: set[str] = field(default_factory=set)
    first: int = 0
    last: int = 0

    def add(self, entry: Entry, *, is_new: bool) -> None:
        """Count an event."""
        event = entry.event
        self.first = min(self.first or event.time, event.time)
        self.last = max(self.last, event.time)
        self.events += 1
        self.new += is_new
        if isinstance(event, RunEvent):
            self.runs.add(event.run_id)
        if isinstance(event, DatasetEvent):
            self.outputs.add(event.dataset.name)
            return
        self.inputs.update(dataset.name for dataset in getattr(event, "inputs", ()))
        self.outputs.update(dataset.name for dataset in getattr(event, "outputs", ()))


@dataclass(slots=True)
class Summary:
    """Counts of a harvest; the size depends on jobs, runs and datasets, not on events."""

    jobs: dict[tuple[str, str], JobSummary] = field(default_factory=dict)
    refused: int = 0
    older: int = 0
    """Events before the requested start time, which were dropped."""
    reasons: list[str] = field(default_factory=list)
    stored: Counter[str] = field(default_factory=Counter)

    @property
    def new(self) -> int:
        """The number of events that were not imported before."""
        return sum(job.new for job in self.jobs.values())

    def add(self, entry: Entry, *, is_new: bool) -> None:
        """Count an event with its job."""
        job = getattr(entry.event, "job", None) or ("", "")
        self.jobs.setdefault((job[0], job[1]), JobSummary()).add(entry, is_new=is_new)

    def refuse(self, rejected_lines: list[RejectedLine]) -> None:
        """Count rejected lines; keep the first reasons."""
        self.refused += len(rejected_lines)
        room = _REASONS - len(self.reasons)
        self.reasons += [f"{line.source}: {line.reason}" for line in rejected_lines[:room]]
