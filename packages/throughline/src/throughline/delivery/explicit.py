"""Convert explicit lineage for backends that do not support it."""

from __future__ import annotations

from typing import Any

from throughline.delivery.datasets import Body, rename_datasets
from throughline.events.column_lineage import objects
from throughline.identity import DatasetName, canonical_name
from throughline.projection import Run, State, unpack

_Id = tuple[Any, Any]


def lineage_facet(state: State, run: Run, members: list[Run]) -> Body | None:
    """Return the lineage facet of a run, merged over its events and its job's runs in `members`.

    Datasets have their primary names. None if the run reports no explicit lineage.
    """
    if not run.lineage:
        return None
    runs = [run, *(item for item in members if item.key.job == run.key.job and item is not run)]
    entries: list[Body] = []
    for packed in (packed for item in runs for packed in sorted(item.lineage or ())):
        added = unpack(packed).get("entries")
        entries += (entry for entry in objects(added) if entry not in entries)

    def primary(namespace: str, name: str) -> DatasetName:
        return state.identity.primary(canonical_name(namespace, name))

    renamed: list[Body] = rename_datasets(entries, primary)
    return {"entries": renamed}


def with_column_lineage(body: Body) -> Body:
    """Return an event whose outputs have the column lineage of its lineage entries."""
    column_facets = {
        _id(entry): facet for entry in _entries(body) if (facet := _column_lineage(entry))
    }
    if not column_facets:
        return body
    outputs = [
        {
            **item,
            "facets": {**(item.get("facets") or {}), "columnLineage": column_facets[_id(item)]},
        }
        if _id(item) in column_facets
        else item
        for item in body["outputs"]
    ]
    return {**body, "outputs": outputs}


def derivation_of(dataset: Body) -> tuple[list[Body], Body]:
    """Return the source datasets and the columnLineage facet of a derived dataset, such as a view.

    Both are empty if the dataset has no lineage facet.
    """
    facet = (dataset.get("facets") or {}).get("lineage") or {}
    owners = (facet, *(facet.get("fields") or {}).values())
    sources: dict[_Id, Body] = {}
    for item in (item for owner in owners for item in owner.get("inputs") or ()):
        if item.get("type") == "DATASET":
            source = {"namespace": item["namespace"], "name": item["name"]}
            sources.setdefault(_id(source), source)
    return list(sources.values()), _column_lineage(facet)


def split_by_output(body: Body) -> list[Body]:
    """Split an event with explicit lineage into one event per output with its inputs."""
    entries = _entries(body)
    if not entries:
        return [body]
    sources: dict[_Id, set[_Id]] = {}
    for entry in entries:
        owners = (entry, *(entry.get("fields") or {}).values())
        sources.setdefault(_id(entry), set()).update(
            _id(item) for owner in owners for item in owner.get("inputs") or ()
        )
    return [
        {
            **body,
            "inputs": [
                item for item in body["inputs"] if _id(item) in sources.get(_id(output), ())
            ],
            "outputs": [output],
        }
        for output in body["outputs"]
    ]


def _entries(body: Body) -> list[Body]:
    facet = (body["job"].get("facets") or {}).get("lineage") or {}
    return [entry for entry in facet.get("entries") or () if entry.get("type") == "DATASET"]


def _id(item: Body) -> _Id:
    return item.get("namespace"), item.get("name")


def _column_lineage(entry: Body) -> Body:
    """Return the columnLineage facet of an entry; empty without columns."""
    fields = {
        field: {"inputFields": inputs}
        for field, stated in (entry.get("fields") or {}).items()
        if (inputs := _fields(stated))
    }
    every_row = _fields(entry)
    rows = {"dataset": every_row} if every_row else {}
    return {"fields": fields, **rows} if fields or rows else {}


def _fields(entry: Body) -> list[Body]:
    return [
        {key: value for key, value in item.items() if key != "type"}
        for item in entry.get("inputs") or ()
        if item.get("type") == "DATASET" and item.get("field")
    ]
