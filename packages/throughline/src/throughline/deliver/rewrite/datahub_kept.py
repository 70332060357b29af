"""What DataHub keeps: of what is posted, by its recorded answers; and all that is emitted to it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

from throughline.deliver.datasets import Body
from throughline.deliver.known import Known
from throughline.deliver.rewrite.datahub import dataset_name, job_name, name_of, rewrite
from throughline.deliver.rewrite.datahub_extras import proposals
from throughline.deliver.rewrite.datahub_urns import platform_name
from throughline.deliver.rewrite.rewriting import Kept, Rewriting, is_run

Thing = tuple[str, Any]
"""A kind and one of it, as `deliver.loss` counts them."""

_URNS = {
    "job": re.compile(r"urn:li:dataJob:\(urn:li:dataFlow:\([^,]+,[^,]+,([^,]+)\),(.+)\)"),
    "dataset": re.compile(r"urn:li:(?:dataset|mlModel):\(urn:li:dataPlatform:([^,]+),(.+),PROD\)"),
    "run": re.compile(r"urn:li:dataProcessInstance:(.+)"),
}
_FIELD = re.compile(r"urn:li:schemaField:\((.+\)),(.+)\)")
_FACETS = {
    "dataJobInfo": "documentation",
    "datasetProperties": "documentation",
    "globalTags": "tags",
    "operation": "version",
    "ownership": "ownership",
    "schemaMetadata": "schema",
}
"""The facets that whole aspects are, with `description` in those that are a documentation."""


def has_emitter() -> bool:
    """Whether acryl-datahub is installed, which proposals are made and emitted with."""
    return find_spec("datahub") is not None


def emitted(body: Body, known: Known) -> Iterator[Thing]:
    """What the proposals of a body tell; without acryl-datahub there are none."""
    if not has_emitter():
        return
    run = ("run", body["run"]["runId"]) if is_run(body) else None
    job = _named(body["job"]) if "job" in body else ()
    for each in proposals(body, known):
        name, aspect, holder = str(each.aspectName), each.aspect, _holder(str(each.entityUrn))
        if holder and getattr(aspect, "description", name) and name in _FACETS:
            yield f"{holder[0]} {_FACETS[name]}", holder
        elif name == "dataProcessInstanceRelationships":
            yield from _of_run(run, aspect)
        elif name == "dataJobInputOutput":
            yield from _of_job(holder, run, aspect)
        elif name == "upstreamLineage" and run is None:  # of a run it is in the body
            yield from _columns(job, aspect)
        elif name == "mlModelProperties":
            yield from _of_model(holder, aspect)


def _named(job: Body) -> Any:
    return "job", job["namespace"], job["name"]


def _holder(urn: str) -> Any:
    """What has an aspect, of a column its dataset; of flows and what is not counted, nothing."""
    if field := _FIELD.fullmatch(urn):
        urn = field[1]
    found = ((kind, pattern.fullmatch(urn)) for kind, pattern in _URNS.items())
    return next(((kind, *match.groups()) for kind, match in found if match), ())


def _of_run(run: Any, aspect: Any) -> Iterator[Thing]:
    if above := aspect.parentInstance:
        yield "hierarchy", (run, _holder(above))
        yield "run parent", run
    if aspect.upstreamInstances:
        yield "run jobDependencies", run


def _of_job(job: Any, run: Any, aspect: Any) -> Iterator[Thing]:
    for side, edges in (
        ("inputs", aspect.inputDatasetEdges),
        ("outputs", aspect.outputDatasetEdges),
    ):
        for edge in edges:
            yield "data edges", (job, side, _holder(edge.destinationUrn))
    for edge in aspect.inputDatajobEdges:
        yield "control edges", (_holder(edge.destinationUrn), job)
        yield "run jobDependencies", run
    yield from _columns(job, aspect)


def _columns(job: Any, aspect: Any) -> Iterator[Thing]:
    for lineage in aspect.fineGrainedLineages:
        (own,) = map(_column, lineage.downstreams)
        yield "dataset columnLineage", own[:-1]
        for source in lineage.upstreams:
            yield "column edges", (job, own, _column(source))


def _column(urn: str) -> Any:
    return (*_holder(urn), urn.rpartition(",")[2].removesuffix(")"))


def _of_model(model: Any, aspect: Any) -> Iterator[Thing]:
    yield "models", model
    if aspect.version:
        yield "dataset version", model
    for key in aspect.customProperties:
        yield f"dataset {key.partition('.')[0]}", model


DATAHUB = Rewriting(
    rewrite,
    Kept(
        frozenset(
            {
                "dataset columnLineage",
                "dataset schema",
                "dataset symlinks",
                "job documentation",
                "run airflow",
                "run processing_engine",
            }
        )
    ),
    name=name_of,
    dataset_name=lambda namespace, name: platform_name(*dataset_name(namespace, name)),
    job_name=job_name,
    emitted=emitted,
    of_job=True,
)
