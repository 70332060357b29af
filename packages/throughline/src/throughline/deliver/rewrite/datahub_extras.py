"""What DataHub's OpenLineage endpoint has no place for, as metadata change proposals (MCPs).

Job hierarchy and dependencies, models, column lineage on datasets, ownership, tags, the versions
that runs wrote, and the description of a flow, which the endpoint overwrites with each job's.
Needs acryl-datahub, whose classes check what is made of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from throughline.deliver.datasets import Body
from throughline.deliver.known import Known
from throughline.deliver.models import Model
from throughline.deliver.rewrite.datahub import UNKNOWN, job_name, orchestrator, under_its_names
from throughline.deliver.rewrite.datahub_aspects import (
    ancestry_of,
    input_output,
    millis,
    of_dataset,
    ownership,
    tags,
)
from throughline.deliver.rewrite.datahub_declared import declared
from throughline.deliver.rewrite.datahub_urns import dataset_urn, flow_urn, job_urn, run_urn
from throughline.deliver.rewrite.rewriting import is_run, uuid_of
from throughline.spec import JobRef

if TYPE_CHECKING:
    from datahub.emitter.mcp import MetadataChangeProposalWrapper


def proposals(body: Body, known: Known) -> list[MetadataChangeProposalWrapper]:
    """What goes with a body of `datahub.rewrite`, or instead of one that is of no run."""
    return _extras(body, known) if is_run(body) else declared(body, known)


def _extras(body: Body, known: Known) -> list[MetadataChangeProposalWrapper]:
    """The proposals that follow the body of a run; sent again they change nothing."""
    from datahub.emitter.mcp import MetadataChangeProposalWrapper

    told = [*_of_job(body, known), *_of_run(body, known)]
    for side in ("inputs", "outputs"):
        for dataset in body[side]:
            told += of_dataset(dataset)
    others = [under_its_names(each) for each in known.others]
    for dataset in body["outputs"]:
        told += ancestry_of(dataset, [body, *others], millis(body))
        told += _of_output(body, dataset)
    told += (_of_model(model, body, known) for model in known.models)
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
    yield from ownership(flow, known.flow_facets)
    yield from tags(flow, known.flow_facets)
    yield from ownership(own, facets)
    yield from tags(own, facets)
    path = [
        dh.BrowsePathEntryClass(id=key.job.name, urn=_other_job(key.job._asdict(), known))
        for key in reversed(known.above)
    ]
    yield own, dh.BrowsePathsV2Class(path=path or [dh.BrowsePathEntryClass(id=flow, urn=flow)])
    upstream = [each["job"] for each in _upstream(body)]
    if upstream:
        yield own, input_output(body, [_other_job(each, known) for each in upstream])


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


def _of_output(body: Body, dataset: Body) -> Iterator[tuple[str, Any]]:
    from datahub.metadata import schema_classes as dh

    urn, facets, time = dataset_urn(dataset), dataset.get("facets", {}), millis(body)
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


def _of_model(model: Model, body: Body, known: Known) -> tuple[str, Any]:
    """A model between the jobs that train it and those that use it, as it is no dataset of theirs.

    The aspect replaces what an event of another job said.
    """
    from datahub.metadata import schema_classes as dh

    (dataset,) = under_its_names({"inputs": [], "outputs": [model.dataset]})["outputs"]
    facets = dataset.get("facets", {})
    trained_by, used_by = (
        [_job_of(ref, body, known) for ref in refs] for refs in (model.trained_by, model.used_by)
    )
    version = facets.get("version", {}).get("datasetVersion")
    return (
        dataset_urn(dataset).replace(":dataset:", ":mlModel:", 1),
        dh.MLModelPropertiesClass(
            name=dataset["name"],
            description=facets.get("documentation", {}).get("description"),
            trainingJobs=trained_by,
            downstreamJobs=used_by,
            version=dh.VersionTagClass(versionTag=str(version)) if version else None,
            customProperties=_plain(facets),
        ),
    )


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


def _job_of(ref: JobRef, body: Body, known: Known) -> str:
    own = body["job"]["namespace"], body["job"]["name"]
    if job_name(*ref) == own:
        return job_urn(orchestrator(body), body["job"])
    return _other_job(ref._asdict(), known)


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
