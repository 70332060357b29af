"""Events of jobs and of datasets for DataHub, whose endpoint takes none: as proposals (MCPs).

What a run tells later counts for more: a job that ran keeps the lineage, the place and the
description of its runs, and of a declaration it gets the owners and the tags.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from throughline.deliver.datasets import Body
from throughline.deliver.known import Known
from throughline.deliver.rewrite.datahub import orchestrator, under_its_names
from throughline.deliver.rewrite.datahub_aspects import (
    ancestry_of,
    input_output,
    millis,
    of_dataset,
    ownership,
    tags,
)
from throughline.deliver.rewrite.datahub_urns import dataset_urn, flow_urn, job_urn

if TYPE_CHECKING:
    from datahub.emitter.mcp import MetadataChangeProposalWrapper


def declared(body: Body, known: Known) -> list[MetadataChangeProposalWrapper]:
    """The proposals that a body of `datahub.rewrite` is that has no run."""
    from datahub.emitter.mcp import MetadataChangeProposalWrapper

    told = list(_of_job(body, known)) if "job" in body else []
    for dataset in (*body["inputs"], *body["outputs"]):
        told += [*of_dataset(dataset), *_schema(dataset)]
    makers = [body, *(under_its_names(each) for each in known.others)]
    for dataset in body["outputs"]:
        told += ancestry_of(dataset, makers, millis(body))
    return [MetadataChangeProposalWrapper(entityUrn=urn, aspect=aspect) for urn, aspect in told]


def _of_job(body: Body, known: Known) -> Iterator[tuple[str, Any]]:
    from datahub.metadata import schema_classes as dh

    engine, job, facets = orchestrator(body), body["job"], body["job"]["facets"]
    flow, own = flow_urn(engine, job), job_urn(engine, job)
    if known.started is None:
        name = job["name"].split(".")[0]
        about = known.flow_facets if name != job["name"] else facets
        yield flow, dh.DataFlowInfoClass(name=name, description=_description(about))
        yield (
            own,
            dh.DataJobInfoClass(
                name=job["name"][len(name) + 1 :] or name,
                type=engine,
                flowUrn=flow,
                description=_description(facets),
            ),
        )
        yield own, dh.BrowsePathsV2Class(path=[dh.BrowsePathEntryClass(id=flow, urn=flow)])
        yield own, input_output(body, [])
    yield from ownership(own, facets)
    yield from tags(own, facets)


def _description(facets: Body) -> str | None:
    text = facets.get("documentation", {}).get("description")
    return str(text) if text else None


def _schema(dataset: Body) -> Iterator[tuple[str, Any]]:
    """The columns, with those types that the endpoint tells apart too."""
    from datahub.metadata import schema_classes as dh

    fields = dataset.get("facets", {}).get("schema", {}).get("fields")
    if not fields:
        return
    known = {
        "int": dh.NumberTypeClass,
        "long": dh.NumberTypeClass,
        "string": dh.StringTypeClass,
        "struct": dh.MapTypeClass,
        "timestamp": dh.TimeTypeClass,
    }
    urn = dataset_urn(dataset)
    yield (
        urn,
        dh.SchemaMetadataClass(
            schemaName="",
            platform=urn.removeprefix("urn:li:dataset:(").split(",")[0],
            version=0,
            hash="",
            platformSchema=dh.OtherSchemaClass(rawSchema=""),
            fields=[
                dh.SchemaFieldClass(
                    fieldPath=field["name"],
                    type=dh.SchemaFieldDataTypeClass(
                        known.get(str(field.get("type")), dh.NullTypeClass)()
                    ),
                    nativeDataType=str(field.get("type") or ""),
                    description=field.get("description"),
                )
                for field in fields
            ],
        ),
    )
