"""Reads of datasets by tasks: the first and the last one of each dataset.

A read that only checks the data, or that only feeds the dataset itself, is not a use.

- generation: the runs of a task under one parent run; those without runs are declarations
- view: a generation that only created views; its inputs are read when a view is queried
- reporter: the producer of some jobs: if it reports no reads at all, it may not report any
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from math import inf
from typing import NamedTuple

from headwater import deadline
from headwater.datasets.not_run import is_test
from headwater.datasets.quality import is_checking
from headwater.events import JobRef
from headwater.events.facets import ASSERTION_FACETS, JobType
from headwater.graph.current import generations_of, once_an_event
from headwater.graph.generation import Generation
from headwater.graph.generations import Generations
from headwater.graph.placeholders import derived_dataset, only_datasets
from headwater.identity import DatasetName
from headwater.projection import Run, State

Reporter = tuple[str, str]
"""A namespace of jobs and the integration that reports them."""


class Use(NamedTuple):
    """The times (microseconds) of the reads of a dataset by the runs of a task.

    `generation` is the one of the last read.
    """

    first: float
    last: float
    """The end of the last reading run; infinite for a stream that has not ended."""
    generation: Generation


@dataclass(slots=True)
class Uses:
    """The readers of all datasets."""

    by_dataset: dict[DatasetName, dict[JobRef, Use]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    declared: dict[DatasetName, set[JobRef]] = field(default_factory=lambda: defaultdict(set))
    """Jobs that declare to read a dataset, and have no runs."""
    views: dict[DatasetName, set[DatasetName]] = field(default_factory=lambda: defaultdict(set))
    """Views and other datasets that are derived from a dataset without a run."""
    namespaces: dict[str, tuple[float, float]] = field(default_factory=dict)
    """The first and the last reported read of any dataset in a namespace."""
    reporters: dict[Reporter, float] = field(default_factory=dict)
    """The last reported read by the jobs of a reporter."""


def reporter_of(state: State, ref: JobRef) -> Reporter:
    """Return the namespace and the integration of a job.

    The integration is "" if it is unknown.
    """
    job = state.jobs.get(ref)
    return ref.namespace, (job.facets.parsed(JobType).integration if job else None) or ""


@once_an_event
def uses_of(state: State) -> Uses:
    """Return the readers of all datasets.

    Tests of datasets do not count as readers.
    """
    generations, found = generations_of(state), Uses()
    for ref in deadline.watched(list(generations.jobs())):
        if (derived := derived_dataset(ref)) is not None:
            for generation in generations.history(ref):
                for name in generation.edges.reads:
                    found.views[name].add(derived)
            continue
        if is_test(state, ref):
            continue
        task = generations.derived(ref, "uses", partial(_uses_of_task, generations))
        for name, use in task.uses.items():
            found.by_dataset[name][ref] = use
            first, last = found.namespaces.get(name.namespace, (inf, 0.0))
            found.namespaces[name.namespace] = min(first, use.first), max(last, use.last)
            reporter = reporter_of(state, ref)
            found.reporters[reporter] = max(use.last, found.reporters.get(reporter, 0.0))
        for name, views in task.views.items():
            found.views[name] |= views
        for name in task.declared:
            found.declared[name].add(ref)
    return found


@dataclass(slots=True)
class _TaskUses:
    """The reads of one task: by its runs, through its views, and as a declaration without runs."""

    uses: dict[DatasetName, Use] = field(default_factory=dict)
    views: dict[DatasetName, set[DatasetName]] = field(default_factory=lambda: defaultdict(set))
    declared: set[DatasetName] = field(default_factory=set)


def _uses_of_task(generations: Generations, oldest_first: list[Generation]) -> _TaskUses:
    """Return what the runs of a task used, what its views read, and what it declares to read."""
    found = _TaskUses()
    for generation in deadline.watched(oldest_first):
        names = only_datasets(generation.edges.reads)
        if not generation.runs:
            found.declared |= names
        elif generation.is_view:
            for name in names:
                found.views[name] |= generation.edges.writes
        else:
            for name in names:
                if _is_use(generations, generation, name):
                    _add(found.uses, name, generations, generation)
    return found


def _add(
    uses: dict[DatasetName, Use],
    name: DatasetName,
    generations: Generations,
    generation: Generation,
) -> None:
    """Add a read of a dataset by a generation to the reads of its task."""
    span, earlier = generations.times.of_reads(generation, name), uses.get(name)
    if earlier is None:
        uses[name] = Use(span.start, span.end, generation)
    else:
        newest = generation if span.end >= earlier.last else earlier.generation
        uses[name] = Use(min(earlier.first, span.start), max(earlier.last, span.end), newest)


def _is_use(generations: Generations, generation: Generation, name: DatasetName) -> bool:
    """Return False if a generation only checks a dataset, or reads it only to write it again."""
    edges = generation.edges
    if targets := edges.targets_of(name):
        return targets != {name}  # it feeds another dataset
    if edges.writes:  # by column or explicit lineage, it feeds none, but it may filter
        return True
    return not all(
        is_checking(run) or _asserts(generations.state, run, name)
        for run in runs_reading(generations, generation, name)
    )


def runs_reading(
    generations: Generations, generation: Generation, name: DatasetName
) -> Iterator[Run]:
    """Yield the runs of a generation that read a dataset."""
    return (run for run in generation.runs if name in generations.own(run).reads)


def _asserts(state: State, run: Run, name: DatasetName) -> bool:
    """Return True if a run reported assertions on a dataset that it read."""
    return any(
        book.stamp_of(key)
        for spelled, use in run.inputs.items()
        if state.identity.primary(spelled) == name
        for book in (use.io_facets, use.dataset_facets)
        for key in ASSERTION_FACETS
    )
