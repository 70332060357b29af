"""The generations that contain or use data of a version, including those replaced since.

The walk is the inverse of `frontier.upstream_of`, and follows the same flows. A generation is the
runs of a task under one parent run. A flow is data that a generation gets from another through a
dataset that it read, or whose older rows it kept (`is_kept`).

It is needed for versions and their recalls: other walks only reach present generations. A view is
read when it is queried, so its generation has a copy for the time of each query (`query_copies`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from headwater import deadline
from headwater.events import JobRef
from headwater.graph.frontier import Frontier, Walked, add_edges
from headwater.graph.generation import Flow, Generation
from headwater.graph.generations import Generations
from headwater.identity import DatasetName

Use = tuple[Generation, DatasetName]
"""A generation, and a dataset that it wrote or read."""


def generations_downstream(
    generations: Generations,
    writes: Iterable[Use],
    reads: Iterable[Use] = (),
    *,
    is_proven: bool = False,
) -> Walked:
    """Return the generations that contain or use the data of writes, with their edges on the way.

    `reads` are further starts of the walk, for data whose writer is unknown. With `is_proven`,
    follow only flows that reported versions prove. A flow counts if its data was written before the
    reader ended. A generation is visited again only if an earlier time is found at which it had the
    data.
    """
    found: Walked = {}
    followed: dict[tuple[Generation, bool, DatasetName | None], float] = {}
    consumers: dict[DatasetName, Mapping[Generation, list[tuple[Generation, Flow]]]] = {}
    readers = ((g, name) for whole, name in reads for g in whole.slices if name in g.edges.reads)
    visits = Frontier((0, reader, name, False) for reader, name in readers)

    def follow(since: float, source: Generation, fed: Iterable[DatasetName]) -> None:
        """Visit the consumers of datasets that a generation wrote.

        `since` is the time (microseconds) from which the data is in `source`: a consumer that had
        read earlier does not have it. `fed` are the datasets with the data.
        """
        for dataset in fed:
            written = max(since, generations.times.of_writes(source, dataset).start)
            if dataset not in consumers:
                consumers[dataset] = _consumers_of(generations, dataset)
            for consumer, flow in consumers[dataset].get(source, ()):
                if flow.is_proven or (written <= flow.until and not is_proven):
                    began = 0 if flow.is_proven else written
                    visits.add(began, consumer, dataset, flow.is_kept)

    for writer, name in [(g, n) for whole, n in writes for g in whole.writing(n, ())]:
        for start in _with_queries(generations, writer):
            follow(0, start, [name])
    for since, generation, via, is_kept in visits:
        edges = generation.edges
        is_whole = edges.is_cross_product and not is_kept
        part = generation, is_kept, None if is_whole else via
        if since >= followed.get(part, float("inf")):
            continue
        followed[part] = since
        fed = {via} if is_kept else edges.writes if is_whole else edges.targets_of(via)
        add_edges(found, generation, set() if is_kept else {via}, fed, is_whole=False)
        follow(since, generation, fed)
    return found


def _with_queries(generations: Generations, generation: Generation) -> list[Generation]:
    """Return a generation and its copies at the times of queries of the views that it created."""
    if generation.queried_outputs:
        of_task(generations, generation.job)
    return [generation, *generation.query_copies]


def of_task(
    generations: Generations, ref: JobRef, above: frozenset[JobRef] = frozenset()
) -> list[Generation]:
    """Return all slices of a task, with the copies at the times of queries of its views.

    The copies of a view are made when the flows into its readers are determined, so these are
    determined first. `above` are the tasks whose views led here; it prevents an endless recursion.
    """
    every = [g for whole in generations.history(ref) for g in whole.slices]
    views = {name for generation in every for name in generation.queried_outputs}
    users = (generations.readers, generations.writers)
    for user in {user for name in views for users_of in users for user in users_of(name)} - above:
        own = every if user == ref else of_task(generations, user, above | {ref})
        for generation in own:
            generations.flows(generation)  # adds to `queries`
    found: list[Generation] = []
    while views:  # a view of the task may read another one
        count = len(found)
        found = [query for g in every for query in (g, *g.query_copies)]
        if len(found) == count:
            break
        for generation in found:
            generations.flows(generation)
    return found or every


def _consumers_of(
    generations: Generations, name: DatasetName
) -> Mapping[Generation, list[tuple[Generation, Flow]]]:
    """Return all flows through a dataset with their consumers, by source."""
    found: dict[Generation, list[tuple[Generation, Flow]]] = defaultdict(list)
    tasks = dict.fromkeys((*generations.readers(name), *generations.writers(name)))
    for ref in tasks:
        for generation in deadline.watched(of_task(generations, ref)):
            for flow in generations.flows(generation):
                if flow.dataset == name:
                    found[flow.source].append((generation, flow))
    return found
