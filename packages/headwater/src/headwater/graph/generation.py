"""Generations of one task, the data flows between them, and which of them are effective.

A *partition* is a part of a table that a run wrote as a whole, such as the rows of one file; a
*slice* is a copy of a generation with some of its partitions (graph/slices.py). A *view* is filled
when it is read: its generation is copied for each time at which a reader queries it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from typing import Any, NamedTuple

from headwater.events import JobRef
from headwater.events.facets import OutputStatistics
from headwater.graph.kept_rows import Parts, surviving
from headwater.graph.run_edges import Edges
from headwater.identity import DatasetName
from headwater.projection import Run, RunKey


class Span(NamedTuple):
    """A time span, in microseconds; the end of a streaming run without an end is infinite."""

    start: float
    end: float


@dataclass(frozen=True, slots=True, eq=False)
class Generation:
    """The runs of a task under one parent run, or a run without a parent, with all runs below.

    Without runs, it is the declaration of a JobEvent or a *derivation*: the placeholder for the
    missing job that derives a dataset from others. Generations are compared by identity.
    """

    job: JobRef
    order: tuple[int, RunKey | None]
    """The start, in microseconds, and the least key of the runs."""
    is_complete: bool
    """True if finished: all of its runs of the task ended, and at least one completed."""
    edges: Edges
    kept: frozenset[DatasetName]
    """The outputs that also keep unknown rows of earlier generations."""
    runs: tuple[Run, ...]
    """The runs that read or wrote data."""
    partial: frozenset[DatasetName] = frozenset()
    """The outputs that also keep all earlier rows but those of the partitions in `parts`."""
    parts: Mapping[DatasetName, Parts] = field(default_factory=dict)
    """The partitions that it wrote, of outputs for which all are known."""
    ended: float = inf
    """The end of the last run, or its last event, in microseconds; infinite for a streaming run."""
    only_created: frozenset[DatasetName] = frozenset()
    """The outputs that its runs created or altered without rows; one may have existed before."""
    changed: frozenset[DatasetName] = frozenset()
    """The datasets that its runs dropped, emptied or renamed."""
    views: frozenset[DatasetName] = frozenset()
    """The outputs that its runs created as views."""
    renamed: Mapping[DatasetName, DatasetName] = field(default_factory=dict)
    """The outputs that were only renamed, with the former name; these may be views."""
    spans: dict[tuple[str, DatasetName], Span] = field(default_factory=dict)
    """Cached times at which its runs read or wrote a dataset; see headwater.graph.times."""
    queries: dict[tuple[Span, DatasetName | None], Generation] = field(default_factory=dict)
    """Copies of this generation at the times of queries of its views; see `queried`."""
    query: Span = Span(inf, inf)
    """The time at which the rows of renamed views are read."""
    split: list[Generation] = field(default_factory=list)
    """Copies of this generation by the sources of its partitions; see `graph.slices`."""
    is_slice: bool = False
    """True for such a copy."""
    partitions_read: Mapping[DatasetName, Parts] = field(default_factory=dict)
    """The only partitions of inputs that such a copy depends on, where they are stated."""
    copy_of: Generation | None = None
    """Of a copy in `queries` or `split`, the generation that was copied."""

    @property
    def started(self) -> int:
        """Return the start of the first run, in microseconds; 0 without runs."""
        return self.order[0]

    @property
    def is_view(self) -> bool:
        """Return True if it only created views, whose rows are read when they are queried.

        One that also reads what it wrote is none: it needed the rows at once.
        """
        writes = self.edges.writes
        return bool(self.views) and writes <= self.views and writes.isdisjoint(self.edges.reads)

    @property
    def queried_outputs(self) -> Set[DatasetName]:
        """Return the outputs whose rows may be read when they are queried."""
        return self.views | self.renamed.keys()

    @property
    def current_views(self) -> list[Generation]:
        """Return copies that read the present inputs of its views, if it also wrote tables.

        An infinite time is now. One that only wrote views needs no copy: it always reads the
        present.
        """
        outputs = () if self.is_view else sorted(self.views)
        return [self.queried(name, Span(inf, inf), lambda: self.edges) for name in outputs]

    @property
    def query_copies(self) -> list[Generation]:
        """Return the copies in `queries`, and those of `current_views`."""
        return list(dict.fromkeys((*self.current_views, *self.queries.values())))

    @property
    def original(self) -> Generation:
        """Return the generation of which this is a copy; otherwise itself."""
        return self.copy_of or self

    @property
    def slices(self) -> Sequence[Generation]:
        """Return its copies by the sources of its partitions; itself if it was not split."""
        return self.split or (self,)

    @property
    def writer(self) -> Generation:
        """Return the generation that a copy for queries of views was made from; or the slice."""
        return self if self.is_slice else self.original

    @property
    def is_limited(self) -> bool:
        """Return True for a copy that has only some of the edges."""
        return self.edges is not self.original.edges

    def left_rows(self, name: DatasetName) -> bool:
        """Return True if rows that it wrote to a dataset may be kept by later ones.

        It did not only create the dataset. A failed one without a version or rows left none.
        """
        if name in self.only_created:
            return False
        uses = (use for run in self.runs for use in run.outputs.values())
        return self.is_complete or any(
            use.versions or use.io_facets.parsed(OutputStatistics).rowCount for use in uses
        )

    def writing(self, name: DatasetName, replaced: Iterable[str]) -> list[Generation]:
        """Return the slices that wrote a dataset, without those of replaced partitions."""
        return [
            slice_
            for slice_ in self.slices
            if name in slice_.edges.writes
            if name not in slice_.parts or not slice_.parts[name].issubset(replaced)
        ]

    def queried(self, output: DatasetName, span: Span, edges: Callable[[], Edges]) -> Generation:
        """Return a copy that reads its inputs at the time of a query; itself if it is no view.

        `output` is the queried view, or a renamed dataset that may be one; `span` is the time of
        the query. `edges` returns its edges at that time. If it also wrote tables, the copy has
        only the view. Copies are kept in `queries`, so that equal queries share one.
        """
        is_whole = self.is_view or output in self.renamed
        if output not in self.queried_outputs or (is_whole and span.start == inf):
            return self  # no view; or queried now, as the original is
        key = span, None if is_whole else output
        found = self.queries.get(key)
        if found is None:
            own = edges() if is_whole else Edges(self.edges.sources_of(output) - {output}, {output})
            # A rename reads its source when it happens; a view reads when it is queried.
            spans = (
                self.spans if output in self.renamed else {("reads", n): span for n in own.reads}
            )
            found = self.queries[key] = replace(
                self, edges=own, spans=spans, queries={}, copy_of=self.original, query=span
            )
        return found


class Flow(NamedTuple):
    """Data that one generation, the consumer, gets from another through a dataset."""

    source: Generation
    """The generation that wrote the dataset."""
    dataset: DatasetName
    is_kept: bool
    """True if the consumer kept rows of the dataset; False if it read the dataset."""
    until: float
    """Data that was written later is not part of it; in microseconds."""
    is_proven: bool
    """True if reported versions prove the flow, whatever the clocks say."""


@dataclass(eq=False)
class History:
    """The generations of one task; replaced when one of them changes."""

    oldest_first: list[Generation]
    derived: dict[str, Any] = field(default_factory=dict)
    """Cached values that were computed from the generations, by name."""

    @cached_property
    def by_output(self) -> dict[DatasetName, list[Generation]]:
        """The generations that wrote each dataset, by its primary name, oldest first."""
        found: dict[DatasetName, list[Generation]] = defaultdict(list)
        for generation in self.oldest_first:
            for name in generation.edges.writes:
                found[name].append(generation)
        return dict(found)


def declared_generation(
    ref: JobRef, edges: Edges, views: frozenset[DatasetName] = frozenset()
) -> Generation:
    """Return a generation without runs; it applies until the job has runs with data."""
    return Generation(ref, (0, None), True, edges, frozenset(), (), views=views)


def renaming_generation(
    ref: JobRef, name: DatasetName, former: DatasetName, time: int
) -> Generation:
    """Return the generation of a rename that a DatasetEvent reported.

    It reads the former name and writes the new one, at `time` in microseconds.
    """
    span = Span(time, time)
    return Generation(
        ref,
        (time, None),
        True,
        Edges({former}, {name}),
        frozenset(),
        (),
        ended=time,
        changed=frozenset({name, former}),
        renamed={name: former},
        spans={("reads", former): span, ("writes", name): span},
    )


class EffectiveGenerations:
    """The effective generations of a task, updated one generation at a time, oldest first.

    They are the newest finished one (that wrote, if any did), the unfinished ones after it, and
    those with an output, or a partition of one, that no later finished one wrote. One job can write
    many datasets in separate runs (a flow that is started per service): its last run alone would
    leave the other datasets without an origin.
    """

    def __init__(self) -> None:
        self._count: Counter[Generation] = Counter()
        self._base: Generation | None = None  # the newest finished one
        self._newer: list[Generation] = []  # the unfinished ones after it
        # The outputs that no later one replaced, with their partitions that remain; None if unknown
        self._remaining: dict[Generation, dict[DatasetName, Parts | None]] = {}
        self._writers: dict[DatasetName, list[Generation]] = defaultdict(list)  # of these outputs
        self.entered: list[Generation] = []
        self.left: list[Generation] = []

    def take(self, generation: Generation) -> None:
        """Add the next generation; `entered` and `left` are those that became effective or not.

        Each generation is counted once as one of the latest (`_base`, `_newer`) and once as one
        with outputs that were not replaced (`_remaining`); it leaves when neither holds.
        """
        self.entered, self.left = [], []
        writes = generation.edges.writes
        self._retain(generation)
        if not generation.is_complete:
            self._newer.append(generation)
        elif writes or self._base is None or not self._base.edges.writes:
            for superseded in self.latest:
                self._release(superseded)
            self._base, self._newer = generation, []
        else:  # it found nothing to do
            self._release(generation)
        if generation.is_complete:
            self._settle(generation)
        if writes:
            self._retain(generation)
            self._remaining[generation] = {n: generation.parts.get(n) for n in writes}
            for name in writes:
                self._writers[name].append(generation)

    @property
    def latest(self) -> list[Generation]:
        """Return the newest finished generation and the unfinished ones after it."""
        return [*([self._base] if self._base else []), *self._newer]

    @property
    def unreplaced(self) -> list[Generation]:
        """Return the slices with an output that no later finished one wrote, newest first.

        If the output is partitioned, these are the slices with a partition that no later one wrote.
        """
        return [
            slice_
            for generation, left in reversed(self._remaining.items())
            for slice_ in generation.slices
            if any(
                parts is None or not parts.isdisjoint(slice_.parts[name])
                for name, parts in left.items()
                if name in slice_.edges.writes
            )
        ]

    def _settle(self, newest: Generation) -> None:
        """Remove what a finished generation replaced: the outputs of others, or partitions.

        `covered` are the only partitions that it replaced; None if it replaced the whole output. An
        output that it only created or altered replaces nothing.
        """
        for name in newest.edges.writes - newest.only_created:
            covered = newest.parts[name] if name in newest.partial else None
            for generation in self._writers.pop(name, ()):
                left = self._remaining[generation]
                parts = frozenset[str]() if covered is None else surviving(left[name], covered)
                if parts is None or parts:
                    left[name] = parts
                    self._writers[name].append(generation)
                    continue
                del left[name]
                if not left:
                    del self._remaining[generation]
                    self._release(generation)

    def _retain(self, generation: Generation) -> None:
        self._count[generation] += 1
        if self._count[generation] == 1:
            self.entered.append(generation)

    def _release(self, generation: Generation) -> None:
        self._count[generation] -= 1
        if not self._count[generation]:
            del self._count[generation]
            self.left.append(generation)


def _after_all(oldest_first: list[Generation]) -> EffectiveGenerations:
    found = EffectiveGenerations()
    for generation in oldest_first:
        found.take(generation)
    return found


def latest(oldest_first: list[Generation]) -> list[Generation]:
    """Return the newest finished generation (that wrote, if any did) and later unfinished ones."""
    return _after_all(oldest_first).latest


def effective(oldest_first: list[Generation]) -> list[Generation]:
    """Return the slices of the effective generations: the latest and the unreplaced ones."""
    found = _after_all(oldest_first)
    newest = (slice_ for generation in found.latest for slice_ in generation.slices)
    return list(dict.fromkeys((*newest, *found.unreplaced)))


def superseded(oldest_first: list[Generation]) -> set[DatasetName]:
    """Return the datasets written by generations that are not effective, and views.

    Readers of these may depend on older rows. A reader of a view depends on what the inputs of the
    view contained when it was queried.
    """
    current = set(effective(oldest_first))
    return {
        name
        for generation in oldest_first
        for slice_ in generation.slices
        for name in (slice_.queried_outputs if slice_ in current else slice_.edges.writes)
    }
