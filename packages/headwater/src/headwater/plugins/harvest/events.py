"""OpenLineage events created by harvesters; equal sources give equal events."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from openlineage.client.event_v2 import DatasetEvent, JobEvent, RunEvent, StaticDataset
from openlineage.client.facet_v2 import DatasetFacet, schema_dataset
from openlineage.client.serde import Serde

from headwater.identity import canonical_name
from headwater_client.events import PRODUCER, ReportedRun

_NAMESPACE = uuid.UUID("6d0b1c1e-6a53-5c5b-9f0e-8a4a3f1f7a55")


def run_id(*parts: str) -> str:
    """Return a run id derived from the parts that identify the run at its source."""
    return str(uuid.uuid5(_NAMESPACE, "\n".join(parts)))


@dataclass(frozen=True, kw_only=True, slots=True)
class FinishedRun(ReportedRun):
    """A finished run; `state` is the event type of its end.

    `language` is that of the error. Times have a zone.
    """

    language: str = "SQL"
    started: datetime
    ended: datetime
    state: str = "COMPLETE"
    error: str | None = None

    def events(self) -> Iterator[RunEvent]:
        """Yield the START and the end event, both with all inputs and outputs."""
        yield self.event("START", self.started)
        yield self.event(self.state, max(self.started, self.ended), self.error or None)


def to_json(event: RunEvent | DatasetEvent | JobEvent) -> bytes:
    """Serialize an event; `Lines.add` masks its secrets."""
    return json.dumps(Serde.to_dict(event), separators=(",", ":")).encode()


def dataset_event(
    namespace: str, name: str, facets: Mapping[str, DatasetFacet], at: datetime
) -> DatasetEvent:
    """Return an event that describes a dataset."""
    return DatasetEvent(
        eventTime=at.astimezone(UTC).isoformat(),
        producer=PRODUCER,
        dataset=StaticDataset(namespace, name, facets=dict(facets)),
    )


def location(url: str) -> tuple[str, str]:
    """Return the namespace and name of a location: `s3://bucket`, `path` of `s3://bucket/path`."""
    scheme, _, rest = url.partition("://")
    bucket, _, path = rest.partition("/")
    return canonical_name(f"{scheme}://{bucket}", path)


def schema(columns: Iterable[tuple[str, str, str]]) -> schema_dataset.SchemaDatasetFacet:
    """Return the schema facet of columns: name, type and description (empty: none)."""
    fields = [
        schema_dataset.SchemaDatasetFacetFields(name, type_, description or None, fields=None)
        for name, type_, description in columns
    ]
    return schema_dataset.SchemaDatasetFacet(fields, producer=PRODUCER)
