"""Datasets and jobs as catalogs describe them, and the events that declare them.

Times of events are those of the export, so equal exports give equal events.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice

from openlineage.client.event_v2 import (
    DatasetEvent,
    InputDataset,
    Job,
    JobEvent,
    OutputDataset,
    RunEvent,
    StaticDataset,
)
from openlineage.client.facet_v2 import (
    DatasetFacet,
    JobFacet,
    dataset_type_dataset,
    documentation_dataset,
    documentation_job,
    job_type_job,
    ownership_dataset,
    ownership_job,
    tags_dataset,
    tags_job,
)
from openlineage.client.facet_v2 import column_lineage_dataset as lineage

from headwater.collect.lines import Lines
from headwater.events import JobRef
from headwater.identity import DatasetName
from headwater.plugins.harvest.events import schema, to_json
from headwater.plugins.harvest.harvester import Portion
from headwater.redaction import Redactor

_AT_ONCE = 500

Sources = Mapping[DatasetName, Iterable[tuple[str, str]]]
"""The datasets that something depends on, each with pairs of a column and its source column."""


@dataclass(slots=True)
class Declared:
    """The description of a dataset or a job in a catalog."""

    description: str = ""
    owners: list[str] = field(default_factory=list)
    tags: list[tuple[str, str | None]] = field(default_factory=list)
    """Tags, each with a column, or None for the whole dataset or job."""
    columns: dict[str, tuple[str, str]] = field(default_factory=dict)
    """The type and the description of each column."""
    kind: str = ""
    """The type of a dataset, such as VIEW."""


def portions_of(
    events: Iterable[DatasetEvent | JobEvent | RunEvent], source: str, redactor: Redactor
) -> Iterator[Portion]:
    """Yield events in portions without a cursor: an export is always read as a whole."""
    waiting = iter(events)
    while part := list(islice(waiting, _AT_ONCE)):
        lines = Lines(redactor)
        for event in part:
            lines.add(to_json(event), source)
        yield Portion(lines, {})


def dataset_event(
    name: DatasetName, declared: Declared, sources: Sources, at: datetime, producer: str
) -> DatasetEvent:
    """Return an event that declares a dataset and the datasets that it is derived from.

    `sources` become column lineage; a dataset without any is only described.
    """
    facets: dict[str, DatasetFacet] = {}
    if declared.columns:
        rows = ((column, *about) for column, about in declared.columns.items())
        facets["schema"] = schema(rows)
    if declared.description:
        facets["documentation"] = documentation_dataset.DocumentationDatasetFacet(
            declared.description, producer=producer
        )
    if declared.owners:
        owners = [ownership_dataset.Owner(owner) for owner in declared.owners]
        facets["ownership"] = ownership_dataset.OwnershipDatasetFacet(owners, producer=producer)
    if declared.tags:
        tags = [
            tags_dataset.TagsDatasetFacetFields(tag, "true", "CATALOG", field=column)
            for tag, column in declared.tags
        ]
        facets["tags"] = tags_dataset.TagsDatasetFacet(tags, producer=producer)
    if declared.kind:
        facets["datasetType"] = dataset_type_dataset.DatasetTypeDatasetFacet(
            declared.kind, producer=producer
        )
    if sources:
        facets["columnLineage"] = column_lineage(sources, producer)
    return DatasetEvent(
        eventTime=at.astimezone(UTC).isoformat(),
        producer=producer,
        dataset=StaticDataset(*name, facets=facets),
    )


def job_event(
    job: JobRef,
    declared: Declared,
    inputs: Iterable[DatasetName],
    outputs: Mapping[DatasetName, Sources],
    at: datetime,
    producer: str,
    kind: job_type_job.JobTypeJobFacet,
) -> JobEvent:
    """Return an event that declares a job; `outputs` maps each to its columns' sources.

    `kind` is the jobType facet, and `declared` has the texts of the catalog.
    """
    facets: dict[str, JobFacet] = {"jobType": kind}
    if declared.description:
        facets["documentation"] = documentation_job.DocumentationJobFacet(
            declared.description, producer=producer
        )
    if declared.owners:
        owners = [ownership_job.Owner(owner, None) for owner in declared.owners]
        facets["ownership"] = ownership_job.OwnershipJobFacet(owners, producer=producer)
    if declared.tags:
        tags = [tags_job.TagsJobFacetFields(tag, "true", "CATALOG") for tag, _ in declared.tags]
        facets["tags"] = tags_job.TagsJobFacet(tags, producer=producer)
    return JobEvent(
        eventTime=at.astimezone(UTC).isoformat(),
        producer=producer,
        job=Job(*job, facets),
        inputs=[InputDataset(*name) for name in sorted(set(inputs))],
        outputs=[
            OutputDataset(
                *name,
                facets={"columnLineage": column_lineage(sources, producer)} if sources else {},
            )
            for name, sources in sorted(outputs.items())
        ],
    )


def column_lineage(sources: Sources, producer: str) -> lineage.ColumnLineageDatasetFacet:
    """Return the facet of a dataset that is derived from others.

    A source without pairs of columns gets an empty column name, because no column is known.
    """
    fields: dict[str, lineage.Fields] = {}
    whole = []
    for name, pairs in sorted(sources.items()):
        known = sorted(set(pairs))
        for column, source in known:
            entry = fields.setdefault(column, lineage.Fields([]))
            entry.inputFields.append(lineage.InputField(*name, source))
        if not known:
            whole.append(lineage.InputField(*name, ""))
    return lineage.ColumnLineageDatasetFacet(fields, whole, producer=producer)
