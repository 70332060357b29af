"""Convert a run of a command or a function and its declaration to OpenLineage."""

from __future__ import annotations

from typing import Any

from openlineage.client.event_v2 import InputDataset, OutputDataset
from openlineage.client.facet_v2 import (
    documentation_dataset,
    documentation_job,
    ownership_dataset,
    ownership_job,
    processing_engine_run,
    source_code_location_job,
    tags_dataset,
    tags_job,
)

from headwater_client._declared import Declaration, Declared
from headwater_client.events import PRODUCER, VERSION, ReportedRun
from headwater_client.git import GitLocation
from headwater_client.parents import RunRef


def declared_run(
    declared: Declared,
    ref: RunRef,
    parents: tuple[RunRef, RunRef] | None,
    location: GitLocation | None,
    language: str = "unknown",
) -> ReportedRun:
    """Return the run of a declared job, with the git location of its code or declaration.

    `parents` are the parent run and the root run. `language` is the programming language of errors.
    """
    engine = processing_engine_run.ProcessingEngineRunFacet(VERSION, "headwater", producer=PRODUCER)
    job_facets = _facets(
        declared.job,
        documentation_job.DocumentationJobFacet,
        (ownership_job.OwnershipJobFacet, ownership_job.Owner),
        (tags_job.TagsJobFacet, tags_job.TagsJobFacetFields),
    )
    if location:
        job_facets["sourceCodeLocation"] = source_code_location_job.SourceCodeLocationJobFacet(
            **location, producer=PRODUCER
        )
    return ReportedRun(
        ref=ref,
        integration="HEADWATER",
        job_type="CHECK" if declared.is_check else None,
        parents=parents,
        language=language,
        inputs=[InputDataset(**_dataset(item)) for item in declared.inputs],
        outputs=[OutputDataset(**_dataset(item)) for item in declared.outputs],
        run_facets={"processing_engine": engine},
        job_facets=job_facets,
    )


def _dataset(declared: Declaration) -> Any:
    """Return the arguments of a dataset of openlineage-python."""
    facets = _facets(
        declared,
        documentation_dataset.DocumentationDatasetFacet,
        (ownership_dataset.OwnershipDatasetFacet, ownership_dataset.Owner),
        (tags_dataset.TagsDatasetFacet, tags_dataset.TagsDatasetFacetFields),
    )
    return {"namespace": declared.namespace, "name": declared.name, "facets": facets}


def _facets(declared: Declaration, documentation: Any, ownership: Any, tags: Any) -> dict[str, Any]:
    """Return the facets of a job or dataset, created with the given classes.

    `ownership` and `tags` are pairs of a facet and of its items. A classification `pii:email` is a
    tag with a value; one without a colon has the value `true`.
    """
    facets = {}
    if declared.description:
        facets["documentation"] = documentation(declared.description, producer=PRODUCER)
    if declared.owners:
        facet, owner = ownership
        owners = [owner(name, "MAINTAINER") for name in declared.owners]
        facets["ownership"] = facet(owners, producer=PRODUCER)
    if declared.classification:
        facet, tag = tags
        pairs = [text.partition(":")[::2] for text in declared.classification]
        fields = [tag(key.strip(), value.strip() or "true", "USER") for key, value in pairs]
        facets["tags"] = facet(fields, producer=PRODUCER)
    return facets
