"""The tables and models that were written last."""

from __future__ import annotations

from collections.abc import Iterator

from throughline import deadline
from throughline.graph.edges import LevelGraph
from throughline.graph.nodes import Node, kind_of, node_ref
from throughline.projection import State
from throughline.runs.summary import place_of_run, run_line
from throughline.search.models import NewestDataset

_KINDS = ("table", "model")


def newest(state: State, graph: LevelGraph) -> Iterator[NewestDataset]:
    """Yield the tables and models that jobs wrote, the newest run first."""
    jobs = sorted(graph.runs, key=lambda ref: place_of_run(state, graph.runs[ref]), reverse=True)
    seen: set[Node] = set()
    for ref in deadline.watched(jobs):
        ended = run_line(state, graph.runs[ref])["endedAt"]
        for node in map(Node.of_dataset, sorted(graph.edges_of(ref).writes)):
            kind = kind_of(state, node)
            if kind in _KINDS and node not in seen:
                seen.add(node)
                yield {**node_ref(node), "kind": kind, "writtenAt": ended}
