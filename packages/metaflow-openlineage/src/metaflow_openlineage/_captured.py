"""The reads and writes of libraries in a step, as datasets of the step.

A dataset is *consumed* if only queries that wrote tables read it. The sources of an output are None
if they are unknown.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, NamedTuple

from headwater_client.capture import Capture, Captured

from ._dataset import Dataset
from ._names import PRODUCER
from ._stated import Name, name_of


@dataclass
class Lineage:
    """The inputs and outputs of a step.

    `consumed` are inputs of queries that have outputs. `guessed` are the names of outputs of which
    only possible sources are known. `read_back` are the names of outputs that the step read after
    it wrote them, `own_rows` those of them of which it wrote all rows.
    """

    inputs: list[Dataset]
    outputs: list[Dataset]
    consumed: list[Dataset] = field(default_factory=list)
    has_captured: bool = False
    guessed: frozenset[Name] = frozenset()
    read_back: tuple[Name, ...] = ()
    own_rows: frozenset[Name] = frozenset()

    @property
    def filled(self) -> list[Dataset]:
        """Return the outputs without those that were only dropped or emptied."""
        return [
            item
            for item in self.outputs
            if item.sources != () or "lifecycleStateChange" not in item.facets
        ]

    def marked(self) -> list[Dataset]:
        """Return the outputs; those with unknown sources or own rows get facets that state this.

        Sources are unknown if a library wrote the data and its origin was lost; the server then
        takes all inputs of the step as possible sources, and the outputs that it read back. A step
        with neither needs no facet.
        """
        from headwater_client._captured_run import coarse_facet, read_back_facet

        is_guess = self.has_captured and bool(self.inputs or self.consumed or self.read_back)
        marked = []
        for item in self.outputs:
            facets = dict(item.facets)
            if is_guess and (item.sources is None or name_of(item) in self.guessed):
                facets |= coarse_facet(PRODUCER)
            if name_of(item) in self.own_rows:
                facets |= read_back_facet(PRODUCER)
            marked.append(replace(item, facets=facets))
        return marked


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
    known = {name_of(item): None for item in (*inputs, *all_consumed)}
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
    written = {name_of(item) for item in writes}
    filled = {item.key for item in capture.writes if item.has_rows or item.former}
    inner = (written & filled).difference(known)
    read_back = tuple(name for name in capture.read_back if name in inner)
    guessed: set[Name] = set()
    for place, item in enumerate(outputs):
        if (name := name_of(item)) in written and item.sources is None:
            others = [other for other in read_back if other != name]
            before = capture.read_before(Captured(*name), [*map(name_of, inputs), *others])
            outputs[place] = replace(item, sources=datasets_of(before))
            is_guess = capture.read_before(Captured(*name), [*known, *others])
            guessed |= {name} if is_guess else set()
    has_captured = bool(reads or consumed or writes)
    own_rows = frozenset(filter(capture.has_own_rows, read_back))
    about = has_captured, frozenset(guessed), read_back, own_rows
    return Lineage(inputs, outputs, all_consumed, *about)


def _is_artifact(item: Dataset) -> bool:
    return item.namespace.startswith("metaflow://")


class QueryRun(NamedTuple):
    """A SQL text that a library ran."""

    name: str
    facets: dict[str, Any]
    """The facets of its job."""
    inputs: list[Dataset]
    outputs: list[Dataset]
    start: datetime
    end: datetime | None
    """The end; None if the query was only built, so that it may run at any time."""


def captured_queries(capture: Capture) -> Iterator[QueryRun]:
    """Yield the SQL texts that libraries ran, named by their hash, such as `query_1a2b3c4d`."""
    from headwater_client._captured_run import text_facets

    for query in capture.queries:
        name = f"query_{hashlib.sha256(query.sql.encode()).hexdigest()[:8]}"
        inputs, outputs = (
            [_dataset(item) for item in side] for side in (query.inputs, query.targets)
        )
        facets = dict(text_facets(query))
        yield QueryRun(name, facets, inputs, outputs, query.at, query.ended)


def datasets_of(names: Iterable[Name]) -> tuple[Dataset, ...]:
    """Return the datasets without facets."""
    return tuple(Dataset(*name) for name in names)


def _dataset(item: Captured) -> Dataset:
    from headwater_client._captured_run import change_facet

    sources = (item.former,) if item.former else item.sources
    return Dataset(
        *item.key,
        version=item.version,
        fields=item.fields,
        facets=change_facet(item, PRODUCER),
        sources=None if sources is None else datasets_of(sources),
    )
