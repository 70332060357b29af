"""The present generations: the effective ones, and all that their data comes from.

Each task has at least one, so they are collected once and then updated. An event replaces
generations of a few tasks. Only the flows into these, and into the generations that read or kept
what these wrote, are determined again. A generation is removed when no path of flows leads from it
to an effective one.

Where events state which input feeds which output, only some outputs of a generation may be needed,
and only the flows into these count. The needed parts of a generation are therefore tracked: the
names of the outputs, or WHOLE. Effective generations are the roots: they are needed as a whole.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from math import inf
from typing import NamedTuple

from headwater import deadline
from headwater.events import JobRef
from headwater.graph.generation import Flow, Generation, History, effective
from headwater.graph.times import Times
from headwater.identity import DatasetName

WHOLE = None


class _Part(NamedTuple):
    """An output of a generation, or all of it (WHOLE)."""

    generation: Generation
    output: DatasetName | None

    def is_fed_by(self, flow: Flow) -> bool:
        """Return True if a flow into the generation feeds this part."""
        if self.output is WHOLE:
            return True
        if flow.is_kept:
            return flow.dataset == self.output
        return flow.dataset in self.generation.edges.sources_of(self.output)


def _origin(flow: Flow) -> _Part:
    """Return the part of the source that a flow comes from."""
    return _Part(flow.source, WHOLE if flow.source.edges.is_cross_product else flow.dataset)


_OrderedSet = dict[Generation, None]
"""A set in the order of insertion."""


class Present:
    """The present generations, with the flows between them."""

    def __init__(self, flows_into: Callable[[Generation], list[Flow]], times: Times) -> None:
        self._flows_into, self._times = flows_into, times
        self._histories: dict[JobRef, History] = {}
        self._roots: set[Generation] = set()
        self._outputs: dict[Generation, frozenset[DatasetName | None]] = {}
        self._flows: dict[Generation, list[Flow]] = {}
        self._consumers: dict[Generation, _OrderedSet] = defaultdict(dict)
        self._using: dict[DatasetName, _OrderedSet] = defaultdict(dict)
        self._of: dict[JobRef, _OrderedSet] = defaultdict(dict)

    def __iter__(self) -> Iterator[Generation]:
        """Yield every present generation."""
        yield from self._flows

    def of(self, ref: JobRef) -> Iterable[Generation]:
        """Return the present generations of a task."""
        return self._of.get(ref, ())

    def using(self, name: DatasetName) -> Iterable[Generation]:
        """Return the present generations that read a dataset, or kept rows of it."""
        return self._using.get(name, ())

    def is_used(self, name: DatasetName) -> bool:
        """Return True if a task derived another dataset from this one."""
        return any(name in g.edges.reads and g.edges.writes - {name} for g in self.using(name))

    def flows_from(self, generation: Generation) -> Iterator[tuple[Generation, Flow]]:
        """Yield the flows from a generation, each with the present generation that consumes it."""
        for consumer in self._consumers.get(generation, ()):
            yield from (
                (consumer, flow) for flow in self._flows[consumer] if flow.source is generation
            )

    def update(self, histories: Mapping[JobRef, History]) -> None:
        """Replace the generations of some tasks."""
        changes = _Changes(self._times)
        for ref, history in histories.items():
            changes.add(self._histories.get(ref) or History([]), history)
            self._histories[ref] = history
        self._roots = (self._roots - changes.former_roots) | changes.new_roots.keys()
        gone = [generation for generation in changes.removed if generation in self._flows]
        stale = {
            reader: None
            for name, since in changes.since.items()
            for reader in self.using(name)
            if reader.ended >= since or changes.may_prove(reader, name)
        }
        former = [generation for generation in changes.former_roots if generation in self._flows]
        candidates = [part for generation in former for part in self._parts(generation)]
        for generation in {**dict.fromkeys(gone), **stale}:
            for part in self._parts(generation):
                candidates += self._sources(part)
            self._unlink(generation)
        for generation in gone:
            stale.pop(generation, None)
            self._remove(generation)
        new = [_Part(generation, WHOLE) for generation in changes.new_roots]
        for generation in stale:
            self._link(generation)
            for part in self._parts(generation):
                new += self._sources(part)
        while new:
            deadline.check()
            part = new.pop()
            if part.output not in self._outputs.get(part.generation, ()):
                self._insert(part)
                new += self._sources(part)
        self._sweep(candidates)

    def _parts(self, generation: Generation) -> Iterator[_Part]:
        """Yield the needed parts of a present generation."""
        yield from (_Part(generation, output) for output in self._outputs[generation])

    def _sources(self, part: _Part) -> Iterator[_Part]:
        """Yield the parts of other generations that feed a part."""
        for flow in self._flows[part.generation]:
            if part.is_fed_by(flow):
                yield _origin(flow)

    def _consuming(self, part: _Part) -> Iterator[_Part]:
        """Yield the needed parts that a part feeds."""
        for consumer, flow in self.flows_from(part.generation):
            if part == _origin(flow):
                yield from (other for other in self._parts(consumer) if other.is_fed_by(flow))

    def _insert(self, part: _Part) -> None:
        generation = part.generation
        if generation not in self._flows:
            self._of[generation.job][generation] = None
            for name in generation.edges.reads | generation.kept:
                self._using[name][generation] = None
            self._link(generation)
        outputs = self._outputs.get(generation, frozenset())
        self._outputs[generation] = outputs | {part.output}

    def _link(self, generation: Generation) -> None:
        """Determine and add the flows into a generation."""
        flows = self._flows[generation] = self._flows_into(generation)
        for flow in flows:
            self._consumers[flow.source][generation] = None

    def _unlink(self, generation: Generation) -> None:
        """Remove the flows into a generation."""
        for flow in self._flows[generation]:
            consumers = self._consumers[flow.source]
            consumers.pop(generation, None)
            if not consumers:
                del self._consumers[flow.source]
        self._flows[generation] = []

    def _remove(self, generation: Generation) -> None:
        del self._flows[generation], self._outputs[generation], self._of[generation.job][generation]
        for name in generation.edges.reads | generation.kept:
            del self._using[name][generation]

    def _sweep(self, suspects: Iterable[_Part]) -> None:
        """Remove those of some parts, and of all parts upstream, that no longer feed a root."""
        candidates: dict[_Part, None] = {}
        open_ = list(suspects)
        while open_:
            part = open_.pop()
            is_needed = part.output in self._outputs.get(part.generation, ())
            if is_needed and part.generation not in self._roots and part not in candidates:
                candidates[part] = None
                open_ += self._sources(part)
        fed = [p for p in candidates if any(c not in candidates for c in self._consuming(p))]
        while fed:
            part = fed.pop()
            if part in candidates:
                del candidates[part]
                fed += self._sources(part)
        for part in candidates:
            self._outputs[part.generation] -= {part.output}
        unneeded = {part.generation for part in candidates if not self._outputs[part.generation]}
        for generation in unneeded:
            self._unlink(generation)
        for generation in unneeded:
            self._remove(generation)


class _Changes:
    """The differences between the old and new generations of some tasks."""

    def __init__(self, times: Times) -> None:
        self._times = times
        self._versions: dict[DatasetName, set[str]] = {}
        """The versions that changed generations wrote, by dataset; computed on request."""
        self._changed: dict[Generation, None] = {}
        self.removed: list[Generation] = []
        self.new_roots: _OrderedSet = {}
        self.former_roots: set[Generation] = set()
        self.since: dict[DatasetName, float] = {}
        """The start (microseconds) of the first reader with possibly changed flows, by dataset."""

    def add(self, before: History, after: History) -> None:
        """Add the differences of one task."""
        was, now = set(before.oldest_first), set(after.oldest_first)
        self.removed += was - now
        was_root, is_root = (dict.fromkeys(effective(h.oldest_first)) for h in (before, after))
        self.former_roots |= was_root.keys() - is_root.keys()
        self.new_roots |= {root: None for root in is_root if root not in was_root}
        for changed in was ^ now:
            for name in changed.edges.writes | changed.changed:
                self.since[name] = min(changed.started, self.since.get(name, inf))
            self._changed[changed] = None

    def may_prove(self, reader: Generation, name: DatasetName) -> bool:
        """Return True if a reader reported a version that a changed generation wrote."""
        if name not in self._versions:
            changed = (g for g in self._changed if name in g.edges.writes)
            self._versions[name] = set(self._times.by_version(changed, name))
        written = self._versions[name]
        return bool(written) and not written.isdisjoint(self._times.versions_read(reader, name))
