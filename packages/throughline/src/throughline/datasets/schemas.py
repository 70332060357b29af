"""Schema drift: every change of a dataset's schema, and the run that reported it."""

from __future__ import annotations

from typing import Any, NamedTuple

from throughline import deadline
from throughline.datasets.models import SchemaChange
from throughline.events import shown_time
from throughline.graph.nodes import Fields, dataset_ref, fields_of, name_of, text_or_none
from throughline.identity import DatasetName
from throughline.projection import Run, Stamp, State, Use, unpack
from throughline.query.models import Field


class ReportedSchema(NamedTuple):
    """A schema that an event reported, with or without a run."""

    stamp: Stamp
    facet: dict[str, Any]
    run: Run | None

    @property
    def producer(self) -> str:
        """Return the producer of the schema; producers name types differently."""
        return str(self.facet.get("_producer"))


def drift(state: State, name: DatasetName) -> list[SchemaChange]:
    """Return every change of the schema of a dataset, oldest first.

    Schemas reported by its writers are compared; if it has none, those of its readers. Types and
    nested fields are compared between schemas of one producer only.
    """
    found = []
    last: ReportedSchema | None = None
    of_producer: dict[str, ReportedSchema] = {}
    deadline.check()
    for current in sorted(_reported_schemas(state, name), key=lambda schema: schema.stamp):
        if last and (change := _change(name, last, of_producer.get(current.producer), current)):
            found.append(change)
        last = of_producer[current.producer] = current
    return found


def _reported_schemas(state: State, name: DatasetName) -> list[ReportedSchema]:
    found, written, read = [], [], []
    for alias in state.identity.names(name):
        record = state.datasets.get(alias)
        if record is None:
            continue
        without_run = (
            (stamp, facets.get("schema"))
            for stamp, facets in (record.facets_without_run or {}).items()
        )
        found += [ReportedSchema(stamp, schema, None) for stamp, schema in without_run if schema]
        written += _reported_by(
            [(state.runs[key], state.runs[key].outputs) for key in record.writers], alias
        )
        read += _reported_by(
            [(state.runs[key], state.runs[key].inputs) for key in record.readers], alias
        )
    return found + (written or read)


def _reported_by(
    uses: list[tuple[Run, dict[DatasetName, Use]]], name: DatasetName
) -> list[ReportedSchema]:
    schemas = ((run, side[name].dataset_facets.stamped().get("schema")) for run, side in uses)
    return [ReportedSchema(schema[0], unpack(schema[1]), run) for run, schema in schemas if schema]


def _change(
    name: DatasetName, last: ReportedSchema, same: ReportedSchema | None, current: ReportedSchema
) -> SchemaChange | None:
    """Return what differs from the last schema and from the last one of the same producer."""
    old, new = fields_of(last.facet), fields_of(current.facet)
    if last.producer != current.producer:
        old, new = _top(old), _top(new)
    before = fields_of(same.facet) if same else {}
    added, removed = sorted(new.keys() - old.keys()), sorted(old.keys() - new.keys())
    changed = [path for path in sorted(new.keys() & before.keys()) if before[path] != new[path]]
    if not (added or removed or changed):
        return None
    key = current.run.key if current.run else None
    return {
        **dataset_ref(name),
        "at": str(shown_time(current.stamp.time)),
        "runId": key.run_id if key else None,
        "job": name_of(key.job) if key else None,
        "producer": text_or_none(current.facet.get("_producer")),
        "added": [_field(path, new[path]) for path in added],
        "removed": [_field(path, old[path]) for path in removed],
        "changed": [
            {"name": ".".join(path), "from": before[path], "to": new[path]} for path in changed
        ],
    }


def _top(fields: Fields) -> Fields:
    return {path: type_ for path, type_ in fields.items() if len(path) == 1}


def _field(path: tuple[str, ...], type_: str) -> Field:
    return {"name": ".".join(path), "type": type_}
