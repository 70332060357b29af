"""Families of jobs: those whose edges at a level cannot be determined without each other.

These are a pipeline with its tasks and their queries, jobs that share a run id, and jobs that pass
data on without a dataset.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from throughline.events import JobRef, parse_derivation
from throughline.graph.levels import Level
from throughline.graph.run_edges import derivation
from throughline.projection import State
from throughline.projection.facets import parsed


@dataclass(slots=True, eq=False)
class Family:
    """Some jobs, and the revision of the state in which one of their runs last changed."""

    jobs: list[JobRef]
    revision: int
    graphs: dict[Level, Any] = field(default_factory=dict)
    """The cached graph of the family at each level (throughline.graph.effective)."""


class Families:
    """The family of each job, determined on request."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._of: dict[JobRef, Family] = {}
        self._passing: dict[JobRef, set[JobRef]] | None = None

    def of(self, ref: JobRef) -> Family:
        """Return the family of a job, or of a derivation."""
        return self._of.get(ref) or self._collect(ref)

    def renew(self, refs: Iterable[JobRef]) -> set[JobRef]:
        """Determine the families of some jobs again, because they have new relatives or levels.

        Return all their members, which include those of the families before: no relative leaves.
        """
        members: set[JobRef] = set()
        for ref in refs:
            if ref not in members:
                members.update(self._collect(ref).jobs)
        return members

    def note(self, refs: Iterable[JobRef]) -> None:
        """Note a change of a run; `refs` are the jobs of the run and of its ancestors."""
        families = {self._of.get(ref) for ref in refs}
        for family in families:
            if family is not None:
                family.revision = self._state.revision
        if len(families) > 1:  # they turn out to be one
            self._of.clear()

    def _collect(self, ref: JobRef) -> Family:
        found: dict[JobRef, None] = {ref: None}
        open_ = [ref]
        while open_:
            for other in self._relatives(open_.pop()):
                if other not in found:
                    found[other] = None
                    open_.append(other)
        family = Family(list(found), self._state.revision)
        self._of |= dict.fromkeys(found, family)
        return family

    def _relatives(self, ref: JobRef) -> Iterator[JobRef]:
        if self._passing is None:
            self._passing = self._passing_on()
        yield from self._passing.get(ref, ())
        job = self._state.jobs.get(ref)
        if job is not None:
            yield from job.parents
            yield from job.hints or ()
            yield from job.children or ()
            ids = self._state.runs_by_id
            yield from (key.job for run in job.runs for key in ids[run.run_id])

    def _passing_on(self) -> dict[JobRef, set[JobRef]]:
        """Return the jobs and derivations that pass data to each other without a dataset."""
        state = self._state
        found: dict[JobRef, set[JobRef]] = defaultdict(set)
        for source, readers in state.handoffs.items():
            for reader in readers:
                found[source].add(reader)
                found[reader].add(source)
        for record in state.datasets.values():
            if record.derivation is not None:
                derived = derivation(state.identity.primary(record.name))
                for source in parsed(record.derivation[1], parse_derivation).jobs:
                    found[source].add(derived)
                    found[derived].add(source)
        return found
