"""Schema drift: every change of a dataset's schema, and the run that reported it.

A *stamp* is (event time, event hash), by which schemas are ordered. A *record* has what was
reported about a dataset under one of its names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from headwater import deadline
from headwater.datasets.models import SchemaChange
from headwater.events import shown_time
from headwater.events.facets import Schema
from headwater.graph.nodes import dataset_ref, name_of
from headwater.identity import DatasetName
from headwater.projection import Run, Stamp, State, Use
from headwater.projection.derived import records_of


class ReportedSchema(NamedTuple):
    """A schema that an event reported, with or without a run."""

    stamp: Stamp
    schema: Schema
    run: Run | None


class Compared(NamedTuple):
    """A reported schema, the earlier ones that it is compared with, and the difference, if any.

    `last` is the schema before it, of any producer. Both are None for the first schema.
    """

    current: ReportedSchema
    last: ReportedSchema | None
    same: ReportedSchema | None
    """The last earlier schema of the same producer."""
    change: SchemaChange | None


def drift(state: State, name: DatasetName) -> list[SchemaChange]:
    """Return every change of the schema of a dataset, oldest first.

    Schemas reported by its writers are compared; if it has none, those of its readers. Types and
    nested fields are compared between schemas of one producer only.
    """
    found = compared(name, reported_schemas(state, name))
    return [item.change for item in found if item.change]


def compared(name: DatasetName, reported: Iterable[ReportedSchema]) -> Iterator[Compared]:
    """Yield the comparison of each schema with earlier ones; `reported` is oldest first.

    Each schema is compared with the one before it, and with the one before it of the same producer.
    """
    last: ReportedSchema | None = None
    of_producer: dict[str | None, ReportedSchema] = {}
    deadline.check()
    for current in reported:
        same = of_producer.get(current.schema.producer)
        change = _change(name, last.schema, same and same.schema, current) if last else None
        yield Compared(current, last, same, change)
        last = of_producer[current.schema.producer] = current


def reported_schemas(state: State, name: DatasetName) -> list[ReportedSchema]:
    """Return the schemas that are compared, oldest first.

    These are the schemas of the writers and of events without a run, or those of the readers
    instead of the writers if no writer reported one. Readers often report only the columns that
    they use.
    """
    found, written, read = [], [], []
    for record in records_of(state, name):
        found += [
            ReportedSchema(stamp, Schema.parse(facet), None)
            for stamp, facets in (record.facets_without_run or {}).items()
            if (facet := facets.get(Schema.KEY))
        ]
        writers, readers = (
            [state.runs[key] for key in keys] for keys in (record.writers, record.readers)
        )
        written += _reported_by((run, run.outputs[record.name]) for run in writers)
        read += _reported_by((run, run.inputs[record.name]) for run in readers)
    return sorted(found + (written or read), key=lambda reported: reported.stamp)


def _reported_by(uses: Iterable[tuple[Run, Use]]) -> list[ReportedSchema]:
    """Return the schemas that runs reported of a dataset; `uses` are theirs of it."""
    return [
        ReportedSchema(stamp, use.dataset_facets.parsed(Schema), run)
        for run, use in uses
        if (stamp := use.dataset_facets.stamp_of(Schema.KEY))
    ]


def _change(
    name: DatasetName, last: Schema, same: Schema | None, current: ReportedSchema
) -> SchemaChange | None:
    """Return the differences from the last schema, and from the last one of the same producer.

    `last` is the schema before, and `same` the one before of the same producer, None without one.
    Columns are compared with `last`; types only with `same`, because producers name types
    differently. Return None if nothing changed.
    """
    schema = current.schema
    if schema is last:  # parsed once for equal facets
        return None
    is_same = last.producer == schema.producer
    old, new = _types(last, has_nested=is_same), _types(schema, has_nested=is_same)
    before = _types(same) if same else {}
    added, removed = sorted(new.keys() - old.keys()), sorted(old.keys() - new.keys())
    changed = [field for field in sorted(new.keys() & before.keys()) if before[field] != new[field]]
    if not (added or removed or changed):
        return None
    key = current.run.key if current.run else None
    return {
        **dataset_ref(name),
        "at": str(shown_time(current.stamp.time)),
        "runId": key.run_id if key else None,
        "job": name_of(key.job) if key else None,
        "producer": schema.producer,
        "added": [{"name": field, "type": new[field]} for field in added],
        "removed": [{"name": field, "type": old[field]} for field in removed],
        "changed": [{"name": field, "from": before[field], "to": new[field]} for field in changed],
    }


def _types(schema: Schema, *, has_nested: bool = True) -> dict[str, str]:
    """Return the type of each field; nested ones, such as `address.city`, if `has_nested`."""
    fields = schema.fields.items()
    return {name: field.type for name, field in fields if has_nested or not field.is_nested}
