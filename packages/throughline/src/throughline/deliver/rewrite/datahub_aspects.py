"""Aspects of DataHub that follow from facets, for runs as for what is declared without one.

Needs acryl-datahub, whose classes check what is made of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from throughline.deliver.datasets import Body
from throughline.deliver.rewrite.datahub import escaped
from throughline.deliver.rewrite.datahub_urns import dataset_urn, field_urn
from throughline.spec import EVERY_ROW, parse_columns, parse_time, to_micros

_ACTOR = "urn:li:corpuser:datahub"
_GROUPS = ("team", "group")


def of_dataset(dataset: Body) -> Iterator[tuple[str, Any]]:
    """What a dataset is: whose, with which tags on it and its columns, and its description."""
    from datahub.metadata import schema_classes as dh

    urn, facets = dataset_urn(dataset), dataset.get("facets", {})
    if text := facets.get("documentation", {}).get("description"):
        yield urn, dh.DatasetPropertiesClass(description=text)
    yield from ownership(urn, facets)
    told = facets.get("tags", {}).get("tags") or []
    yield from tags(urn, {"tags": {"tags": [each for each in told if not each.get("field")]}})
    for field in sorted({each["field"] for each in told if each.get("field")}):
        of_field = [each for each in told if each.get("field") == field]
        yield from tags(field_urn(urn, escaped(field)), {"tags": {"tags": of_field}})


def ancestry_of(dataset: Body, makers: list[Body], time: int) -> Iterator[tuple[str, Any]]:
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


def input_output(body: Body, upstream: list[str]) -> Any:
    """The whole aspect: what the endpoint wrote for the same event, and what the job waits for."""
    from datahub.metadata import schema_classes as dh

    stamp = dh.AuditStampClass(time=millis(body), actor=_ACTOR)

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

    links = [link for link in parse_columns(facet).links if link.target != EVERY_ROW]
    for field, of_field in groupby(sorted(links), key=lambda link: link.target):
        sources: dict[bool, set[str]] = {True: set(), False: set()}
        for link in of_field:
            of = dataset_urn({"namespace": link.namespace, "name": link.name})
            sources[link.is_direct].add(field_urn(of, link.field))
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


def ownership(urn: str, facets: Body) -> Iterator[tuple[str, Any]]:
    """Who owns it."""
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


def tags(urn: str, facets: Body) -> Iterator[tuple[str, Any]]:
    """Its tags; `key:value`, or the key alone of one that is only set."""
    from datahub.metadata import schema_classes as dh
    from datahub.metadata.urns import TagUrn

    found = []
    for each in facets.get("tags", {}).get("tags") or ():
        key, value = str(each.get("key")), str(each.get("value"))
        is_flag = value.lower() == "true" or value == key
        found.append(str(TagUrn(key if is_flag else f"{key}:{value}")))
    if found:
        named = [dh.TagAssociationClass(tag) for tag in sorted(set(found))]
        yield urn, dh.GlobalTagsClass(tags=named)


def millis(body: Body) -> int:
    """The time of an event in milliseconds."""
    return to_micros(parse_time(body["eventTime"])) // 1_000
