"""A generation: the runs of a task that belong together, and the effective ones of a task."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from throughline.events import JobRef
from throughline.graph.run_edges import Edges
from throughline.identity import DatasetName
from throughline.projection import Run, RunKey


@dataclass(frozen=True, slots=True, eq=False)
class Generation:
    """Runs of one task that belong together; without runs, the declaration of a JobEvent."""

    job: JobRef
    order: tuple[int, RunKey | None]
    is_complete: bool
    edges: Edges
    kept: frozenset[DatasetName]
    runs: tuple[Run, ...]

    @property
    def started(self) -> int:
        """Return the start of its first run, in microseconds."""
        return self.order[0]


class Flow(NamedTuple):
    """Data that a generation has from another: of a dataset that it read, or whose rows it kept."""

    source: Generation
    dataset: DatasetName
    is_kept: bool


@dataclass(slots=True, eq=False)
class History:
    """The generations of one task, valid until one of them changes."""

    oldest_first: list[Generation]
    derived: dict[str, Any] = field(default_factory=dict)
    """Values computed from the generations, by name."""
    _writing: dict[DatasetName, list[Generation]] = field(default_factory=dict)

    def writing(self, name: DatasetName) -> list[Generation]:
        """Return the generations that wrote a dataset, oldest first."""
        found = self._writing.get(name)
        if found is None:
            found = [g for g in self.oldest_first if name in g.edges.writes]
            self._writing[name] = found
        return found


def static(ref: JobRef, edges: Edges) -> Generation:
    """Return a generation without runs: the declared edges, which apply until the job runs."""
    return Generation(ref, (0, None), True, edges, frozenset(), ())


def latest(oldest_first: list[Generation]) -> list[Generation]:
    """Return the newest effective finished generation, and the unfinished ones after it."""
    complete = [g for g in reversed(oldest_first) if g.is_complete]
    base = next((g for g in complete if g.edges.writes), complete[0] if complete else None)
    if base is None:
        return oldest_first
    newer = oldest_first[oldest_first.index(base) + 1 :]
    return [base, *(g for g in newer if not g.is_complete)]


def unreplaced(oldest_first: list[Generation]) -> list[Generation]:
    """Return the generations that wrote a dataset which no later finished one replaced.

    One job can write many datasets in separate runs (a flow that is started per service): its last
    run alone would leave the other datasets without an origin.
    """
    settled: set[DatasetName] = set()
    found = []
    for generation in reversed(oldest_first):
        if generation.edges.writes - settled:
            found.append(generation)
        if generation.is_complete:
            settled |= generation.edges.writes
    return found


def effective(oldest_first: list[Generation]) -> list[Generation]:
    """Return the effective generations, and those whose written data still exists."""
    return list(dict.fromkeys((*latest(oldest_first), *unreplaced(oldest_first))))
