"""OpenLineage events, built with the classes of openlineage-python.

Importing this module takes half a second of CPU time; `headwater run` does so after it has
started its command.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version

from openlineage.client import event_v2
from openlineage.client.facet_v2 import (
    JobFacet,
    RunFacet,
    error_message_run,
    job_type_job,
    parent_run,
)
from openlineage.client.serde import Serde

from headwater_client.masking import mask_facets
from headwater_client.parents import RunRef

VERSION = version("headwater-client")
PRODUCER = f"https://github.com/headwater-lineage/headwater/tree/{VERSION}"
_PARENT_PRODUCER = "https://github.com/OpenLineage/OpenLineage/tree/main/spec"
"""The producer of parent facets; DataHub's converter rejects events whose producer is unknown."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReportedRun:
    """One run of a job, as its events describe it."""

    ref: RunRef
    integration: str
    job_type: str | None = None
    """The type of the job; without it, the level follows from the parent and the children."""
    parents: tuple[RunRef, RunRef] | None = None
    """The parent run and the root run."""
    language: str = "unknown"
    """The language of error messages."""
    inputs: Sequence[event_v2.InputDataset] = ()
    outputs: Sequence[event_v2.OutputDataset] = ()
    run_facets: Mapping[str, RunFacet] = field(default_factory=dict)
    job_facets: Mapping[str, JobFacet] = field(default_factory=dict)

    def event(self, state: str, at: datetime, error: str | None = None) -> event_v2.RunEvent:
        """Return an event of the run, with all inputs and outputs.

        `state` is the type of the event, such as COMPLETE, and `error` the message of a failed run.
        """
        run = dict(self.run_facets)
        if self.parents:
            run["parent"] = _parent_facet(*self.parents)
        if error is not None:
            run["errorMessage"] = error_message_run.ErrorMessageRunFacet(
                error, self.language, producer=PRODUCER
            )
        kind = job_type_job.JobTypeJobFacet(
            "BATCH", self.integration, self.job_type, producer=PRODUCER
        )
        ref = self.ref
        return event_v2.RunEvent(
            eventType=event_v2.RunState(state),
            eventTime=at.astimezone(UTC).isoformat(),
            producer=PRODUCER,
            run=event_v2.Run(ref.run_id, run),
            job=event_v2.Job(ref.namespace, ref.job, {"jobType": kind, **self.job_facets}),
            inputs=list(self.inputs),
            outputs=list(self.outputs),
        )

    def to_json(self, state: str, at: datetime, error: str | None = None) -> bytes:
        """Return an event of the run as JSON."""
        return to_json(self.event(state, at, error))


def to_json(event: event_v2.RunEvent | event_v2.DatasetEvent | event_v2.JobEvent) -> bytes:
    """Serialize an event, with secrets masked."""
    return json.dumps(mask_facets(Serde.to_dict(event)), separators=(",", ":")).encode()


def _parent_facet(parent: RunRef, root: RunRef) -> parent_run.ParentRunFacet:
    """Return the facet of a parent run and the root run above it."""
    return parent_run.ParentRunFacet(
        parent_run.Run(parent.run_id, None),
        parent_run.Job(parent.namespace, parent.job, None),
        parent_run.Root(
            parent_run.RootRun(root.run_id, None),
            parent_run.RootJob(root.namespace, root.job, None),
        ),
        producer=_PARENT_PRODUCER,
    )
