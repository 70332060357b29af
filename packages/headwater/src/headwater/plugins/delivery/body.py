"""OpenLineage events and datasets as JSON: names, symlinks and required fields.

A body is changed only by making a copy. `name` below is a function that renames a dataset.
"""

from __future__ import annotations

from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

from headwater.events.column_lineage import objects
from headwater.events.renaming import Name, with_renamed_lineage
from headwater.identity import DatasetName, is_location

Body = dict[str, Any]
"""An event, a dataset or a facet as JSON, decoded."""

_SPEC = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs"
_NO_PRODUCER = "https://openlineage.io/unknown-producer"
_FACET_KINDS = {
    "facets": "DatasetFacet",
    "inputFacets": "InputDatasetFacet",
    "outputFacets": "OutputDatasetFacet",
}


def is_run(event: Body) -> bool:
    """Return True for a RunEvent."""
    return "runId" in (event.get("run") or {}) and "job" in event


def uuid_of(run_id: str) -> str:
    """Return a run id that is a UUID, or a UUID derived from another id."""
    try:
        return str(UUID(run_id))
    except ValueError:
        return str(uuid5(NAMESPACE_URL, run_id))


def facet_of(part: Body | None, name: str) -> Body:
    """Return a facet of a run, job or dataset; empty without it."""
    return ((part or {}).get("facets") or {}).get(name) or {}


def with_facets(part: Body, *names: str) -> Body:
    """Return a run, job or dataset with only some of its facets."""
    facets = part.get("facets") or {}
    return {**part, "facets": {name: facets[name] for name in names if name in facets}}


def datasets_in(body: Body) -> list[Body]:
    """Return the datasets of an event of any type."""
    own = [body["dataset"]] if isinstance(body.get("dataset"), dict) else []
    return [*own, *body.get("inputs", ()), *body.get("outputs", ())]


def name_of(dataset: Body) -> DatasetName:
    """Return the name of a dataset."""
    return DatasetName(dataset["namespace"], dataset["name"])


def symlink(name: DatasetName) -> Body:
    """Return an identifier of the symlinks facet."""
    return {**name._asdict(), "type": "LOCATION" if is_location(name) else "TABLE"}


def symlinks_of(dataset: Body) -> list[DatasetName]:
    """Return the valid names in the symlinks facet of a dataset."""
    return [
        name_of(link)
        for link in objects(facet_of(dataset, "symlinks").get("identifiers"))
        if isinstance(link.get("namespace"), str) and isinstance(link.get("name"), str)
    ]


def with_renamed_datasets(body: Body, name: Name) -> Body:
    """Return an event with renamed datasets, also in its lineage.

    Lineage facets of the job and of the datasets name the renamed datasets, too.
    """
    changed: Body = {
        side: [with_renamed_dataset(dataset, name) for dataset in body[side]]
        for side in ("inputs", "outputs")
        if body.get(side)
    }
    if facet_of(body.get("job"), "lineage"):
        facets = with_renamed_lineage(body["job"]["facets"], name)
        changed["job"] = {**body["job"], "facets": facets}
    if "dataset" in body:
        changed["dataset"] = with_renamed_dataset(body["dataset"], name)
    return body | changed


def with_renamed_dataset(dataset: Body, name: Name) -> Body:
    """Return a renamed dataset; its old name becomes a symlink."""
    old = name_of(dataset)
    new = DatasetName(*name(*old))
    facets = with_renamed_lineage(dataset.get("facets") or {}, name)
    if new != old:
        links = objects((facets.get("symlinks") or {}).get("identifiers"))
        others = [link for link in links if (link.get("namespace"), link.get("name")) != new]
        facets["symlinks"] = {"identifiers": [*others, symlink(old)]}
    return {**dataset, **new._asdict(), "facets": facets}


def with_required_fields(body: Body, kind: str) -> Body:
    """Return an event with missing fields that the specification requires; `kind` is its type.

    Backends validate events by the specification, but producers leave out fields. A run id that is
    no UUID becomes one, see `uuid_of`.
    """
    producer = body.get("producer") or _NO_PRODUCER
    event: Body = without_nulls(body)
    event["producer"] = producer
    event["schemaURL"] = body.get("schemaURL") or f"{_SPEC}/{kind}"
    _add_required_fields((event.get("run") or {}).get("facets"), "RunFacet", producer)
    _add_required_fields((event.get("job") or {}).get("facets"), "JobFacet", producer)
    parent = facet_of(event.get("run"), "parent")
    for ref in (parent, parent.get("root")):
        if isinstance(ref, dict) and isinstance(ref.get("run"), dict):
            ref["run"]["runId"] = uuid_of(str(ref["run"].get("runId")))
    for dataset in datasets_in(event):
        for place, facet_kind in _FACET_KINDS.items():
            _add_required_fields(dataset.get(place), facet_kind, producer)
    return event


def _add_required_fields(facets: Any, kind: str, producer: str) -> None:
    """Add a producer and a schema to facets without them."""
    for facet in objects(list(facets.values())) if isinstance(facets, dict) else ():
        facet.setdefault("_producer", producer)
        facet.setdefault("_schemaURL", f"{_SPEC}/{kind}")


def without_nulls(part: Any) -> Any:
    """Return a copy of JSON without nulls, because some backends drop events with nulls."""
    if isinstance(part, dict):
        return {key: without_nulls(value) for key, value in part.items() if value is not None}
    if isinstance(part, list):
        return [without_nulls(value) for value in part if value is not None]
    return part
