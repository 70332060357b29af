"""The recalled versions whose data a dataset contains.

A taint is the recall of one version of a dataset. A generation is the runs of a task under one
parent run.
"""

from __future__ import annotations

from collections.abc import Iterator

from headwater.datasets.taints import Taint, tainted_datasets, taints_of
from headwater.graph.frontier import Walked
from headwater.graph.generation import Generation
from headwater.graph.generations import Generations
from headwater.identity import DatasetName
from headwater.lineage.provenance import writing_version
from headwater.lineage.reached import generations_downstream


def taints_in(generations: Generations, target: DatasetName) -> Iterator[tuple[DatasetName, Taint]]:
    """Yield the recalled versions whose data the contents of a dataset contain, or may contain.

    `target` is a primary name. If the writer of a recalled version is unknown, what its readers
    wrote counts instead.
    """
    writing = generations.writing(target)
    for name in tainted_datasets(generations.state):
        for taint in taints_of(generations.state, name):
            writers = writing_version(generations, name, taint.version)
            is_own = name == target and not {g.writer for g in writing}.isdisjoint(writers)
            if is_own or _reaches(_downstream(generations, name, taint, writers), writing, target):
                yield name, taint


def _downstream(
    generations: Generations, name: DatasetName, taint: Taint, writers: list[Generation]
) -> Walked:
    """Return the generations downstream of a version; without a known writer, of its readers."""
    readers = () if writers else _readers(generations, name, taint.version)
    writes = [(writer, name) for writer in writers]
    return generations_downstream(generations, writes, [(reader, name) for reader in readers])


def _readers(generations: Generations, name: DatasetName, version: str) -> Iterator[Generation]:
    """Yield the generations that reported to have read a version of a dataset."""
    for ref in generations.readers(name):
        for generation in generations.history(ref):
            if version in generations.times.versions_read(generation, name):
                yield generation


def _reaches(walk: Walked, writing: list[Generation], target: DatasetName) -> bool:
    """Return True if a generation that wrote present rows of the target is on a walk to it."""
    return any(g in walk and target in walk[g].writes for g in writing)
