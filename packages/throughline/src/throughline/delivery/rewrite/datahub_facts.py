"""The facts that DataHub retains of posted events, by its recorded responses, and of proposals."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

from throughline.delivery.context import RunContext
from throughline.delivery.datasets import Body
from throughline.delivery.rewrite.datahub import dataset_name, job_name, rewrite, table_name
from throughline.delivery.rewrite.datahub_urns import platform_name
from throughline.delivery.rewrite.rewriting import Retained, Rewriting, is_run

Fact = tuple[str, Any]
"""A kind and a fact of it, as counted by `deliver.loss`."""

_URNS = {
    "job": re.compile(r"urn:li:dataJob:\(urn:li:dataFlow:\([^,]+,[^,]+,([^,]+)\),(.+)\)"),
    "dataset": re.compile(r"urn:li:(?:dataset|mlModel):\(urn:li:dataPlatform:([^,]+),(.+),PROD\)"),
    "run": re.compile(r"urn:li:dataProcessInstance:(.+)"),
}
_FIELD = re.compile(r"urn:li:schemaField:\((.+\)),(.+)\)")
_FACETS_OF_ASPECTS = {
    "dataJobInfo": "documentation",
    "datasetProperties": "documentation",
    "globalTags": "tags",
    "operation": "version",
    "ownership": "ownership",
    "schemaMetadata": "schema",
}
"""The facets that correspond to aspects; documentation only if the aspect has a description."""


def is_emitter_installed() -> bool:
    """Return True if acryl-datahub is installed, which proposals need."""
    return find_spec("datahub") is not None


def emitted_facts(body: Body, context: RunContext) -> Iterator[Fact]:
    """Yield the facts in the proposals of a body; none without acryl-datahub."""
    if not is_emitter_installed():
        return
    from throughline.delivery.rewrite.datahub_proposals import proposals

    run = ("run", body["run"]["runId"]) if is_run(body) else None
    job = _job(body["job"]) if "job" in body else ()
    for proposal in proposals(body, context):
        name, aspect = str(proposal.aspectName), proposal.aspect
        entity = _entity(str(proposal.entityUrn))
        if entity and getattr(aspect, "description", name) and name in _FACETS_OF_ASPECTS:
            yield f"{entity[0]} {_FACETS_OF_ASPECTS[name]}", entity
        elif name == "dataProcessInstanceRelationships":
            yield from _run_facts(run, aspect)
        elif name == "dataJobInputOutput":
            yield from _job_facts(entity, run, aspect)
        elif name == "upstreamLineage" and run is None:  # of a run, it is in the body
            yield from _columns(job, aspect)
        elif name == "mlModelProperties":
            yield from _model_facts(entity, aspect)


def _job(job: Body) -> Any:
    return "job", job["namespace"], job["name"]


def _entity(urn: str) -> Any:
    """Return the entity of a URN, of a column its dataset; empty for flows and other entities."""
    if field := _FIELD.fullmatch(urn):
        urn = field[1]
    matches = ((kind, pattern.fullmatch(urn)) for kind, pattern in _URNS.items())
    return next(((kind, *match.groups()) for kind, match in matches if match), ())


def _run_facts(run: Any, aspect: Any) -> Iterator[Fact]:
    if parent := aspect.parentInstance:
        yield "hierarchy", (run, _entity(parent))
        yield "run parent", run
    if aspect.upstreamInstances:
        yield "run jobDependencies", run


def _job_facts(job: Any, run: Any, aspect: Any) -> Iterator[Fact]:
    for side, edges in (
        ("inputs", aspect.inputDatasetEdges),
        ("outputs", aspect.outputDatasetEdges),
    ):
        for edge in edges:
            yield "data edges", (job, side, _entity(edge.destinationUrn))
    for edge in aspect.inputDatajobEdges:
        yield "control edges", (_entity(edge.destinationUrn), job)
        yield "run jobDependencies", run
    yield from _columns(job, aspect)


def _columns(job: Any, aspect: Any) -> Iterator[Fact]:
    for lineage in aspect.fineGrainedLineages:
        (own,) = map(_column, lineage.downstreams)
        yield "dataset columnLineage", own[:-1]
        for source in lineage.upstreams:
            yield "column edges", (job, own, _column(source))


def _column(urn: str) -> Any:
    return (*_entity(urn), urn.rpartition(",")[2].removesuffix(")"))


def _model_facts(model: Any, aspect: Any) -> Iterator[Fact]:
    yield "models", model
    if aspect.version:
        yield "dataset version", model
    for key in aspect.customProperties:
        yield f"dataset {key.partition('.')[0]}", model


DATAHUB = Rewriting(
    rewrite,
    Retained(
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
    name=table_name,
    dataset_name=lambda namespace, name: platform_name(*dataset_name(namespace, name)),
    job_name=job_name,
    emitted_facts=emitted_facts,
    is_per_job=True,
)
