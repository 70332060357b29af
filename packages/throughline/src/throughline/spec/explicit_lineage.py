"""Explicit lineage: the `lineage` facet of a job or a dataset, parsed once into typed entries.

An event with the facet states its edges; inputs × outputs is then not inferred (OpenLineage,
proposals/explicit_lineage_facet: LineageJobFacet and LineageDatasetFacet, experimental). Each entry
names one target and what feeds into it. Parts of an unexpected shape are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from throughline.spec.column_lineage import (
    EVERY_ROW,
    UNKNOWN_COLUMN,
    ColumnLineage,
    ColumnLink,
    Legacy,
    Transformation,
    is_name,
    objects,
    transformations_of,
)
from throughline.spec.event import Dataset, JobRef

__all__ = ["DatasetId", "Entry", "parse_derivation", "parse_entries", "with_stated"]


class DatasetId(NamedTuple):
    """A dataset as a facet names it."""

    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One target with its sources; without a target, it is the event's own job."""

    target: DatasetId | JobRef | None
    is_job: bool
    datasets: frozenset[DatasetId]
    """The source datasets, also those of single columns."""
    jobs: frozenset[JobRef]
    """The source jobs other than the event's own job."""
    columns: ColumnLineage


def parse_entries(facet: dict[str, Any]) -> tuple[Entry, ...]:
    """Parse the facet of a job."""
    return tuple(
        entry for stated in objects(facet.get("entries")) if (entry := _entry(stated)) is not None
    )


def parse_derivation(facet: dict[str, Any], target: DatasetId) -> Entry:
    """Parse the facet of a dataset, such as a view, that is derived without a job."""
    return _parse(facet, target, is_job=False)


def with_stated(
    facet: dict[str, Any], inputs: tuple[Dataset, ...], outputs: tuple[Dataset, ...]
) -> tuple[tuple[Dataset, ...], tuple[Dataset, ...]]:
    """Return the inputs and outputs of an event, completed with the datasets its facet names.

    Producers must list them anyway; one that only another job reads is no input of this one.
    """
    entries = parse_entries(facet)
    own = [entry for entry in entries if not entry.is_job or entry.target is None]
    sources = (source for entry in own for source in sorted(entry.datasets))
    targets = (entry.target for entry in entries if isinstance(entry.target, DatasetId))
    return _completed(inputs, sources), _completed(outputs, targets)


def _completed(listed: tuple[Dataset, ...], named: Iterable[DatasetId]) -> tuple[Dataset, ...]:
    known = {(item.namespace, item.name) for item in listed}
    return (*listed, *(Dataset(*each) for each in dict.fromkeys(named) if each not in known))


def _entry(stated: dict[str, Any]) -> Entry | None:
    kind, namespace, name = (stated.get(key) for key in ("type", "namespace", "name"))
    is_named = is_name(namespace) and is_name(name)
    if kind == "DATASET" and is_named:
        return _parse(stated, DatasetId(str(namespace), str(name)), is_job=False)
    if kind == "JOB":
        target = JobRef(str(namespace), str(name)) if is_named else None
        return replace(_parse(stated, target, is_job=True), columns=_NO_COLUMNS)
    return None


def _parse(stated: dict[str, Any], target: DatasetId | JobRef | None, *, is_job: bool) -> Entry:
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
            {field: _made_by_job(items) for field, items in by_field.items()}, tuple(links)
        ),
    )


def _links(target: str, item: dict[str, Any]) -> Iterator[ColumnLink]:
    """Yield the column link of one input, if it has any.

    An input of the whole target that names no column is an edge between datasets only.
    """
    namespace, name, field = (item.get(key) for key in ("namespace", "name", "field"))
    if item.get("type") != "DATASET" or not (is_name(namespace) and is_name(name)):
        return
    if not is_name(field):
        if target == EVERY_ROW:
            return
        field = UNKNOWN_COLUMN
    kinds = transformations_of(item)
    direct = [kind for kind in kinds if kind.is_direct]
    is_masked = bool(direct) and all(kind.is_masking for kind in direct)
    yield ColumnLink(target, str(namespace), str(name), str(field), kinds, is_masked)


def _made_by_job(items: list[dict[str, Any]]) -> Legacy:
    """Return how the event's own job computes a column, if an input without identity says so."""
    own = (item for item in items if item.get("type") == "JOB" and not is_name(item.get("name")))
    kinds: Iterator[Transformation] = (kind for item in own for kind in transformations_of(item))
    kind = next(kinds, None)
    return Legacy(kind.subtype or kind.type, kind.description) if kind else Legacy()


_NO_COLUMNS = ColumnLineage({}, ())
