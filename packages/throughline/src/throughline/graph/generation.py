"""Generations of one task, the data flows between them, and which of them are effective."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import Any, NamedTuple

from throughline.events import JobRef
from throughline.graph.run_edges import Edges
from throughline.identity import DatasetName
from throughline.projection import Run, RunKey


class Span(NamedTuple):
    """A time span, in microseconds; the end of a streaming run without an end is infinite."""

    start: float
    end: float


@dataclass(frozen=True, slots=True, eq=False)
class Generation:
    """The runs of one task under one parent run, or one without a parent, with all runs below.

    Without runs, it is the declaration of a JobEvent or a derivation.
    """

    job: JobRef
    order: tuple[int, RunKey | None]
    """The start, in microseconds, and the least key of the runs."""
    is_complete: bool
    """True if finished: all of its runs of the task ended, and at least one completed."""
    edges: Edges
    kept: frozenset[DatasetName]
    """The outputs that also keep rows of earlier generations."""
    runs: tuple[Run, ...]
    """The runs that read or wrote data."""
    ended: float = inf
    """The end of the last run, or its last event, in microseconds; infinite for a streaming run."""
    only_created: frozenset[DatasetName] = frozenset()
    """The outputs that its runs created or altered without rows; one may have existed before."""
    changed: frozenset[DatasetName] = frozenset()
    """The datasets that its runs dropped, emptied or renamed."""
    spans: dict[tuple[str, DatasetName], Span] = field(default_factory=dict)
    """Cached times at which its runs read or wrote a dataset; see throughline.graph.times."""

    @property
    def started(self) -> int:
        """Return the start of the first run, in microseconds; 0 without runs."""
        return self.order[0]


class Flow(NamedTuple):
    """Data that one generation, the consumer, gets from another through a dataset."""

    source: Generation
    """The generation that wrote the dataset."""
    dataset: DatasetName
    is_kept: bool
    """True if the consumer kept rows of the dataset; False if it read the dataset."""


@dataclass(slots=True, eq=False)
class History:
    """The generations of one task; replaced when one of them changes."""

    oldest_first: list[Generation]
    derived: dict[str, Any] = field(default_factory=dict)
    """Cached values that were computed from the generations, by name."""
    _writing: dict[DatasetName, list[Generation]] = field(default_factory=dict)

    def writing(self, name: DatasetName) -> list[Generation]:
        """Return the generations that wrote a dataset, oldest first."""
        found = self._writing.get(name)
        if found is None:
            found = [g for g in self.oldest_first if name in g.edges.writes]
            self._writing[name] = found
        return found


def declared_generation(ref: JobRef, edges: Edges) -> Generation:
    """Return a generation without runs; it applies until the job has runs with data."""
    return Generation(ref, (0, None), True, edges, frozenset(), ())


def latest(oldest_first: list[Generation]) -> list[Generation]:
    """Return the newest finished generation (that wrote, if any did) and later unfinished ones."""
    complete = [g for g in reversed(oldest_first) if g.is_complete]
    base = next((g for g in complete if g.edges.writes), complete[0] if complete else None)
    if base is None:
        return oldest_first
    newer = oldest_first[oldest_first.index(base) + 1 :]
    return [base, *(g for g in newer if not g.is_complete)]


def unreplaced(oldest_first: list[Generation]) -> list[Generation]:
    """Return the generations with an output that no later finished one wrote, newest first.

    One job can write many datasets in separate runs (a flow that is started per service): its last
    run alone would leave the other datasets without an origin.
    """
    settled: set[DatasetName] = set()
    found = []
    for generation in reversed(oldest_first):
        if generation.edges.writes - settled:
            found.append(generation)
        if generation.is_complete:
            settled |= generation.edges.writes - generation.only_created
    return found


def effective(oldest_first: list[Generation]) -> list[Generation]:
    """Return the effective generations: the latest and the unreplaced ones."""
    return list(dict.fromkeys((*latest(oldest_first), *unreplaced(oldest_first))))
