"""The generations that a dataset's contents come from, and the sources among its upstream.

A generation is the runs of a task under one parent run. A flow is data that a generation gets from
another through a dataset. A walk maps each reached generation to its edges on the way. The *primary
name* of a dataset is the one of its joined names under which it is shown.
"""

from __future__ import annotations

from headwater.datasets.writes import has_written
from headwater.errors import NotFoundError
from headwater.events import shown_time
from headwater.graph.frontier import Walked, upstream_of
from headwater.graph.generation import Flow, Generation
from headwater.graph.generations import Generations
from headwater.graph.nodes import Node
from headwater.graph.placeholders import only_datasets
from headwater.identity import DatasetName
from headwater.lineage import models
from headwater.projection import versions_of


def origin(generations: Generations, root: Node, version: str | None = None) -> Walked:
    """Return the generations that the contents of a dataset, or one version of it, come from.

    Raises:
        NotFoundError: no run is known to have written that version.
    """
    name = root.dataset_name
    if version is None:
        return upstream_of(generations, generations.writing(name), name)
    found = writing_version(generations, name, version)
    if not found:
        raise NotFoundError(
            f"no known run wrote version {version!r} of {root.name}; see its history"
        )
    contents = (part for generation in found for part in generations.contents(generation, name))
    return upstream_of(generations, contents, name)


def writing_version(generations: Generations, name: DatasetName, version: str) -> list[Generation]:
    """Return the generations (their slices) with a run that wrote a version of a dataset.

    `name` is the primary name. A version is one that the run reported, or else the id of the run. A
    failed run that reported no rows wrote none.
    """
    primary, state = generations.state.identity.primary, generations.state
    return [
        slice_
        for ref in generations.writers(name)
        for generation in generations.history(ref)
        if any(
            primary(spelled) == name
            and version in versions_of(run, use)
            and has_written(state, run, use)
            for run in generation.runs
            for spelled, use in run.outputs.items()
        )
        for slice_ in generation.writing(name, ())
    ]


def sources_of(walked: Walked, root: Node) -> set[DatasetName]:
    """Return the datasets that were read but not written; the root if there are no generations.

    `walked` has the generations upstream of the root. These datasets are where known lineage ends.
    """
    if not walked:
        return {root.dataset_name}
    written = {name for edges in walked.values() for name in edges.writes}
    return only_datasets(name for edges in walked.values() for name in edges.reads) - written


def flows_from_others(generations: Generations, generation: Generation) -> list[Flow]:
    """Return the flows into a generation, without those between its own runs.

    A walk upstream has cached all flows. If every input feeds every output, they are the same ones,
    because then no flow leads from one run to another within the generation.
    """
    whole = generation.original if generation.is_slice else generation
    if whole.edges.is_cross_product:
        return generations.flows(generation)
    return generations.flows_into(generation)


def has_own_rows_before(flow: Flow, generation: Generation, horizon: int) -> bool:
    """Return True if a generation gets rows of a table that it writes from before a horizon.

    `horizon` is the time, in microseconds, before which retention deleted runs. Rows from before it
    may come from deleted sources, too.
    """
    is_own_table = flow.is_kept or flow.dataset in generation.edges.writes
    return is_own_table and flow.source.ended < horizon


def last_use(generations: Generations, flow: Flow, generation: Generation) -> float:
    """Return the time until which the source of a flow could affect a generation, in microseconds.

    Data that was written into the source's inputs later did not reach the generation. Rows that the
    generation kept are from before it began to write, others from before it ended.
    """
    if flow.is_kept:
        return generations.times.of_writes(generation, flow.dataset).start
    return generations.times.of_reads(generation, flow.dataset).end


def deleted_sources(generations: Generations, walked: Walked) -> models.DeletedSources | None:
    """Return the times of the deletion of older sources; None if no source is missing.

    Sources are missing if a load got rows of its own table from a run before the horizon.

    Answers show it as a warning, because their lists of sources may be incomplete.
    """
    if (horizon := generations.state.horizon) is None:
        return None
    for generation in walked:
        for flow in flows_from_others(generations, generation):
            if flow.source in walked and has_own_rows_before(flow, generation, horizon[0]):
                return {"before": shown_time(horizon[0]), "deletedAt": shown_time(horizon[1])}
    return None
