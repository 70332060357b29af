"""What DataHub's OpenLineage endpoint has no place for, as metadata change proposals (MCPs).

Job hierarchy and dependencies, models, column lineage on datasets, ownership, tags, the versions
that runs wrote, and the description of a flow, which the endpoint overwrites with each job's.
Needs acryl-datahub, whose classes check what is made of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from throughline.deliver.datasets import Body
from throughline.deliver.known import Known
from throughline.deliver.rewrite.datahub import (
    UNKNOWN,
    escaped,
    job_name,
    orchestrator,
    under_its_names,
)
from throughline.deliver.rewrite.datahub_urns import (
    dataset_urn,
    field_urn,
    flow_urn,
    job_urn,
    run_urn,
)
from throughline.deliver.rewrite.rewriting import uuid_of
from throughline.spec import JobRef, parse_time, to_micros

if TYPE_CHECKING:
    from datahub.emitter.mcp import MetadataChangeProposalWrapper

_ACTOR = "urn:li:corpuser:datahub"
_GROUPS = ("team", "group")


def extras(body: Body, known: Known) -> list[MetadataChangeProposalWrapper]:
    """The proposals that follow a body of `datahub.rewrite`; sent again they change nothing."""
    from datahub.emitter.mcp import MetadataChangeProposalWrapper

    told = [*_of_job(body, known), *_of_run(body, known)]
    for side in ("inputs", "outputs"):
        for dataset in body[side]:
            told += _of_dataset(dataset)
    others = [under_its_names(each) for each in known.others]
    for dataset in body["outputs"]:
        told += _lineage_of(dataset, [body, *others], _millis(body))
        told += _of_output(body, dataset)
    return [MetadataChangeProposalWrapper(entityUrn=urn, aspect=aspect) for urn, aspect in told]


def _of_job(body: Body, known: Known) -> Iterator[tuple[str, Any]]:
    from datahub.metadata import schema_classes as dh

    engine, job, facets = orchestrator(body), body["job"], body["job"].get("facets", {})
    flow, own = flow_urn(engine, job), job_urn(engine, job)
    name = job["name"].split(".")[0]
    if name != job["name"] and ("documentation" in facets or "documentation" in known.flow_facets):
        text = known.flow_facets.get("documentation", {}).get("description")
        yield (
            flow,
            dh.DataFlowInfoClass(name=name, description=text, customProperties=_engine(body)),
        )
    yield from _ownership(flow, known.flow_facets)
    yield from _tags(flow, known.flow_facets)
    yield from _ownership(own, facets)
    yield from _tags(own, facets)
    path = [
        dh.BrowsePathEntryClass(id=key.job.name, urn=_other_job(key.job._asdict(), known))
        for key in reversed(known.above)
    ]
    yield own, dh.BrowsePathsV2Class(path=path or [dh.BrowsePathEntryClass(id=flow, urn=flow)])
    upstream = [each["job"] for each in _upstream(body)]
    if upstream:
        yield own, _input_output(body, [_other_job(each, known) for each in upstream])


def _of_run(body: Body, known: Known) -> Iterator[tuple[str, Any]]:
    from datahub.metadata import schema_classes as dh

    engine = orchestrator(body)
    before = [
        each["run"]["runId"] for each in _upstream(body) if "runId" in (each.get("run") or {})
    ]
    parent = run_urn(uuid_of(known.above[0].run_id)) if known.above else None
    yield (
        run_urn(body["run"]["runId"]),
        dh.DataProcessInstanceRelationshipsClass(
            upstreamInstances=[run_urn(uuid_of(each)) for each in before],
            parentTemplate=job_urn(engine, body["job"]),
            parentInstance=parent,
        ),
    )


def _of_dataset(dataset: Body) -> Iterator[tuple[str, Any]]:
    urn, facets = dataset_urn(dataset), dataset.get("facets", {})
    yield from _ownership(urn, facets)
    tags = facets.get("tags", {}).get("tags") or []
    yield from _tags(urn, {"tags": {"tags": [each for each in tags if not each.get("field")]}})
    for field in sorted({each["field"] for each in tags if each.get("field")}):
        of_field = [each for each in tags if each.get("field") == field]
        yield from _tags(field_urn(urn, escaped(field)), {"tags": {"tags": of_field}})


def _lineage_of(dataset: Body, makers: list[Body], time: int) -> Iterator[tuple[str, Any]]:
    """Column lineage of a dataset: of all jobs that made its contents, as each aspect replaces."""
    from datahub.metadata import schema_classes as dh

    urn = dataset_urn(dataset)
    made: list[Any] = []
    upstream: set[str] = set()
    for body in makers:
        for each in body["outputs"]:
            if dataset_urn(each) == urn:
                made += _fine_grained(urn, each.get("facets", {}).get("columnLineage", {}))
                upstream |= set(map(dataset_urn, body["inputs"]))
    if made:
        stamp = dh.AuditStampClass(time=time, actor=_ACTOR)
        kind = dh.DatasetLineageTypeClass.TRANSFORMED
        upstreams = [dh.UpstreamClass(each, kind, stamp) for each in sorted(upstream)]
        yield urn, dh.UpstreamLineageClass(upstreams=upstreams, fineGrainedLineages=made)


def _of_output(body: Body, dataset: Body) -> Iterator[tuple[str, Any]]:
    from datahub.metadata import schema_classes as dh

    urn, facets, time = dataset_urn(dataset), dataset.get("facets", {}), _millis(body)
    version = facets.get("version", {}).get("datasetVersion")
    if version is not None and body["eventType"] == "COMPLETE":
        yield (
            urn,
            dh.OperationClass(
                timestampMillis=time,
                lastUpdatedTimestamp=time,
                operationType=dh.OperationTypeClass.CUSTOM,
                customOperationType="WRITE",
                customProperties={"version": str(version), "runId": body["run"]["runId"]},
            ),
        )
    if str(facets.get("datasetType", {}).get("datasetType")).upper() == "MODEL":
        platform = urn.split(",")[0].removeprefix("urn:li:dataset:(")
        yield (
            f"urn:li:mlModel:({platform},{dataset['name']},PROD)",
            dh.MLModelPropertiesClass(
                name=dataset["name"],
                description=facets.get("documentation", {}).get("description"),
                trainingJobs=[job_urn(orchestrator(body), body["job"])],
                version=dh.VersionTagClass(versionTag=str(version)) if version else None,
                customProperties=_plain(facets),
            ),
        )


def _input_output(body: Body, upstream: list[str]) -> Any:
    """The whole aspect: what the endpoint wrote for the same event, and what the job waits for."""
    from datahub.metadata import schema_classes as dh

    stamp = dh.AuditStampClass(time=_millis(body), actor=_ACTOR)

    def edges(urns: Iterable[str]) -> list[Any]:
        return [dh.EdgeClass(destinationUrn=urn, lastModified=stamp) for urn in sorted(set(urns))]

    lineage = [
        made
        for each in body["outputs"]
        for made in _fine_grained(
            dataset_urn(each), each.get("facets", {}).get("columnLineage", {})
        )
    ]
    return dh.DataJobInputOutputClass(
        inputDatasets=[],
        outputDatasets=[],
        inputDatasetEdges=edges(map(dataset_urn, body["inputs"])),
        outputDatasetEdges=edges(map(dataset_urn, body["outputs"])),
        inputDatajobEdges=edges(upstream),
        fineGrainedLineages=lineage,
    )


def _fine_grained(urn: str, facet: Body) -> Iterator[Any]:
    """How each column is made, an entry for what it takes its values from; the rest is indirect."""
    from datahub.metadata import schema_classes as dh

    for field, told in sorted((facet.get("fields") or {}).items()):
        sources: dict[bool, set[str]] = {True: set(), False: set()}
        for each in told.get("inputFields") or ():
            how = each.get("transformations") or ()
            direct = not how or any(one.get("type") == "DIRECT" for one in how)
            sources[direct].add(field_urn(dataset_urn(each), each["field"]))
        for direct, found in sources.items():
            if found:
                yield dh.FineGrainedLineageClass(
                    upstreamType=dh.FineGrainedLineageUpstreamTypeClass.FIELD_SET,
                    downstreamType=dh.FineGrainedLineageDownstreamTypeClass.FIELD,
                    upstreams=sorted(found),
                    downstreams=[field_urn(urn, field)],
                    transformOperation="DIRECT" if direct else "INDIRECT",
                    confidenceScore=1.0 if direct else 0.5,
                )


def _ownership(urn: str, facets: Body) -> Iterator[tuple[str, Any]]:
    from datahub.metadata import schema_classes as dh

    owners = [each for each in facets.get("ownership", {}).get("owners") or () if each.get("name")]
    if owners:
        kind = dh.OwnershipTypeClass.TECHNICAL_OWNER
        told = [dh.OwnerClass(owner=_owner(str(each["name"])), type=kind) for each in owners]
        yield urn, dh.OwnershipClass(owners=told)


def _owner(name: str) -> str:
    """`team:a` is a group, `user:a` and `a` are a user."""
    from datahub.metadata.urns import CorpGroupUrn, CorpUserUrn

    kind, _, rest = name.rpartition(":")
    return str(CorpGroupUrn(rest) if kind in _GROUPS else CorpUserUrn(rest))


def _tags(urn: str, facets: Body) -> Iterator[tuple[str, Any]]:
    from datahub.metadata import schema_classes as dh
    from datahub.metadata.urns import TagUrn

    found = []
    for each in facets.get("tags", {}).get("tags") or ():
        key, value = str(each.get("key")), str(each.get("value"))
        is_flag = value.lower() == "true" or value == key
        found.append(str(TagUrn(key if is_flag else f"{key}:{value}")))
    if found:
        tags = [dh.TagAssociationClass(tag) for tag in sorted(set(found))]
        yield urn, dh.GlobalTagsClass(tags=tags)


def _plain(facets: Body) -> dict[str, str]:
    """What a model's own facets tell in single values, such as its errors."""
    return {
        f"{name}.{key}": str(value)
        for name, facet in sorted(facets.items())
        if name not in ("datasetType", "documentation", "version", "dataSource")
        for key, value in facet.items()
        if isinstance(value, str | int | float) and not key.startswith("_")
    }


def _upstream(body: Body) -> list[Body]:
    facet = body["run"].get("facets", {}).get("jobDependencies", {})
    jobs = [each for each in facet.get("upstream") or () if isinstance(each.get("job"), dict)]
    return [each for each in jobs if {"namespace", "name"} <= each["job"].keys()]


def _other_job(job: Body, known: Known) -> str:
    engine = known.engines.get(JobRef(job["namespace"], job["name"]), UNKNOWN)
    namespace, name = job_name(job["namespace"], job["name"])
    return job_urn(engine, {"namespace": namespace, "name": name})


def _engine(body: Body) -> dict[str, str]:
    """What the endpoint notes of the engine."""
    told = body["run"]["facets"]["processing_engine"]
    names = {
        "name": "processingEngine",
        "version": "processingEngineVersion",
        "openlineageAdapterVersion": "openlineageAdapterVersion",
    }
    return {names[key]: str(told[key]) for key in names if key in told}


def _millis(body: Body) -> int:
    return to_micros(parse_time(body["eventTime"])) // 1_000
