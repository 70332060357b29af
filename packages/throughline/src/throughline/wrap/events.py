"""The events of a command's run; each contains everything declared."""

from __future__ import annotations

from openlineage.client.event_v2 import InputDataset, OutputDataset
from openlineage.client.facet_v2 import (
    DatasetFacet,
    JobFacet,
    documentation_dataset,
    documentation_job,
    ownership_dataset,
    ownership_job,
    processing_engine_run,
    source_code_location_job,
    tags_dataset,
    tags_job,
)

from throughline.wrap.declared import Declaration, Declared
from throughline.wrap.git import git_location
from throughline.wrap.openlineage import PRODUCER, VERSION, ReportedRun
from throughline.wrap.parent import RunRef


def command_run(
    declared: Declared, ref: RunRef, parents: tuple[RunRef, RunRef] | None
) -> ReportedRun:
    """Return the run of a declared job, with the git location of the declaration."""
    engine = processing_engine_run.ProcessingEngineRunFacet(
        VERSION, "throughline", producer=PRODUCER
    )
    job_facets = _job_facets(declared.job)
    if location := git_location(declared.path):
        job_facets["sourceCodeLocation"] = source_code_location_job.SourceCodeLocationJobFacet(
            **location, producer=PRODUCER
        )
    return ReportedRun(
        ref=ref,
        integration="THROUGHLINE",
        parents=parents,
        inputs=[
            InputDataset(item.namespace, item.name, facets=_dataset_facets(item))
            for item in declared.inputs
        ],
        outputs=[
            OutputDataset(item.namespace, item.name, facets=_dataset_facets(item))
            for item in declared.outputs
        ],
        run_facets={"processing_engine": engine},
        job_facets=job_facets,
    )


def _job_facets(job: Declaration) -> dict[str, JobFacet]:
    facets: dict[str, JobFacet] = {}
    if job.description:
        facets["documentation"] = documentation_job.DocumentationJobFacet(
            job.description, producer=PRODUCER
        )
    if job.owners:
        owners = [ownership_job.Owner(name, "MAINTAINER") for name in job.owners]
        facets["ownership"] = ownership_job.OwnershipJobFacet(owners, producer=PRODUCER)
    if job.classification:
        tags = [tags_job.TagsJobFacetFields(*tag, "USER") for tag in map(_tag, job.classification)]
        facets["tags"] = tags_job.TagsJobFacet(tags, producer=PRODUCER)
    return facets


def _dataset_facets(dataset: Declaration) -> dict[str, DatasetFacet]:
    facets: dict[str, DatasetFacet] = {}
    if dataset.description:
        facets["documentation"] = documentation_dataset.DocumentationDatasetFacet(
            dataset.description, producer=PRODUCER
        )
    if dataset.owners:
        owners = [ownership_dataset.Owner(name, "MAINTAINER") for name in dataset.owners]
        facets["ownership"] = ownership_dataset.OwnershipDatasetFacet(owners, producer=PRODUCER)
    if dataset.classification:
        tags = [
            tags_dataset.TagsDatasetFacetFields(*tag, "USER")
            for tag in map(_tag, dataset.classification)
        ]
        facets["tags"] = tags_dataset.TagsDatasetFacet(tags, producer=PRODUCER)
    return facets


def _tag(text: str) -> tuple[str, str]:
    key, _, value = text.partition(":")
    return key.strip(), value.strip() or "true"
