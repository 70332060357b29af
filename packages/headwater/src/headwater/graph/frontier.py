"""Walks over generations along the flows between them, and what other such walks need.

A *generation* is the runs of a task under one parent run; `slices` are its parts by partition, or
itself. A *flow* is data that a generation gets from another through a dataset that it read or whose
older rows it kept (`is_kept`). It carries what was written `until` a time; a reported version can
prove it (`is_proven`), whatever the times are. A generation is visited as a whole (`is_whole`) if
all of its inputs and outputs count, or else for one dataset.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import replace
from heapq import heapify, heappop, heappush
from math import inf
from typing import Any

from headwater import deadline
from headwater.graph.generation import Generation
from headwater.graph.generations import Generations
from headwater.graph.run_edges import Edges
from headwater.identity import DatasetName

Walked = dict[Generation, Edges]
"""The generations reached by following flows, each with the edges that were followed."""


class Frontier:
    """The visits that a walk has to make. Iterating yields and removes the least time first.

    A visit is a tuple of a time and what to visit. Visits of equal times come in the order of
    `add`.
    """

    def __init__(self, visits: Iterable[tuple[Any, ...]]) -> None:
        """Start with some visits: each is a time, followed by what to visit."""
        self._visits: list[tuple[float, int, Sequence[Any]]]
        self._visits = [(time, place, rest) for place, (time, *rest) in enumerate(visits)]
        self._count = len(self._visits)
        heapify(self._visits)

    def add(self, time: float, *rest: Any) -> None:
        """Add a visit."""
        heappush(self._visits, (time, self._count, rest))
        self._count += 1

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        while self._visits:
            deadline.check()
            time, _, rest = heappop(self._visits)
            yield time, *rest


def add_edges(
    walked: Walked,
    generation: Generation,
    reads: Set[DatasetName],
    writes: Set[DatasetName],
    *,
    is_whole: bool,
) -> None:
    """Add the edges on the way to those of a visited generation, or all of them if `is_whole`.

    A generation that is whole is recorded with the very object `edges`, and stays whole.
    """
    if is_whole:
        walked[generation] = generation.edges
        return
    part = walked.setdefault(generation, replace(generation.edges, reads=set(), writes=set()))
    if part is not generation.edges:
        part.reads |= reads
        part.writes |= writes


def upstream_of(
    generations: Generations, roots: Iterable[Generation], target: DatasetName | None = None
) -> Walked:
    """Return the roots and all generations upstream of them, or of one of their outputs."""
    return upstream_of_outputs(generations, ((root, target) for root in roots))


def upstream_of_outputs(
    generations: Generations, roots: Iterable[tuple[Generation, DatasetName | None]]
) -> Walked:
    """Return generations and all upstream of one output of each; None stands for all outputs.

    Where events state which input feeds which output, only the edges on the way count. Rows that a
    generation kept are upstream of that output, but not of the generation itself. Data does not
    pass through a run, such as a stream, to a reader that ended before it was written.

    The walk goes back in time: a visit at `-time` needs the data that was written until `time`. The
    latest times come first, so a part is followed again only if a proven flow raises its time.
    """
    found: Walked = {}
    followed: dict[tuple[Generation, bool, DatasetName | None], float] = {}
    visits = Frontier((-inf, slice_, target) for root, target in roots for slice_ in root.slices)
    for time, generation, name in visits:
        edges = generation.edges
        is_whole = name is None or edges.is_cross_product
        reads = edges.reads if is_whole else edges.sources_of(name)
        add_edges(found, generation, reads, {name}, is_whole=is_whole)
        parts = ((False, reads, None if is_whole else name), (True, {name}, name))
        for is_kept, used, part in parts:
            if -time <= followed.get((generation, is_kept, part), -1):  # followed for a later time
                continue
            followed[generation, is_kept, part] = -time
            for flow in generations.flows(generation):
                if flow.is_kept == is_kept and flow.dataset in used:
                    written = generations.times.of_writes(flow.source, flow.dataset).start
                    if flow.is_proven or written <= -time:
                        until = inf if flow.is_proven else min(-time, flow.until)
                        visits.add(-until, flow.source, flow.dataset)
    return found


def downstream_of(
    generations: Generations, roots: Iterable[Generation], source: DatasetName | None = None
) -> Walked:
    """Return the roots and the present generations downstream of them, or of one input.

    `source` limits the walk to what depends on one input of the roots; None for all. The walk goes
    forward in time: a visit at `since` passes on data that was written since. A consumer that kept
    rows of a dataset (`is_kept`) passes on that dataset only, not what it wrote from inputs.
    """
    present = generations.present
    found: Walked = {}
    followed: dict[tuple[Generation, bool, DatasetName | None], float] = {}
    visits = Frontier((0, slice_, source, False) for root in roots for slice_ in root.slices)
    for since, generation, via, is_kept in visits:
        edges = generation.edges
        is_whole = via is None or (edges.is_cross_product and not is_kept)
        part = generation, is_kept, None if is_whole else via
        if since >= followed.get(part, inf):
            continue
        followed[part] = since
        fed = {via} if is_kept else edges.writes if is_whole else edges.targets_of(via)
        add_edges(found, generation, set() if is_kept else {via}, fed, is_whole=is_whole)
        for consumer, flow in present.flows_from(generation):
            if flow.dataset in fed:
                written = max(since, generations.times.of_writes(generation, flow.dataset).start)
                if flow.is_proven or written <= flow.until:
                    began = 0 if flow.is_proven else written
                    visits.add(began, consumer, flow.dataset, flow.is_kept)
    return found
