"""Metadata change proposals (MCPs) for what DataHub's OpenLineage endpoint does not support.

For runs: job hierarchy and dependencies, models, column lineage on datasets, ownership, tags, the
versions that runs wrote, and the description of a flow, which the endpoint overwrites with each
job's. For jobs and datasets without a run: everything. The reports of runs take precedence: a job
that ran keeps the lineage, the position and the description of its runs, and only its owners and
tags are updated.

Import this module only if acryl-datahub is installed.
"""

from __future__ import annotations

from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.metadata import schema_classes as dh

from throughline.delivery.context import RunContext
from throughline.delivery.datasets import Body
from throughline.delivery.models import Model
from throughline.delivery.rewrite.datahub import (
    UNKNOWN_ORCHESTRATOR,
    job_name,
    orchestrator,
    with_datahub_names,
)
from throughline.delivery.rewrite.datahub_aspects import (
    Aspects,
    dataset_aspects,
    description,
    input_output,
    millis,
    ownership,
    tags,
    upstream_lineage,
)
from throughline.delivery.rewrite.datahub_urns import dataset_urn, flow_urn, job_urn, run_urn
from throughline.delivery.rewrite.rewriting import is_run, uuid_of
from throughline.events import JobRef

_TYPES = {
    "int": dh.NumberTypeClass,
    "long": dh.NumberTypeClass,
    "string": dh.StringTypeClass,
    "struct": dh.MapTypeClass,
    "timestamp": dh.TimeTypeClass,
}
"""The types of columns that the endpoint distinguishes."""
_ENGINE_PROPERTIES = {
    "name": "processingEngine",
    "version": "processingEngineVersion",
    "openlineageAdapterVersion": "openlineageAdapterVersion",
}
"""The endpoint's names of the processing_engine facet's fields."""


def proposals(body: Body, context: RunContext) -> list[MetadataChangeProposalWrapper]:
    """Return the proposals for a body of `datahub.rewrite`; sending them again changes nothing."""
    aspects = _run_proposals(body, context) if is_run(body) else _static_proposals(body, context)
    return [MetadataChangeProposalWrapper(entityUrn=urn, aspect=aspect) for urn, aspect in aspects]


def _run_proposals(body: Body, context: RunContext) -> Aspects:
    yield from _run_job(body, context)
    yield _run(body, context)
    for dataset in (*body["inputs"], *body["outputs"]):
        yield from dataset_aspects(dataset)
    writers = _writers(body, context)
    for dataset in body["outputs"]:
        yield from upstream_lineage(dataset, writers, millis(body))
        yield from _operation(body, dataset)
    for model in context.models:
        yield _model(model, body, context)


def _static_proposals(body: Body, context: RunContext) -> Aspects:
    if "job" in body:
        yield from _static_job(body, context)
    for dataset in (*body["inputs"], *body["outputs"]):
        yield from dataset_aspects(dataset)
        yield from _schema(dataset)
    writers = _writers(body, context)
    for dataset in body["outputs"]:
        yield from upstream_lineage(dataset, writers, millis(body))


def _writers(body: Body, context: RunContext) -> list[Body]:
    return [body, *(with_datahub_names(other) for other in context.other_writers)]


def _run_job(body: Body, context: RunContext) -> Aspects:
    engine, job, facets = orchestrator(body), body["job"], body["job"].get("facets", {})
    flow, own = flow_urn(engine, job), job_urn(engine, job)
    name = job["name"].split(".")[0]
    flow_facets = context.flow_facets
    if name != job["name"] and ("documentation" in facets or "documentation" in flow_facets):
        engine_facet = body["run"]["facets"]["processing_engine"]
        properties = {
            property_: str(engine_facet[key])
            for key, property_ in _ENGINE_PROPERTIES.items()
            if key in engine_facet
        }
        text = flow_facets.get("documentation", {}).get("description")
        yield flow, dh.DataFlowInfoClass(name=name, description=text, customProperties=properties)
    for urn, owner_facets in ((flow, flow_facets), (own, facets)):
        yield from ownership(urn, owner_facets)
        yield from tags(urn, owner_facets)
    path = [
        dh.BrowsePathEntryClass(id=key.job.name, urn=_other_job(key.job, context))
        for key in reversed(context.ancestors)
    ]
    yield own, dh.BrowsePathsV2Class(path=path or [dh.BrowsePathEntryClass(id=flow, urn=flow)])
    if upstream := _upstream(body):
        urns = [
            _other_job(JobRef(item["job"]["namespace"], item["job"]["name"]), context)
            for item in upstream
        ]
        yield own, input_output(body, urns)


def _static_job(body: Body, context: RunContext) -> Aspects:
    engine, job, facets = orchestrator(body), body["job"], body["job"]["facets"]
    flow, own = flow_urn(engine, job), job_urn(engine, job)
    if context.started is None:
        name = job["name"].split(".")[0]
        flow_facets = context.flow_facets if name != job["name"] else facets
        yield flow, dh.DataFlowInfoClass(name=name, description=description(flow_facets))
        info = dh.DataJobInfoClass(
            name=job["name"][len(name) + 1 :] or name,
            type=engine,
            flowUrn=flow,
            description=description(facets),
        )
        yield own, info
        yield own, dh.BrowsePathsV2Class(path=[dh.BrowsePathEntryClass(id=flow, urn=flow)])
        yield own, input_output(body, [])
    yield from ownership(own, facets)
    yield from tags(own, facets)


def _schema(dataset: Body) -> Aspects:
    """Yield the columns of a dataset."""
    fields = dataset.get("facets", {}).get("schema", {}).get("fields")
    if not fields:
        return
    urn = dataset_urn(dataset)
    columns = []
    for field in fields:
        type_ = str(field.get("type") or "")
        column = dh.SchemaFieldClass(
            fieldPath=field["name"],
            type=dh.SchemaFieldDataTypeClass(_TYPES.get(type_, dh.NullTypeClass)()),
            nativeDataType=type_,
            description=field.get("description"),
        )
        columns.append(column)
    schema = dh.SchemaMetadataClass(
        schemaName="",
        platform=urn.removeprefix("urn:li:dataset:(").split(",")[0],
        version=0,
        hash="",
        platformSchema=dh.OtherSchemaClass(rawSchema=""),
        fields=columns,
    )
    yield urn, schema


def _run(body: Body, context: RunContext) -> tuple[str, dh.DataProcessInstanceRelationshipsClass]:
    upstream = [
        run_urn(uuid_of(item["run"]["runId"]))
        for item in _upstream(body)
        if "runId" in (item.get("run") or {})
    ]
    relationships = dh.DataProcessInstanceRelationshipsClass(
        upstreamInstances=upstream,
        parentTemplate=job_urn(orchestrator(body), body["job"]),
        parentInstance=(
            run_urn(uuid_of(context.ancestors[0].run_id)) if context.ancestors else None
        ),
    )
    return run_urn(body["run"]["runId"]), relationships


def _operation(body: Body, dataset: Body) -> Aspects:
    """Yield the write operation of a completed run with the version that it wrote."""
    time = millis(body)
    version = dataset.get("facets", {}).get("version", {}).get("datasetVersion")
    if version is not None and body["eventType"] == "COMPLETE":
        operation = dh.OperationClass(
            timestampMillis=time,
            lastUpdatedTimestamp=time,
            operationType=dh.OperationTypeClass.CUSTOM,
            customOperationType="WRITE",
            customProperties={"version": str(version), "runId": body["run"]["runId"]},
        )
        yield dataset_urn(dataset), operation


def _model(model: Model, body: Body, context: RunContext) -> tuple[str, dh.MLModelPropertiesClass]:
    """Return a model with all jobs that train or use it, as the aspect replaces the last one.

    The endpoint does not add a model to the jobs, because it is not a dataset in DataHub.
    """
    (dataset,) = with_datahub_names({"inputs": [], "outputs": [model.dataset]})["outputs"]
    facets = dataset.get("facets", {})
    version = facets.get("version", {}).get("datasetVersion")
    properties = dh.MLModelPropertiesClass(
        name=dataset["name"],
        description=facets.get("documentation", {}).get("description"),
        trainingJobs=[_job(ref, body, context) for ref in model.trained_by],
        downstreamJobs=[_job(ref, body, context) for ref in model.used_by],
        version=dh.VersionTagClass(versionTag=str(version)) if version else None,
        customProperties=_plain(facets),
    )
    return dataset_urn(dataset).replace(":dataset:", ":mlModel:", 1), properties


def _plain(facets: Body) -> dict[str, str]:
    """Return the scalar values in the facets of a model, such as its errors."""
    return {
        f"{name}.{key}": str(value)
        for name, facet in sorted(facets.items())
        if name not in ("datasetType", "documentation", "version", "dataSource")
        for key, value in facet.items()
        if isinstance(value, str | int | float) and not key.startswith("_")
    }


def _upstream(body: Body) -> list[Body]:
    """Return the upstream dependencies of a run that name a job."""
    facet = body["run"].get("facets", {}).get("jobDependencies", {})
    return [
        item
        for item in facet.get("upstream") or ()
        if isinstance(item.get("job"), dict) and {"namespace", "name"} <= item["job"].keys()
    ]


def _job(ref: JobRef, body: Body, context: RunContext) -> str:
    if job_name(*ref) == (body["job"]["namespace"], body["job"]["name"]):
        return job_urn(orchestrator(body), body["job"])
    return _other_job(ref, context)


def _other_job(ref: JobRef, context: RunContext) -> str:
    namespace, name = job_name(*ref)
    engine = context.engines.get(ref, UNKNOWN_ORCHESTRATOR)
    return job_urn(engine, {"namespace": namespace, "name": name})
