"""OpenLineage 2-0-2 events created by harvesters; equal sources give equal events."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from throughline.identity import canonical_name
from throughline.wrap.events import PRODUCER, facet

_NAMESPACE = uuid.UUID("6d0b1c1e-6a53-5c5b-9f0e-8a4a3f1f7a55")
_SCHEMA = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs"

Body = dict[str, Any]


def run_id(*parts: str) -> str:
    """Return a run id derived from the parts that identify the run at its source."""
    return str(uuid.uuid5(_NAMESPACE, "\n".join(parts)))


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """A finished run; `state` is the event type of its end."""

    job: tuple[str, str]
    id: str
    started: datetime
    ended: datetime
    kind: str
    """`INTEGRATION/TYPE` of the job."""
    state: str = "COMPLETE"
    error: str | None = None
    inputs: list[Body] = field(default_factory=list)
    outputs: list[Body] = field(default_factory=list)
    parent: tuple[tuple[str, str], str] | None = None
    """The job and the run id of the parent run."""
    run_facets: Body = field(default_factory=dict)
    job_facets: Body = field(default_factory=dict)

    def events(self) -> Iterator[Body]:
        """Yield the START and the end event, both with all inputs and outputs."""
        integration, _, type_ = self.kind.partition("/")
        kind = {"processingType": "BATCH", "integration": integration, "jobType": type_}
        run = dict(self.run_facets)
        if self.parent:
            (namespace, name), parent_id = self.parent
            parent = {"run": {"runId": parent_id}, "job": {"namespace": namespace, "name": name}}
            run["parent"] = facet("1-2-0/ParentRun", **parent, root=parent)
        job = {"jobType": facet("2-0-4/JobTypeJob", **kind), **self.job_facets}
        for type_, at in (("START", self.started), (self.state, max(self.started, self.ended))):
            if type_ != "START" and self.error:
                run["errorMessage"] = facet(
                    "1-0-1/ErrorMessageRun", message=self.error, programmingLanguage="SQL"
                )
            yield {
                "eventType": type_,
                "eventTime": at.astimezone(UTC).isoformat(),
                "producer": PRODUCER,
                "schemaURL": f"{_SCHEMA}/RunEvent",
                "run": {"runId": self.id, "facets": dict(run)},
                "job": {"namespace": self.job[0], "name": self.job[1], "facets": job},
                "inputs": self.inputs,
                "outputs": self.outputs,
            }


def dataset(namespace: str, name: str, **facets: Body) -> Body:
    """Return a dataset of an event."""
    return {"namespace": namespace, "name": name, "facets": facets}


def dataset_event(body: Body, at: datetime) -> Body:
    """Return a DatasetEvent."""
    return {
        "eventTime": at.astimezone(UTC).isoformat(),
        "producer": PRODUCER,
        "schemaURL": f"{_SCHEMA}/DatasetEvent",
        "dataset": body,
    }


def location(url: str) -> tuple[str, str]:
    """Return the namespace and name of a location: `s3://bucket`, `path` of `s3://bucket/path`."""
    scheme, _, rest = url.partition("://")
    bucket, _, path = rest.partition("/")
    return canonical_name(f"{scheme}://{bucket}", path)


def schema(fields: Iterable[tuple[str, str, str]]) -> Body:
    """Return the schema facet of columns: name, type and description (empty: none)."""
    columns = [
        {"name": name, "type": type_} | ({"description": description} if description else {})
        for name, type_, description in fields
    ]
    return facet("1-2-0/SchemaDataset", fields=columns)
