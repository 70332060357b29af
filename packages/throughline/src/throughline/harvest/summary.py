"""What a harvest found, job by job."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from throughline.log import Entry, Refusal
from throughline.spec import DatasetEvent, RunEvent

_REASONS = 10


@dataclass(slots=True)
class Found:
    """What was found of one job; of datasets alone, the job has no name. Times in microseconds."""

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
        self.inputs.update(each.name for each in getattr(event, "inputs", ()))
        self.outputs.update(each.name for each in getattr(event, "outputs", ()))


@dataclass(slots=True)
class Summary:
    """All that was found: it grows with jobs, runs and datasets, not with events."""

    jobs: dict[tuple[str, str], Found] = field(default_factory=dict)
    refused: int = 0
    older: int = 0
    """Events that were left out, since they are older than what was asked for."""
    reasons: list[str] = field(default_factory=list)
    stored: Counter[str] = field(default_factory=Counter)

    @property
    def new(self) -> int:
        """How many events were not harvested before."""
        return sum(found.new for found in self.jobs.values())

    def add(self, entry: Entry, *, is_new: bool) -> None:
        """Count an event with its job."""
        job = getattr(entry.event, "job", None) or ("", "")
        self.jobs.setdefault((job[0], job[1]), Found()).add(entry, is_new=is_new)

    def refuse(self, refusals: list[Refusal]) -> None:
        """Count what was not understood; the first reasons are kept."""
        self.refused += len(refusals)
        room = _REASONS - len(self.reasons)
        self.reasons += [f"{each.source}: {each.reason}" for each in refusals[:room]]
