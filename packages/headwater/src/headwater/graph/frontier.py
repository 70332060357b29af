"""Helpers of walks over generations: the order of visits, and the edges on the way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import replace
from heapq import heapify, heappop, heappush
from typing import Any

from headwater import deadline
from headwater.graph.generation import Generation
from headwater.graph.run_edges import Edges
from headwater.identity import DatasetName

Walked = dict[Generation, Edges]
"""The generations reached by following flows, each with the edges that were followed."""


class Frontier:
    """The visits that a walk has to make. Iterating yields and removes the least time first."""

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
    """Add the edges on the way to those of a visited generation, or all of them if `is_whole`."""
    if is_whole:
        walked[generation] = generation.edges
        return
    part = walked.setdefault(generation, replace(generation.edges, reads=set(), writes=set()))
    if part is not generation.edges:
        part.reads |= reads
        part.writes |= writes
