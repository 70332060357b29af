"""The ids of the runs of a dbt invocation: those that dbt-ol reported, or else derived ones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from uuid import UUID

from headwater.events import JobRef
from headwater.events.job_names import without_build
from headwater.plugins.harvest.events import run_id


class RunIds:
    """The run ids of an invocation; a run that dbt-ol also reported has the same id there."""

    def __init__(self, invocation: str, stored_runs: Iterable[tuple[JobRef, str]]) -> None:
        """Index the stored runs of the invocation by job; ignore ids that are no UUIDs."""
        self._invocation = invocation
        self._ids_by_job: dict[JobRef, list[str]] = defaultdict(list)
        for job, run in sorted(stored_runs):
            with suppress(ValueError):
                self._ids_by_job[job].append(str(UUID(run)))

    def of(self, job: JobRef, *parts: str) -> str:
        """Return the id of the next run of a job; `parts` identify the run in the invocation.

        If an earlier import stored the run under its derived id, it keeps this id.

        Each call for a job takes the next stored id, in sorted order.
        """
        derived = run_id("dbt", self._invocation, *parts)
        # jobs of `dbt build` are stored without `.build`, as other commands of dbt name them
        stored = self._ids_by_job[JobRef(job.namespace, without_build(job.name))]
        return stored.pop(0) if stored and derived not in stored else derived
