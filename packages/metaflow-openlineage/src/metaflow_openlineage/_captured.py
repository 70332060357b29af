"""The reads and writes of libraries in a step, as datasets of the step.

A dataset is *consumed* if only queries that wrote tables read it. The sources of an output are None
if they are unknown.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from headwater_client.capture import Capture, Captured

from ._dataset import Dataset
from ._names import PRODUCER
from ._stated import Name, name_of


@dataclass
class Lineage:
    """The inputs and outputs of a step; `consumed` are inputs of queries that have outputs."""

    inputs: list[Dataset]
    outputs: list[Dataset]
    consumed: list[Dataset] = field(default_factory=list)
    has_captured: bool = False

    def marked(self) -> list[Dataset]:
        """Return the outputs; those with unknown sources get a facet that says so."""
        from headwater_client._captured_run import coarse_facet

        return [
            replace(item, facets={**item.facets, **coarse_facet(PRODUCER)})
            if self.has_captured and item.sources is None and (self.inputs or self.consumed)
            else item
            for item in self.outputs
        ]


def with_captured(capture: Capture, tables: Mapping[Name, Dataset], declared: Lineage) -> Lineage:
    """Return the lineage of a step with what its libraries read and wrote.

    A helper's declaration of a dataset takes precedence: nothing is added to it. `tables` are the
    declared tables by their locations, under which PyIceberg's reads and writes are captured. A
    source that was only written in the step is replaced by its own sources.
    """
    names = {name_of(item) for item in (*declared.inputs, *declared.outputs, *declared.consumed)}
    names.update(location for location, item in tables.items() if name_of(item) in names)
    reads, consumed, writes = (
        [_dataset(item) for item in side if item.key not in names]
        for side in (capture.reads, capture.consumed, capture.writes)
    )
    inputs, all_consumed = [*declared.inputs, *reads], [*declared.consumed, *consumed]
    known = {name_of(item) for item in (*inputs, *all_consumed)}
    renamed = {location: name_of(item) for location, item in tables.items()}

    def resolved(item: Dataset) -> Dataset:
        if item.sources is None:
            return item
        origins = tuple(renamed.get(name_of(i), name_of(i)) for i in item.sources)
        sources = capture.sources_of(Captured(*name_of(item), sources=origins), known)
        return replace(item, sources=None if sources is None else datasets_of(sources))

    declared_outputs = {id(item) for item in declared.outputs if not _is_artifact(item)}
    outputs = [
        item if id(item) in declared_outputs else resolved(item)
        for item in (*declared.outputs, *writes)
    ]
    return Lineage(inputs, outputs, all_consumed, bool(reads or consumed or writes))


def _is_artifact(item: Dataset) -> bool:
    return item.namespace.startswith("metaflow://")


def captured_queries(
    capture: Capture,
) -> Iterator[tuple[str, dict[str, Any], list[Dataset], list[Dataset]]]:
    """Yield the SQL texts that libraries ran: name, facets of the job, inputs and outputs."""
    from headwater_client._captured_run import text_facets

    for query in capture.queries:
        name = f"query_{hashlib.sha256(query.sql.encode()).hexdigest()[:8]}"
        inputs, outputs = (
            [_dataset(item) for item in side] for side in (query.inputs, query.targets)
        )
        yield name, dict(text_facets(query)), inputs, outputs


def datasets_of(names: Iterable[Name]) -> tuple[Dataset, ...]:
    """Return the datasets without facets."""
    return tuple(Dataset(*name) for name in names)


def _dataset(item: Captured) -> Dataset:
    sources = None if item.sources is None else datasets_of(item.sources)
    return Dataset(*item.key, version=item.version, fields=item.fields, sources=sources)
