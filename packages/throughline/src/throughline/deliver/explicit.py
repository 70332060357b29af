"""Explicit lineage for backends that do not read it: as much of it as they can show."""

from __future__ import annotations

from typing import Any

from throughline.deliver.datasets import Body, named
from throughline.identity import DatasetName, canonical_name
from throughline.projection import Run, State, unpack

_Id = tuple[Any, Any]


def stated_of(state: State, run: Run, members: list[Run]) -> Body | None:
    """Return the facet of a run, united over its events and the runs of its job among `members`.

    Datasets have their shown names. None: the run states no lineage.
    """
    if not run.lineage:
        return None
    runs = [run, *(each for each in members if each.key.job == run.key.job and each is not run)]
    entries: list[Body] = []
    for held in (held for each in runs for held in sorted(each.lineage or ())):
        found = unpack(held).get("entries")
        listed = found if isinstance(found, list) else []
        entries += (each for each in listed if isinstance(each, dict) and each not in entries)

    def shown(namespace: str, name: str) -> DatasetName:
        return state.identity.primary(canonical_name(namespace, name))

    renamed: list[Body] = named(entries, shown)
    return {"entries": renamed}


def with_columns(body: Body) -> Body:
    """Return an event whose outputs have the column lineage that its entries state."""
    stated = {_id(entry): facet for entry in _entries(body) if (facet := _column_facet(entry))}
    if not stated:
        return body
    outputs = [
        {**each, "facets": {**(each.get("facets") or {}), "columnLineage": stated[_id(each)]}}
        if _id(each) in stated
        else each
        for each in body["outputs"]
    ]
    return {**body, "outputs": outputs}


def parted(body: Body) -> list[Body]:
    """Return an event for each output with its own inputs, if the event states these."""
    entries = _entries(body)
    if not entries:
        return [body]
    sources: dict[_Id, set[_Id]] = {}
    for entry in entries:
        fields = (entry.get("fields") or {}).values()
        inputs = (entry, *fields)
        sources.setdefault(_id(entry), set()).update(
            _id(item) for each in inputs for item in each.get("inputs") or ()
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
    return [each for each in facet.get("entries") or () if each.get("type") == "DATASET"]


def _id(item: Body) -> _Id:
    return item.get("namespace"), item.get("name")


def _column_facet(entry: Body) -> Body:
    """Return the columnLineage facet that an entry amounts to; empty without columns."""
    fields = {
        field: {"inputFields": found}
        for field, stated in (entry.get("fields") or {}).items()
        if (found := _fields(stated))
    }
    every_row = _fields(entry)
    rows = {"dataset": every_row} if every_row else {}
    return {"fields": fields, **rows} if fields or rows else {}


def _fields(stated: Body) -> list[Body]:
    return [
        {key: value for key, value in item.items() if key != "type"}
        for item in stated.get("inputs") or ()
        if item.get("type") == "DATASET" and item.get("field")
    ]
