"""Families of jobs: the smallest groups whose graph can be built without other jobs.

A family is a pipeline with its tasks and their queries. Jobs that share a run id, and jobs that
pass data to each other without a dataset (handoffs), are in one family, too. A *derivation* is the
placeholder for the missing job that derives a dataset, such as a view, from others
(graph/placeholders.py).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from headwater.events import JobRef, parse_derivation
from headwater.graph.placeholders import derivation, derived_dataset
from headwater.projection import State
from headwater.projection.facet_books import parsed


@dataclass(slots=True, eq=False)
class Family:
    """Jobs whose graph can be built without other jobs."""

    jobs: list[JobRef]


class Families:
    """The families of all jobs, each determined on request."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._of: dict[JobRef, Family] = {}
        self._handoffs: dict[JobRef, set[JobRef]] | None = None

    def of(self, ref: JobRef) -> Family:
        """Return the family of a job, or of a derivation."""
        return self._of.get(ref) or self._collect(ref)

    def derivations(self, ref: JobRef) -> Iterator[JobRef]:
        """Yield the derivations of the datasets that are derived from a job."""
        yield from filter(derived_dataset, self._connected(ref))

    def recompute(self, refs: Iterable[JobRef]) -> set[JobRef]:
        """Determine families again after their jobs got relatives or levels; return all members.

        A family never loses a member, because relations are only added. So these include all former
        members.
        """
        members: set[JobRef] = set()
        for ref in refs:
            if ref not in members:
                members.update(self._collect(ref).jobs)
        return members

    def _collect(self, ref: JobRef) -> Family:
        """Determine the family of a job by its relatives, and record it for each member.

        These are its relatives, theirs, and so on.
        """
        found: dict[JobRef, None] = {ref: None}
        open_ = [ref]
        while open_:
            for other in self._relatives(open_.pop()):
                if other not in found:
                    found[other] = None
                    open_.append(other)
        family = Family(list(found))
        self._of |= dict.fromkeys(found, family)
        return family

    def _relatives(self, ref: JobRef) -> Iterator[JobRef]:
        """Yield the jobs that are in the family because of this one; some more than once.

        These are its parents, the roots that its children name (`root_hints`), its children, the
        jobs with a run of the same id, and those at the other end of a handoff.
        """
        yield from self._connected(ref)
        job = self._state.jobs.get(ref)
        if job is not None:
            yield from job.parents
            yield from job.root_hints or ()
            yield from job.children or ()
            ids = self._state.runs_by_id
            yield from (key.job for run in job.runs for key in ids[run.run_id])

    def _connected(self, ref: JobRef) -> Iterable[JobRef]:
        """Return the jobs or derivations at the other ends of the handoffs of one."""
        if self._handoffs is None:
            self._handoffs = self._connect_handoffs()
        return self._handoffs.get(ref, ())

    def _connect_handoffs(self) -> dict[JobRef, set[JobRef]]:
        """Return, for each job or derivation, those connected with it by a handoff.

        `state.handoffs` has the jobs that pass data on, with the jobs that get it.
        """
        state = self._state
        found: dict[JobRef, set[JobRef]] = defaultdict(set)
        pairs = [(source, ref) for source, readers in state.handoffs.items() for ref in readers]
        for name, facet in state.derivations():
            derived = derivation(state.identity.primary(name))
            pairs += [(source, derived) for source in parsed(facet, parse_derivation).jobs]
        for one, other in pairs:
            found[one].add(other)
            found[other].add(one)
        return found
