"""Names and ids, which every process can compute on its own."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from headwater_client import RunRef

VERSION = "0.1.0"
PRODUCER = f"https://github.com/headwater-lineage/metaflow-openlineage/tree/{VERSION}"


def instant_of(run_id: str) -> datetime | None:
    """Return when a run was created: local ids are epoch microseconds, others give None."""
    if run_id.isdecimal() and len(run_id) == 16:
        return datetime.fromtimestamp(int(run_id) / 1e6, UTC)
    return None


@dataclass(frozen=True)
class FlowNames:
    """The jobs and runs of one Metaflow run.

    A `branch` gives the jobs a namespace of their own. Run ids do not depend on it.
    """

    namespace: str
    flow: str
    run_id: str
    branch: str = ""

    @property
    def job_namespace(self) -> str:
        """The namespace of the jobs."""
        return f"{self.namespace}.{self.branch}" if self.branch else self.namespace

    def _uuid(self, *parts: object) -> str:
        from openlineage.client.uuid import generate_static_uuid

        instant = instant_of(self.run_id) or datetime.fromtimestamp(0, UTC)
        data = "/".join((self.namespace, self.flow, self.run_id, *map(str, parts)))
        return str(generate_static_uuid(instant, data.encode()))

    def flow_run(self) -> RunRef:
        """Return the run of the flow itself."""
        return RunRef(self.job_namespace, self.flow, self._uuid())

    def attempt(self, step: str, task_id: str, attempt: int) -> RunRef:
        """Return the run of one attempt of a task."""
        run_id = self._uuid(step, task_id, attempt)
        return RunRef(self.job_namespace, f"{self.flow}.{step}", run_id)

    def query(self, step: str, task_id: str, attempt: int, name: str, nth: int) -> RunRef:
        """Return the run of a step's query; `nth` distinguishes repetitions of the query."""
        run_id = self._uuid(step, task_id, attempt, "query", name, nth)
        return RunRef(self.job_namespace, f"{self.flow}.{step}.{name}", run_id)
