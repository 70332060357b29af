"""The runs that read exactly one version of a dataset.

A flow is data that a generation (the runs of a task under one parent run) gets from another through
a dataset. A view has copies of its generation, as of the times of the queries that read it;
`original` is the generation itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from headwater import deadline
from headwater.events import JobRef
from headwater.graph.generation import Generation
from headwater.graph.generations import Generations
from headwater.graph.levels import Level
from headwater.identity import DatasetName
from headwater.lineage.reached import of_task
from headwater.plugins.incidents._named import Version
from headwater.plugins.incidents.models import By
from headwater.projection import Run, RunKey


class Reader(NamedTuple):
    """A task run that read a version, with the generation that it is part of.

    `by` is "version" if the run reported the version, and "time" if it is derived from times.
    """

    run: Run
    generation: Generation
    by: By


class Readers(NamedTuple):
    """The readers of a version, and the jobs that read the dataset without reporting a version.

    A job is `silent` only if a run of it read after the version was written.
    """

    found: list[Reader]
    silent: list[JobRef]


def readers_of(generations: Generations, version: Version) -> Readers:
    """Return the runs that read a version.

    A run that reported versions read exactly these. If the run reported none, or the version is the
    id of a run, it is derived from times, as in other queries.

    A version that was never written has no flows. Then only runs that reported it are found.
    """
    found: list[Reader] = []
    silent: dict[JobRef, None] = {}
    name = version.name
    since = min((generations.times.of_writes(g, name).start for g in version.writers), default=0)
    writers = {writer.original for writer in version.writers}
    for generation in _reading(generations, name):
        proven = {
            flow.source.original
            for read in (generation, *generation.query_copies)
            for flow in generations.flows(read)
            if flow.dataset == name
        }
        has_flow = not proven.isdisjoint(writers)
        for run, reported in _versions_by_task(generations, generation, name).values():
            if version.version in reported:
                found.append(Reader(run, generation, "version"))
                continue
            if not reported and generations.times.of_reads(generation, name).end >= since:
                silent[run.key.job] = None
            if has_flow and not (reported and version.is_reported):
                found.append(Reader(run, generation, "time"))
    return Readers(found, list(silent))


def _reading(generations: Generations, name: DatasetName) -> Iterator[Generation]:
    """Yield all generations with runs that read a dataset.

    First, `of_task` adds the copies of the generations at the times of queries.
    """
    for ref in generations.readers(name):
        of_task(generations, ref)  # adds to `queries`
        for generation in deadline.watched(generations.history(ref)):
            if generation.runs and name in generation.edges.reads:
                yield generation


def _versions_by_task(
    generations: Generations, generation: Generation, name: DatasetName
) -> dict[RunKey, tuple[Run, set[str]]]:
    """Return the task runs of a generation that read a dataset, with their reported versions.

    A set is empty if the run reported none. Runs below a task run count as the task run.
    """
    primary = generations.state.identity.primary
    found: dict[RunKey, tuple[Run, set[str]]] = {}
    versions: dict[RunKey, set[str]] = defaultdict(set)
    for run in generation.runs:
        if name in generations.own(run).reads:
            owner = generations.levels.owner(run, Level.TASK)
            for spelled, use in run.inputs.items():
                if primary(spelled) == name:
                    versions[owner.key] |= use.version_names
            found[owner.key] = owner, versions[owner.key]
    return found
