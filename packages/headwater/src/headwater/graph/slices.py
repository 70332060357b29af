"""Slices of a generation: its partitions by their sources.

A run that loads two months from two files writes two partitions, each from its own file. If one
month is corrected later, the other one still does not come from the bad file. So where the sources
of partitions are known, the generation is split: by the runs that wrote them (mapped tasks that
each report their partitions) or as a run states them (facet `headwater_partitionSources`). The
flows of data lead from and to the slices.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from headwater.events.facets import SourcePart
from headwater.graph.generation import Generation
from headwater.graph.kept_rows import Kept, Parts, kept_rows
from headwater.graph.run_edges import Edges
from headwater.identity import DatasetName, canonical_name
from headwater.projection import Run, RunKey, State

_WHOLE = ""
_Source = tuple[DatasetName, str]
"""A source and its partition, or _WHOLE."""


class TaskRun(NamedTuple):
    """A run of a task with those below it, and the edges of all."""

    runs: Sequence[Run]
    edges: Edges


@dataclass(slots=True)
class _Origin:
    """The sources of a partition, and the runs that wrote it."""

    sources: set[_Source] = field(default_factory=set)
    runs: dict[RunKey, Run] = field(default_factory=dict)


def split(state: State, generation: Generation, task_runs: Sequence[TaskRun], kept: Kept) -> None:
    """Add the slices of a generation to it (`split`), if it has any.

    Partitions with the same sources and runs are one slice. An output is split if it has several
    such groups, or one with a stated partition of a source. The other outputs are a last slice.
    """
    found: list[Generation] = []
    for name in sorted(generation.parts.keys() & generation.edges.writes):
        origins = _origins(state, name, task_runs, kept)
        if origins is None:
            continue
        groups: dict[tuple[frozenset[_Source], frozenset[RunKey]], set[str]] = defaultdict(set)
        for part, origin in origins.items():
            groups[frozenset(origin.sources), frozenset(origin.runs)].add(part)
        if len(groups) > 1 or any(part != _WHOLE for sources, _ in groups for _, part in sources):
            for (sources, keys), parts in groups.items():
                runs = tuple(run for run in generation.runs if run.key in keys)
                found.append(_slice(generation, name, frozenset(parts), sources, runs))
    rest = _rest(generation, found) if found else None
    generation.split.extend([*found, rest] if rest else found)


def of_partitions_read(
    writers: list[Generation], name: DatasetName, reader: Generation
) -> list[Generation]:
    """Return the writers without the slices whose partitions a reader is known not to use.

    That is known only if the writer as a whole wrote all partitions that the reader names:
    otherwise, the two use different names for partitions.
    """
    read = reader.partitions_read.get(name)
    if read is None:
        return writers
    return [
        writer
        for writer in writers
        if name not in writer.parts
        or not read <= writer.original.parts[name]
        or not read.isdisjoint(writer.parts[name])
    ]


def _origins(
    state: State, name: DatasetName, task_runs: Sequence[TaskRun], kept: Kept
) -> Mapping[str, _Origin] | None:
    """Return the origin of each partition of an output; None if one is unknown.

    `kept` has the partitions of the whole generation; with several task runs, those of each are
    determined from its own reports.
    """
    found: dict[str, _Origin] = defaultdict(_Origin)
    for runs, edges in task_runs:
        if name not in edges.writes:
            continue
        own = kept if len(task_runs) == 1 else kept_rows(state, runs)
        if name not in own.parts:
            return None
        for part in sorted(own.parts[name]):
            stated = own.sources[name].get(part, set())
            found[part].sources |= _sources(state, edges.sources_of(name), stated)
            found[part].runs |= {run.key: run for run in runs}
    return found


def _sources(state: State, known: set[DatasetName], stated: set[SourcePart]) -> set[_Source]:
    """Return the stated sources if they are among the known ones, otherwise all known ones.

    `known` are the sources of the output, `stated` those that a run states for one partition.
    """
    named = {
        (state.identity.primary(canonical_name(part.namespace, part.name)), part.partition)
        for part in stated
    }
    is_known = named and known.issuperset(name for name, _ in named)
    return named if is_known else {(name, _WHOLE) for name in known}


def _slice(
    generation: Generation,
    name: DatasetName,
    parts: Parts,
    sources: frozenset[_Source],
    runs: tuple[Run, ...],
) -> Generation:
    """Return the copy of a generation with one output, the partitions of it and their sources.

    `runs` are those that wrote the partitions.
    """
    read: dict[DatasetName, set[str]] = defaultdict(set)
    for source, part in sources:
        read[source].add(part)
    return replace(
        generation,
        edges=Edges(set(read), {name}),
        kept=frozenset(),
        runs=runs,
        partial=generation.partial & {name},
        parts={name: parts},
        spans={},
        queries={},
        split=[],
        is_slice=True,
        partitions_read={n: frozenset(found) for n, found in read.items() if _WHOLE not in found},
        copy_of=generation,
    )


def _rest(generation: Generation, slices: Sequence[Generation]) -> Generation | None:
    """Return a copy with the remaining outputs and inputs; None if there are neither.

    `slices` are those of the split outputs. An input that feeds a remaining output is kept, also if
    a slice reads it. The sources of each remaining output stay those of the whole generation.
    """
    edges = generation.edges
    writes = edges.writes.difference(*(slice_.edges.writes for slice_ in slices))
    reads = edges.reads.difference(*(slice_.edges.reads for slice_ in slices))
    sources = {name: edges.sources_of(name) for name in writes}
    if not writes and not reads:
        return None
    return replace(
        generation,
        edges=Edges(reads.union(*sources.values()), writes, sources, set()),
        kept=generation.kept & writes,
        partial=generation.partial & writes,
        parts={name: parts for name, parts in generation.parts.items() if name in writes},
        spans={},
        queries={},
        split=[],
        is_slice=True,
        copy_of=generation,
    )
