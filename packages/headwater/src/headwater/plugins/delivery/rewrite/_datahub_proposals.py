"""Metadata change proposals (MCPs) for what DataHub's OpenLineage endpoint does not support.

For runs: job hierarchy and dependencies, models, column lineage on datasets, ownership, tags, the
versions that runs wrote, and the description of a flow, which the endpoint overwrites with each
job's. For jobs and datasets without a run: everything. The reports of runs take precedence: a job
that ran keeps the lineage, the position and the description of its runs, and only its owners and
tags are updated.

Import this module only if acryl-datahub is installed.

A proposal replaces one aspect (a part of the metadata) of one entity. URNs are the ids of entities.
Bodies are those that `_datahub.rewrite` returned, with names that are valid in URNs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from datahub.emitter import mce_builder
from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.metadata import schema_classes as dh
from datahub.metadata.urns import DataProcessInstanceUrn, DatasetUrn, MlModelUrn

from headwater.events import EVERY_ROW, JobRef, parse_columns, parse_time, to_micros
from headwater.events.column_lineage import objects
from headwater.events.facets import Tags
from headwater.plugins.delivery.body import Body, facet_of, is_run, uuid_of
from headwater.plugins.delivery.context import Model, RunContext
from headwater.plugins.delivery.rewrite._datahub import (
    UNKNOWN_ORCHESTRATOR,
    escaped,
    escaped_name,
    orchestrator,
    platform_name,
    with_datahub_names,
)

Aspects = Iterator[tuple[str, dh._Aspect]]
"""Pairs of an entity's URN and an aspect."""

_ACTOR = "urn:li:corpuser:datahub"
_GROUPS = ("team", "group")
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
    return [
        MetadataChangeProposalWrapper(entityUrn=urn, aspect=aspect)
        for urn, aspect in _aspects(body, context)
    ]


def flow_urn(engine: str, job: Body) -> str:
    """Return the URN of a job's flow, whose name is the job's up to the first dot."""
    return str(mce_builder.make_data_flow_urn(engine, job["name"].split(".")[0], job["namespace"]))


def job_urn(engine: str, job: Body) -> str:
    """Return the URN of a job."""
    return str(mce_builder.make_data_job_urn_with_flow(flow_urn(engine, job), job["name"]))


def dataset_urn(dataset: Body) -> str:
    """Return the URN of a dataset in a rewritten event."""
    return str(DatasetUrn(*platform_name(dataset["namespace"], dataset["name"])))


def _aspects(body: Body, context: RunContext) -> Aspects:
    """Yield all aspects of a body: of its job and run, its datasets, and its models."""
    if is_run(body):
        yield from _run_job(body, context)
        yield _run(body, context)
    elif "job" in body:
        yield from _static_job(body, context)
    for dataset in (*body["inputs"], *body["outputs"]):
        yield from _dataset(dataset)
        if not is_run(body):
            yield from _schema(dataset)
    # An aspect replaces the last one, so it needs all writers of a dataset, not only this job.
    writers = [body, *map(with_datahub_names, context.other_writers)]
    for dataset in body["outputs"]:
        yield from _upstream_lineage(dataset, writers, _millis(body))
        if is_run(body):
            yield from _operation(body, dataset)
    for model in context.models if is_run(body) else ():
        yield _model(model, body, context)


def _run_job(body: Body, context: RunContext) -> Aspects:
    """Yield the aspects of the job of a run and of its flow.

    These are owners, tags, the place in the tree, and upstream jobs. The description of the flow is
    set if the job or the flow has one, because the endpoint overwrites it.
    """
    engine, job, flow_facets = orchestrator(body), body["job"], context.flow_facets
    flow, own, name = flow_urn(engine, job), job_urn(engine, job), job["name"].split(".")[0]
    is_described = "documentation" in job["facets"] or "documentation" in flow_facets
    # of a job without a dot, which is the flow itself, the endpoint writes the right description
    if name != job["name"] and is_described:
        engine_facet = body["run"]["facets"]["processing_engine"]
        properties = {
            property_: str(engine_facet[key])
            for key, property_ in _ENGINE_PROPERTIES.items()
            if key in engine_facet
        }
        text = facet_of({"facets": flow_facets}, "documentation").get("description")
        yield flow, dh.DataFlowInfoClass(name=name, description=text, customProperties=properties)
    yield from _owners_and_tags(flow, flow_facets)
    yield from _owners_and_tags(own, job["facets"])
    path = [
        dh.BrowsePathEntryClass(id=key.job.name, urn=_other_job(key.job, context))
        for key in reversed(context.ancestors)
    ]
    yield own, dh.BrowsePathsV2Class(path=path or [dh.BrowsePathEntryClass(id=flow, urn=flow)])
    if upstream := _upstream(body):
        refs = (JobRef(item["job"]["namespace"], item["job"]["name"]) for item in upstream)
        yield own, _input_output(body, (_other_job(ref, context) for ref in refs))


def _static_job(body: Body, context: RunContext) -> Aspects:
    """Yield the aspects of a job that was reported without a run.

    If it has run (`started` is set), its runs determine all but its owners and tags, also those of
    its flow, see `_run_job`.
    """
    engine, job, facets = orchestrator(body), body["job"], body["job"]["facets"]
    flow, own = flow_urn(engine, job), job_urn(engine, job)
    if context.started is None:
        name = job["name"].split(".")[0]
        flow_facets = context.flow_facets if name != job["name"] else facets
        yield flow, dh.DataFlowInfoClass(name=name, description=_description(flow_facets))
        yield from _owners_and_tags(flow, flow_facets)
        info = dh.DataJobInfoClass(
            name=job["name"][len(name) + 1 :] or name,
            type=engine,
            flowUrn=flow,
            description=_description(facets),
        )
        yield own, info
        yield own, dh.BrowsePathsV2Class(path=[dh.BrowsePathEntryClass(id=flow, urn=flow)])
        yield own, _input_output(body, ())
    yield from _owners_and_tags(own, facets)


def _run(body: Body, context: RunContext) -> tuple[str, dh.DataProcessInstanceRelationshipsClass]:
    """Return the relations of a run: its job, its parent run and the upstream runs."""
    parent = uuid_of(context.ancestors[0].run_id) if context.ancestors else None
    relationships = dh.DataProcessInstanceRelationshipsClass(
        upstreamInstances=[
            _run_urn(uuid_of(item["run"]["runId"]))
            for item in _upstream(body)
            if "runId" in (item.get("run") or {})
        ],
        parentTemplate=job_urn(orchestrator(body), body["job"]),
        parentInstance=_run_urn(parent) if parent else None,
    )
    return _run_urn(body["run"]["runId"]), relationships


def _dataset(dataset: Body) -> Aspects:
    """Yield the description, ownership and tags of a dataset, and the tags of its columns."""
    urn, facets = dataset_urn(dataset), dataset.get("facets", {})
    if text := _description(facets):
        yield urn, dh.DatasetPropertiesClass(description=text)
    all_tags = facet_of(dataset, "tags").get("tags") or []
    yield from _ownership(urn, facets)
    yield from _tags(urn, (tag for tag in all_tags if not tag.get("field")))
    for field in sorted({tag["field"] for tag in all_tags if tag.get("field")}):
        field_urn = mce_builder.make_schema_field_urn(urn, escaped(field))
        yield from _tags(field_urn, (tag for tag in all_tags if tag.get("field") == field))


def _schema(dataset: Body) -> Aspects:
    """Yield the columns of a dataset; those of a run's datasets are set by the endpoint."""
    fields = facet_of(dataset, "schema").get("fields")
    if not fields:
        return
    urn = DatasetUrn.from_string(dataset_urn(dataset))
    columns = [
        dh.SchemaFieldClass(
            fieldPath=field["name"],
            type=dh.SchemaFieldDataTypeClass(_TYPES.get(type_, dh.NullTypeClass)()),
            nativeDataType=type_,
            description=field.get("description"),
        )
        for field in fields
        for type_ in [str(field.get("type") or "")]
    ]
    schema = dh.SchemaMetadataClass(
        schemaName="",
        platform=urn.platform,
        version=0,
        hash="",
        platformSchema=dh.OtherSchemaClass(rawSchema=""),
        fields=columns,
    )
    yield str(urn), schema


def _upstream_lineage(dataset: Body, writers: list[Body], time: int) -> Aspects:
    """Yield the lineage of a dataset by all writers, because an aspect replaces the last one.

    Without columns, only a derived dataset, such as a view, has this aspect: others have jobs.

    `writers` are bodies with the dataset among their outputs, and `time` is in milliseconds.
    """
    urn = dataset_urn(dataset)
    lineages: list[dh.FineGrainedLineageClass] = []
    upstream: set[str] = set()
    for body in writers:
        for output in body["outputs"]:
            if dataset_urn(output) == urn:
                lineages += _fine_grained(output)
                upstream |= set(map(dataset_urn, body["inputs"]))
    is_derived = any("dataset" in body and body["inputs"] for body in writers)
    if lineages or is_derived:
        stamp = dh.AuditStampClass(time=time, actor=_ACTOR)
        kind = dh.DatasetLineageTypeClass.TRANSFORMED
        upstreams = [dh.UpstreamClass(source, kind, stamp) for source in sorted(upstream)]
        yield urn, dh.UpstreamLineageClass(upstreams=upstreams, fineGrainedLineages=lineages)


def _operation(body: Body, dataset: Body) -> Aspects:
    """Yield the write operation of a completed run with the version that it wrote."""
    time, version = _millis(body), facet_of(dataset, "version").get("datasetVersion")
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

    The endpoint does not add a model to the jobs, because it is not a dataset in DataHub. The
    properties are the scalar values in its facets, such as its errors.
    """
    (dataset,) = with_datahub_names({"inputs": [], "outputs": [model.dataset]})["outputs"]
    version = facet_of(dataset, "version").get("datasetVersion")
    own, own_urn = body["job"], job_urn(orchestrator(body), body["job"])

    def job(ref: JobRef) -> str:
        is_own = escaped_name(*ref) == (own["namespace"], own["name"])
        return own_urn if is_own else _other_job(ref, context)

    properties = dh.MLModelPropertiesClass(
        name=dataset["name"],
        description=facet_of(dataset, "documentation").get("description"),
        trainingJobs=list(map(job, model.trained_by)),
        downstreamJobs=list(map(job, model.used_by)),
        version=dh.VersionTagClass(versionTag=str(version)) if version else None,
        customProperties={
            f"{name}.{key}": str(value)
            for name, facet in sorted(dataset["facets"].items())
            if name not in ("datasetType", "documentation", "version", "dataSource")
            for key, value in facet.items()
            if isinstance(value, str | int | float) and not key.startswith("_")
        },
    )
    return str(MlModelUrn(*platform_name(dataset["namespace"], dataset["name"]))), properties


def _input_output(body: Body, upstream: Iterable[str]) -> dh.DataJobInputOutputClass:
    """Return the complete aspect of a job: its datasets, as in the endpoint, and upstream jobs."""
    stamp = dh.AuditStampClass(time=_millis(body), actor=_ACTOR)

    def edges(urns: Iterable[str]) -> list[dh.EdgeClass]:
        return [dh.EdgeClass(destinationUrn=urn, lastModified=stamp) for urn in sorted(set(urns))]

    return dh.DataJobInputOutputClass(
        inputDatasets=[],
        outputDatasets=[],
        inputDatasetEdges=edges(map(dataset_urn, body["inputs"])),
        outputDatasetEdges=edges(map(dataset_urn, body["outputs"])),
        inputDatajobEdges=edges(upstream),
        fineGrainedLineages=[
            lineage for output in body["outputs"] for lineage in _fine_grained(output)
        ],
    )


def _fine_grained(dataset: Body) -> Iterator[dh.FineGrainedLineageClass]:
    """Yield the lineage of each column: one entry for direct sources, one for indirect ones."""
    urn, facet = dataset_urn(dataset), facet_of(dataset, "columnLineage")
    links = [link for link in parse_columns(facet).links if link.target != EVERY_ROW]
    links.sort(key=lambda link: (link.target, not link.is_direct))
    for (field, is_direct), group in groupby(links, key=lambda link: (link.target, link.is_direct)):
        sources = {
            mce_builder.make_schema_field_urn(
                dataset_urn({"namespace": link.namespace, "name": link.name}), link.field
            )
            for link in group
        }
        yield dh.FineGrainedLineageClass(
            upstreamType=dh.FineGrainedLineageUpstreamTypeClass.FIELD_SET,
            downstreamType=dh.FineGrainedLineageDownstreamTypeClass.FIELD,
            upstreams=sorted(sources),
            downstreams=[mce_builder.make_schema_field_urn(urn, field)],
            transformOperation="DIRECT" if is_direct else "INDIRECT",
            confidenceScore=1.0 if is_direct else 0.5,
        )


def _owners_and_tags(urn: str, facets: Body) -> Aspects:
    yield from _ownership(urn, facets)
    yield from _tags(urn, facets.get("tags", {}).get("tags") or ())


def _ownership(urn: str, facets: Body) -> Aspects:
    """Yield the owners: a group for `team:a` and `group:a`, a user for `user:a` and `a`."""
    owners = []
    for owner in facets.get("ownership", {}).get("owners") or ():
        kind, _, name = str(owner.get("name") or "").rpartition(":")
        make_urn = mce_builder.make_group_urn if kind in _GROUPS else mce_builder.make_user_urn
        owners += [make_urn(name)] if name else []
    if owners:
        kind = dh.OwnershipTypeClass.TECHNICAL_OWNER
        yield urn, mce_builder.make_ownership_aspect_from_urn_list(owners, None, kind)


def _tags(urn: str, items: Iterable[Body]) -> Aspects:
    """Yield the labels of the tags."""
    if tags := {tag.label for tag in Tags.parse({"tags": [*items]}).tags}:
        yield urn, mce_builder.make_global_tag_aspect_with_tag_list(sorted(tags))


def _description(facets: Body) -> str | None:
    """Return the description of the documentation facet."""
    text = facets.get("documentation", {}).get("description")
    return str(text) if text else None


def _upstream(body: Body) -> list[Body]:
    """Return the upstream dependencies of a run that name a job."""
    return [
        item
        for item in objects(facet_of(body["run"], "jobDependencies").get("upstream"))
        if isinstance(item.get("job"), dict) and {"namespace", "name"} <= item["job"].keys()
    ]


def _run_urn(run_id: str) -> str:
    return str(DataProcessInstanceUrn(run_id))


def _other_job(ref: JobRef, context: RunContext) -> str:
    namespace, name = escaped_name(*ref)
    engine = context.engines.get(ref, UNKNOWN_ORCHESTRATOR)
    return job_urn(engine, {"namespace": namespace, "name": name})


def _millis(body: Body) -> int:
    """Return the time of an event in milliseconds."""
    return to_micros(parse_time(body["eventTime"])) // 1_000
