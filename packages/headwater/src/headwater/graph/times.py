"""The times at which generations read and wrote datasets, and the writes that a reader can see.

A reader depends on what was written before it ended, and never on later writes: on the writes that
were effective when it started, and on all that began until it ended. A streaming run depends on
everything that was written until its end, or until now. A version that a reader reports outranks
times: it depends on the run that wrote the version, also if their clocks disagree.

A *generation* is the runs of a task under one parent run. A *slice* is its part with some
partitions of an output. Times are microseconds; infinity stands for now. The *primary name* of a
dataset is the one of its joined names under which it is shown.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import partial
from math import inf
from typing import NamedTuple

from headwater.graph.folders import FirstWrites
from headwater.graph.generation import Generation, Span
from headwater.graph.kept_rows import Parts
from headwater.graph.lifecycle import emptied_before, emptied_by
from headwater.graph.run_edges import Edges
from headwater.identity import DatasetName
from headwater.projection import Run, State, outcome, start_of
from headwater.projection.derived import is_streaming, last_event_time

ByVersion = dict[str, list[Generation]]
"""The generations of a task that wrote a dataset, by the version that they reported."""


class Reading(NamedTuple):
    """The writes that a reader of a dataset can depend on."""

    start: float
    """A finished write replaces the earlier ones of its task if it ended by then."""
    end: float
    """Writes that began later do not count."""
    proven: tuple[Generation, ...] = ()
    """The generations that wrote the version which the reader reported, oldest first."""
    is_streaming: bool = False
    """True if no write replaces another one: a stream gets all of them."""
    queried: Span | None = None
    """When the rows of a view are read, if that is later: a view may have been renamed since."""

    def until(self, source: Generation) -> float:
        """Return the time after which nothing was read of what a source contains."""
        return self.queried.end if self.queried and source.queried_outputs else self.end

    def proves(self, source: Generation, name: DatasetName) -> bool:
        """Return True if versions prove that a source wrote rows of what the reader read.

        The writer of the version also reported which earlier partitions it kept.
        """
        is_writer = source.original in self.proven
        if is_writer or not any(name in g.partial for g in self.proven):
            return is_writer
        return source.is_complete and source.ended <= self.start and name in source.parts


NOW = Reading(inf, inf)
"""A reader of the current contents."""


def span_of(state: State, runs: Iterable[Run]) -> Span:
    """Return the time from the start of some runs to their end, or else to their last event."""
    spans = [_span_of_run(state, run) for run in runs]
    if not spans:
        return Span(0, inf)
    return Span(min(span.start for span in spans), max(span.end for span in spans))


def _span_of_run(state: State, run: Run) -> Span:
    """Return the time from a run's start to its end; to its last event if it has no end.

    A streaming run without an end has an infinite one.
    """
    started, ended = start_of(run) or 0, outcome(state, run).ended
    if ended is not None:
        return Span(started, max(started, ended))
    if is_streaming(state, run):
        return Span(started, inf)
    return Span(started, max(started, last_event_time(state, run)))


class Times:
    """The times of reads and writes of a state; the results are cached by the generations."""

    def __init__(self, state: State, own: Callable[[Run], Edges]) -> None:
        """Use a state, and a function that returns the edges of a run."""
        self._state, self._own = state, own
        self.first_writes = FirstWrites(state)

    def of_writes(self, generation: Generation, name: DatasetName) -> Span:
        """Return the span of the runs of a generation that wrote a dataset; cached in `spans`.

        If none is known to have written it, return the span of all of its runs.
        """
        found = generation.spans.get(("writes", name))
        if found is None and not generation.runs:
            return Span(0, 0)  # a declaration applies from the beginning
        if found is None:
            runs = [run for run in generation.runs if name in self._own(run).writes]
            found = generation.spans["writes", name] = span_of(self._state, runs or generation.runs)
        return found

    def of_reads(self, generation: Generation, name: DatasetName) -> Span:
        """Return the span of the runs of a generation that read a dataset; cached in `spans`.

        A view reads when it is queried: without a time, now.
        """
        found = generation.spans.get(("reads", name))
        if found is None:
            runs = self._readers(generation, name)
            if generation.is_view or not generation.runs:
                return Span(inf, inf)  # a declaration uses the current contents
            found = generation.spans["reads", name] = span_of(self._state, runs)
        return found

    def may_use(self, reader: Generation, name: DatasetName, since: float) -> bool:
        """Return False if a generation used only rows of a dataset written before `since`."""
        is_kept = name in reader.kept and since <= self.of_writes(reader, name).end
        is_read = name in reader.edges.reads and since <= self.of_reads(reader, name).end
        return is_kept or is_read or bool(self.versions_read(reader, name))

    def passes(self, generation: Generation, name: DatasetName) -> bool:
        """Return True if a generation read a dataset after it wrote it, in one text or two runs.

        Then its rows may have passed through the dataset within the generation.
        """
        users = [(run, self._own(run)) for run in generation.runs]
        readers = [(run, span_of(self._state, [run])) for run, own in users if name in own.reads]
        writers = [(run, start_of(run) or 0) for run, own in users if name in own.writes]
        return any(name in own.passed for _, own in users) or any(
            writer is not reader and start <= span.end
            for writer, start in writers
            for reader, span in readers
        )

    def replaces(self, generation: Generation, name: DatasetName) -> bool:
        """Return True if a generation wrote a dataset before it read it, and kept no older rows.

        Such a generation reads only its own rows. One early write is enough, because it replaced
        all rows. If a run both reads and writes the dataset, return False unless its SQL text
        writes it first, or it reported that it, and all runs below it, did.
        """
        if not generation.is_complete or name in generation.partial | generation.kept:
            return False
        users = [(run, self._own(run)) for run in generation.runs]
        if any(name in own.reads for _, own in users if name in own.writes - own.replaced):
            return False
        readers = [run for run, own in users if name in own.reads - own.replaced]
        writers = [span_of(self._state, [run]).end for run, own in users if name in own.writes]
        return any(run.lineage and name in own.replaced for run, own in users) or all(
            min(writers, default=inf) <= (start_of(run) or 0) for run in readers
        )

    def streams(self, generation: Generation, name: DatasetName) -> bool:
        """Return True if a streaming run of a generation read a dataset."""
        return any(is_streaming(self._state, run) for run in self._readers(generation, name))

    def _readers(self, generation: Generation, name: DatasetName) -> Iterable[Run]:
        runs = [run for run in generation.runs if name in self._own(run).reads]
        return runs or generation.runs

    def versions_read(self, generation: Generation, name: DatasetName) -> set[str]:
        """Return the versions of a dataset that the runs of a generation reported to have read."""
        primary = self._state.identity.primary
        return {
            version
            for run in generation.runs
            for spelled, use in run.inputs.items()
            if use.versions and primary(spelled) == name
            for version in use.version_names
        }

    def by_version(self, generations: Iterable[Generation], name: DatasetName) -> ByVersion:
        """Return the generations that wrote a dataset, by reported version."""
        primary = self._state.identity.primary
        found: dict[str, list[Generation]] = defaultdict(list)
        for generation in generations:
            for run in generation.runs:
                for spelled, use in run.outputs.items():
                    if use.versions and primary(spelled) == name:
                        for version in use.version_names:
                            found[version].append(generation)
        return dict(found)

    def reading(
        self, reader: Generation, name: DatasetName, writers: Iterable[Generation]
    ) -> Reading:
        """Return what a reader can depend on; `writers` wrote the versions that it reported.

        Without a version, the span of its runs counts. With one, the times are those of its
        writers, but never later than the reader, unless all began after it, by another clock. A
        write after the reported version therefore does not count, although it ended before the
        reader did.
        """
        span = self.of_reads(reader, name)
        queried = reader.query if name in reader.renamed.values() else None
        proven = tuple(sorted({*writers} - {reader.original}, key=lambda g: g.order))
        if self.streams(reader, name):
            return Reading(span.start, span.end, proven, is_streaming=True)
        if not proven:
            return Reading(span.start, span.end, queried=queried)
        # A version may be older than the reader: its writers' start decides what it replaced.
        written = [self.of_writes(g, name) for g in proven]
        in_time = [g for g, w in zip(proven, written, strict=True) if w.start <= span.end]
        return Reading(
            min(span.start, *(w.start for w in written)),
            min(span.end, max(w.end for w in written)),
            tuple(in_time) or proven,
            queried=queried,
        )

    def counted(
        self,
        writing: list[Generation],
        name: DatasetName,
        reading: Reading,
        reader: Generation | None,
        replaced: Parts = frozenset(),
    ) -> list[Generation]:
        """Return the generations of one task, or slices of them, that a reader can depend on.

        `writing` has those that wrote the dataset, oldest first; `replaced` are partitions that do
        not count. `reader` is None for the current contents. `writing` may have thousands, so the
        time must not depend on its length.

        The walk is from the newest write back, and ends at a finished write that replaced all
        earlier ones. `covered` are the partitions that later writes replaced; a generation whose
        partitions are all covered does not count.
        """
        # Each with the partitions that were replaced since.
        counted = {g: set[str]() for g in reading.proven if writing and g.job == writing[0].job}
        last = bisect_right(writing, reading.end, key=lambda g: g.started)
        if any(g.is_complete and g.started > reading.end for g in counted):
            last = 0  # it replaced the others, and its clock disagrees with that of the reader
        covered = set(replaced)
        own = reader and (reader.original if reader.renamed or reader.is_slice else reader)
        for position in range(last - 1, -1, -1):
            generation = writing[position]
            if generation is own:
                if self.replaces(generation, name):
                    break
                continue
            span = self.of_writes(generation, name)
            parts = generation.parts.get(name)
            if parts is not None and parts <= covered:  # also if a later run confirmed a version
                counted.pop(generation, None)
            elif generation in counted or span.start <= reading.end:
                counted[generation] = set(covered)
            is_last = generation in reading.proven or span.end <= reading.start
            is_replacing = generation.is_complete and is_last and not reading.is_streaming
            if is_replacing and name not in generation.only_created:
                if name not in generation.partial:
                    break
                covered |= generation.parts[name]
        return [slice_ for g, since in counted.items() for slice_ in g.writing(name, since)]

    def with_rows(
        self, writers: list[Generation], name: DatasetName, reading: Reading
    ) -> list[Generation]:
        """Return the generations whose rows were not removed before they could be read.

        A removal is a DROP, TRUNCATE, RENAME or OVERWRITE of the whole dataset. Of those that only
        created or altered the dataset, none counts if another one wrote rows. Of one that created a
        view, a copy reads the inputs of the view at the time of the reading.
        """
        ends = {g: self.of_writes(g, name).end or inf for g in writers}  # a declaration has no end
        if reading.start < inf:  # otherwise, later removals are ignored
            since = emptied_before(self._state, name, reading.start)
        else:
            since = emptied_by(self._state, name, max(ends.values(), default=-inf))
        found = [g for g in writers if ends[g] >= since]
        found = [g for g in found if name not in g.only_created] or found
        span = reading.queried or Span(reading.start, reading.end)
        return [g.queried(name, span, partial(self._edges_at, g, span.end)) for g in found]

    def _edges_at(self, generation: Generation, end: float) -> Edges:
        edges = generation.edges
        return edges if generation.runs else self.first_writes.edges_at(edges, end)
