"""Explicit lineage: the `lineage` facet of a job or a dataset, parsed into typed entries.

An event with this facet states its edges, so they are not inferred from inputs × outputs
(OpenLineage, proposals/explicit_lineage_facet: LineageJobFacet and LineageDatasetFacet,
experimental). Each entry has one target and its sources. Parts of an unexpected shape are ignored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from headwater.events._event import Dataset, JobRef, Json
from headwater.events.column_lineage import (
    EVERY_ROW,
    UNKNOWN_COLUMN,
    ColumnLineage,
    ColumnLink,
    Legacy,
    Transformation,
    is_name,
    masks,
    objects,
    transformations_of,
)

__all__ = ["DatasetId", "Entry", "lineage_of_columns", "parse_derivation", "parse_entries",
           "with_lineage_datasets"]  # fmt: skip


class DatasetId(NamedTuple):
    """The namespace and name of a dataset, as a facet spells them."""

    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One target with its sources; a target of None is the owner of the facet."""

    target: DatasetId | JobRef | None
    is_job: bool
    datasets: frozenset[DatasetId]
    """The source datasets, also those of single columns."""
    jobs: frozenset[JobRef]
    """The source jobs other than the event's own job."""
    columns: ColumnLineage


def parse_entries(facet: Json) -> tuple[Entry, ...]:
    """Parse the lineage facet of a job."""
    return tuple(
        entry for stated in objects(facet.get("entries")) if (entry := _entry(stated)) is not None
    )


def parse_derivation(facet: Json) -> Entry:
    """Parse the lineage facet of a dataset, such as a view, that is derived without a job."""
    return _parse(facet, None, is_job=False)


def lineage_of_columns(facet: Json) -> Json:
    """Return a lineage facet with the sources of a columnLineage facet; empty without sources.

    With it, a DatasetEvent with column lineage states the sources of its dataset, as a lineage
    facet does.
    """
    fields = facet.get("fields")
    by_field = {
        name: {"inputs": [item | {"type": "DATASET"} for item in objects(field.get("inputFields"))]}
        for name, field in (fields.items() if isinstance(fields, dict) else ())
        if isinstance(field, dict) and field.get("inputFields")
    }
    rows = [item | {"type": "DATASET"} for item in objects(facet.get("dataset"))]
    return {"inputs": rows, "fields": by_field} if rows or by_field else {}


def with_lineage_datasets(
    facet: Json, job: JobRef, inputs: tuple[Dataset, ...], outputs: tuple[Dataset, ...]
) -> tuple[tuple[Dataset, ...], tuple[Dataset, ...]]:
    """Return the inputs and outputs of a job's event with the datasets that its facet adds.

    Producers should list them anyway. A dataset that only another job reads is not an input.

    `job` is the event's own job: an entry of another job names no dataset of this event. Inputs
    that are listed already stay as they are, with their facets.
    """
    entries = parse_entries(facet)
    own = [entry for entry in entries if not entry.is_job or entry.target in (None, job)]
    sources = (source for entry in own for source in sorted(entry.datasets))
    targets = (entry.target for entry in entries if isinstance(entry.target, DatasetId))
    return _with_missing(inputs, sources), _with_missing(outputs, targets)


def _with_missing(listed: tuple[Dataset, ...], named: Iterable[DatasetId]) -> tuple[Dataset, ...]:
    """Return the listed datasets, and those that are named but not listed, without facets."""
    present = {(item.namespace, item.name) for item in listed}
    return (*listed, *(Dataset(*item) for item in dict.fromkeys(named) if item not in present))


def _entry(stated: Json) -> Entry | None:
    """Return an entry; None without a type, or for a dataset without a name.

    Of an entry of a job, the columns do not count, because a job has none.
    """
    kind, namespace, name = (stated.get(key) for key in ("type", "namespace", "name"))
    is_named = is_name(namespace) and is_name(name)
    if kind == "DATASET" and is_named:
        return _parse(stated, DatasetId(str(namespace), str(name)), is_job=False)
    if kind == "JOB":
        target = JobRef(str(namespace), str(name)) if is_named else None
        return replace(_parse(stated, target, is_job=True), columns=_NO_COLUMNS)
    return None


def _parse(stated: Json, target: DatasetId | JobRef | None, *, is_job: bool) -> Entry:
    """Return the entry of a target, with the sources that it and its fields name.

    `stated` has `inputs`, the sources of the whole target, and `fields` with `inputs` of columns.
    An input has a type (DATASET or JOB), a namespace, a name, and maybe a field and
    transformations.
    """
    fields = stated.get("fields")
    by_field = {
        str(field): objects(value.get("inputs"))
        for field, value in (fields.items() if isinstance(fields, dict) else ())
        if isinstance(value, dict)
    }
    inputs = objects(stated.get("inputs"))
    links = [link for item in inputs for link in _links(EVERY_ROW, item)]
    for field, items in by_field.items():
        links += (link for item in items for link in _links(field, item))
    every = [*inputs, *(item for items in by_field.values() for item in items)]
    named = [item for item in every if is_name(item.get("namespace")) and is_name(item.get("name"))]
    return Entry(
        target,
        is_job,
        frozenset(
            DatasetId(item["namespace"], item["name"])
            for item in named
            if item.get("type") == "DATASET"
        ),
        frozenset(
            JobRef(item["namespace"], item["name"]) for item in named if item.get("type") == "JOB"
        ),
        ColumnLineage(
            {field: _own_transformation(items) for field, items in by_field.items()}, tuple(links)
        ),
    )


def _links(target: str, item: Json) -> Iterator[ColumnLink]:
    """Yield the column link of one input, if it has one.

    An input of the whole target without a column is an edge between datasets only.
    """
    namespace, name, field = (item.get(key) for key in ("namespace", "name", "field"))
    if item.get("type") != "DATASET" or not (is_name(namespace) and is_name(name)):
        return
    if not is_name(field):
        if target == EVERY_ROW:
            return
        field = UNKNOWN_COLUMN
    kinds = transformations_of(item)
    yield ColumnLink(target, namespace, name, field, kinds, masks(kinds))


def _own_transformation(items: list[Json]) -> Legacy:
    """Return how the event's own job computes a column, from the inputs of this column.

    A job may state it with an input of type JOB without a name: one with a name is another job. The
    first such input counts; without any, the result is empty.
    """
    own_inputs = (
        item for item in items if item.get("type") == "JOB" and not is_name(item.get("name"))
    )
    kinds: Iterator[Transformation] = (
        kind for item in own_inputs for kind in transformations_of(item)
    )
    kind = next(kinds, None)
    return Legacy(kind.subtype or kind.type, kind.description) if kind else Legacy()


_NO_COLUMNS = ColumnLineage({}, ())
