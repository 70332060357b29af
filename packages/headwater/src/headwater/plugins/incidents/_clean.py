"""Datasets downstream of bad versions whose present contents have no data of these versions.

- version: the contents of a dataset after one write; a bad one failed a check or was recalled
- spread: the nodes that contain or use data of the bad versions (`_version.spread_of`)
- generation: the runs of a task under one parent run; a flow is data that it gets from another
- kept rows: rows that a write left in the table, such as those before an INSERT
"""

from __future__ import annotations

from collections.abc import Sequence

from headwater.events.facets import CommitReport
from headwater.graph.frontier import upstream_of
from headwater.graph.generation import Generation
from headwater.graph.generations import Generations
from headwater.graph.levels import Level
from headwater.graph.nodes import Node, dataset_ref
from headwater.graph.placeholders import only_datasets
from headwater.graph.walk import reached
from headwater.identity import DatasetName
from headwater.lineage.walked_graph import replaced
from headwater.node_facets import kind_of
from headwater.plugins.incidents._named import Version
from headwater.plugins.incidents._version import Affected, Spread
from headwater.plugins.incidents.models import CleanDataset

_REPLACED = ("model", "artifact")
"""Kinds of datasets that every write replaces as a whole. A path may be a table or folder."""


def clean_datasets(
    generations: Generations, versions: Sequence[Version], spread: Spread
) -> list[CleanDataset]:
    """Return the datasets near bad versions whose present contents have none of their data.

    `spread` is what the versions reached, from `spread_of`. Candidates are the datasets downstream
    of the versions and their own datasets; those in `spread` that contain the data now are left
    out. `isProven` is false if times were needed.
    """
    state = generations.state
    affected = {node.node.dataset_name for node in spread.nodes if _is_current_dataset(node)}
    affected |= {named.name for named in versions if _is_present(generations, named)}
    names = {named.name for named in versions if named.name in state.identity}
    for named in versions:
        names |= _datasets_downstream(generations, named.node)
    bad = {named.name for named in versions}
    return [
        {**dataset_ref(name), "isProven": _is_proven(generations, name, bad)}
        for name in sorted(names - affected)
    ]


def _is_current_dataset(node: Affected) -> bool:
    """Return True if a node of the spread is a dataset whose present contents have the data."""
    return node.node.type == "dataset" and node.is_current


def _is_present(generations: Generations, named: Version) -> bool:
    """Return True if the present contents of a dataset may be of a version.

    They may be if no run is known to have written the dataset.
    """
    writing = {generation.writer for generation in generations.writing(named.name)}
    return not writing or not writing.isdisjoint(named.writers)


def _is_proven(generations: Generations, name: DatasetName, bad: set[DatasetName]) -> bool:
    """Return True if versions and commits prove all flows to the present contents of a dataset.

    A table without a commit report may have kept rows of earlier versions. A run may have read a
    bad version unless it reported which version it read.
    """
    times = generations.times
    walk = upstream_of(generations, generations.writing(name), name)
    return bool(walk) and all(
        generation.runs
        and all(_is_known(generations, generation, written) for written in edges.writes)
        and all(times.versions_read(generation, read) for read in edges.reads & bad)
        and all(
            flow.is_proven or flow.is_kept
            for flow in generations.flows(generation)
            if flow.source in walk and (flow.dataset in edges.reads or flow.is_kept)
        )
        for generation, edges in walk.items()
    )


def _is_known(generations: Generations, generation: Generation, name: DatasetName) -> bool:
    """Return True if it is known which rows of a dataset a generation kept.

    A model or artifact keeps none. For a table, it needs a commit report of one of the runs.
    """
    state = generations.state
    if kind_of(state, Node.of_dataset(name)) in _REPLACED:
        return True
    return any(
        use.io_facets.parsed(CommitReport).is_reported
        for run in generation.runs
        for spelled, use in run.outputs.items()
        if state.identity.primary(spelled) == name
    )


def _datasets_downstream(generations: Generations, root: Node) -> set[DatasetName]:
    """Return the datasets downstream of one, without those whose contents were replaced since.

    Lineage alone decides here, at the level of tasks: a dataset may be in it without bad data.
    """
    walked = reached(generations, root, "down", Level.TASK)
    datasets = {name for edges in walked.values() for name in only_datasets(edges.writes)}
    return datasets - replaced(generations, walked) - {root.dataset_name}
