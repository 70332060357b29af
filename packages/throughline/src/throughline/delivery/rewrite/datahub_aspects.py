"""DataHub aspects derived from facets, for runs and for jobs and datasets without a run.

Import this module only if acryl-datahub is installed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from datahub.metadata import schema_classes as dh
from datahub.metadata.urns import CorpGroupUrn, CorpUserUrn, TagUrn

from throughline.delivery.datasets import Body
from throughline.delivery.rewrite.datahub import escaped
from throughline.delivery.rewrite.datahub_urns import dataset_urn, field_urn
from throughline.events import EVERY_ROW, parse_columns, parse_time, to_micros

Aspects = Iterator[tuple[str, Any]]
"""Pairs of an entity's URN and an aspect."""

_ACTOR = "urn:li:corpuser:datahub"
_GROUPS = ("team", "group")


def description(facets: Body) -> str | None:
    """Return the description of the documentation facet."""
    text = facets.get("documentation", {}).get("description")
    return str(text) if text else None


def dataset_aspects(dataset: Body) -> Aspects:
    """Yield the description, ownership and tags of a dataset, and the tags of its columns."""
    urn, facets = dataset_urn(dataset), dataset.get("facets", {})
    if text := description(facets):
        yield urn, dh.DatasetPropertiesClass(description=text)
    yield from ownership(urn, facets)
    all_tags = facets.get("tags", {}).get("tags") or []
    yield from _tags(urn, (tag for tag in all_tags if not tag.get("field")))
    for field in sorted({tag["field"] for tag in all_tags if tag.get("field")}):
        field_tags = (tag for tag in all_tags if tag.get("field") == field)
        yield from _tags(field_urn(urn, escaped(field)), field_tags)


def upstream_lineage(dataset: Body, writers: list[Body], time: int) -> Aspects:
    """Yield the lineage of a dataset by all writers, because an aspect replaces the last one.

    Without columns, only a derived dataset, such as a view, has this aspect: others have jobs.
    """
    urn = dataset_urn(dataset)
    lineages: list[Any] = []
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


def input_output(body: Body, upstream: list[str]) -> Any:
    """Return the complete aspect of a job: its datasets, as the endpoint writes them, and its
    upstream jobs."""
    stamp = dh.AuditStampClass(time=millis(body), actor=_ACTOR)

    def edges(urns: Iterable[str]) -> list[Any]:
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


def _fine_grained(dataset: Body) -> Iterator[Any]:
    """Yield the lineage of each column: one entry for direct sources, one for indirect ones."""
    urn, facet = dataset_urn(dataset), dataset.get("facets", {}).get("columnLineage", {})
    links = [link for link in parse_columns(facet).links if link.target != EVERY_ROW]
    for field, field_links in groupby(sorted(links), key=lambda link: link.target):
        sources: dict[bool, set[str]] = {True: set(), False: set()}
        for link in field_links:
            source = dataset_urn({"namespace": link.namespace, "name": link.name})
            sources[link.is_direct].add(field_urn(source, link.field))
        for is_direct, urns in sources.items():
            if urns:
                yield dh.FineGrainedLineageClass(
                    upstreamType=dh.FineGrainedLineageUpstreamTypeClass.FIELD_SET,
                    downstreamType=dh.FineGrainedLineageDownstreamTypeClass.FIELD,
                    upstreams=sorted(urns),
                    downstreams=[field_urn(urn, field)],
                    transformOperation="DIRECT" if is_direct else "INDIRECT",
                    confidenceScore=1.0 if is_direct else 0.5,
                )


def ownership(urn: str, facets: Body) -> Aspects:
    """Yield the owners."""
    owners = [
        str(owner["name"])
        for owner in facets.get("ownership", {}).get("owners") or ()
        if owner.get("name")
    ]
    if owners:
        kind = dh.OwnershipTypeClass.TECHNICAL_OWNER
        classes = [dh.OwnerClass(owner=_owner_urn(name), type=kind) for name in owners]
        yield urn, dh.OwnershipClass(owners=classes)


def _owner_urn(name: str) -> str:
    """Return a group's URN for `team:a` or `group:a`, a user's for `user:a` and `a`."""
    kind, _, rest = name.rpartition(":")
    return str(CorpGroupUrn(rest) if kind in _GROUPS else CorpUserUrn(rest))


def tags(urn: str, facets: Body) -> Aspects:
    """Yield the tags: `key:value`, or only the key if the value is `true` or the key."""
    return _tags(urn, facets.get("tags", {}).get("tags") or ())


def _tags(urn: str, items: Iterable[Body]) -> Aspects:
    urns = set()
    for tag in items:
        key, value = str(tag.get("key")), str(tag.get("value"))
        is_flag = value.lower() == "true" or value == key
        urns.add(str(TagUrn(key if is_flag else f"{key}:{value}")))
    if urns:
        yield urn, dh.GlobalTagsClass(tags=[dh.TagAssociationClass(tag) for tag in sorted(urns)])


def millis(body: Body) -> int:
    """Return the time of an event in milliseconds."""
    return to_micros(parse_time(body["eventTime"])) // 1_000
