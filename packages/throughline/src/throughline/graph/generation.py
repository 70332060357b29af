"""One generation of a task, and the effective ones among a task's generations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from throughline.events import JobRef
from throughline.graph.run_edges import Edges
from throughline.identity import DatasetName
from throughline.projection import Run, RunKey, State, start_of


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


def static(ref: JobRef, edges: Edges) -> Generation:
    """Return a generation without runs: what is declared, which holds until a run does it."""
    return Generation(ref, (0, None), True, edges, frozenset(), ())


def counting(oldest_first: list[Generation]) -> list[Generation]:
    """Return the newest finished one that counts, and the unfinished ones after it."""
    complete = [g for g in reversed(oldest_first) if g.is_complete]
    base = next((g for g in complete if g.edges.writes), complete[0] if complete else None)
    if base is None:
        return oldest_first
    newer = oldest_first[oldest_first.index(base) + 1 :]
    return [base, *(g for g in newer if not g.is_complete)]


def living(oldest_first: list[Generation]) -> list[Generation]:
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
    """Return those that count, and those whose writing is still there."""
    return list(dict.fromkeys((*counting(oldest_first), *living(oldest_first))))


def kept_datasets(state: State, runs: Iterable[Run]) -> frozenset[DatasetName]:
    """Return the datasets with more rows after the last commit than the runs added."""
    added: dict[DatasetName, float] = defaultdict(float)
    total: dict[DatasetName, tuple[int, float]] = {}
    for run in runs:
        for spelled, use in run.outputs.items():
            metrics = use.facets.get("icebergCommitReport").get("commitMetrics")
            if not isinstance(metrics, dict):
                continue
            name = state.identity.primary(spelled)
            added[name] += _count(metrics.get("addedRecords"))
            last = (start_of(run) or 0, _count(metrics.get("totalRecords")))
            total[name] = max(last, total.get(name, last))
    return frozenset(name for name, (_, rows) in total.items() if rows > added[name])


def _count(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
