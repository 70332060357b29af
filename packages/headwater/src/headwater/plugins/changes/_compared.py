"""Differences of nodes, edges, schemas, code and runs between two states."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from headwater.datasets.removal import is_gone
from headwater.events.facets import Schema, SourceCode, SourceCodeLocation
from headwater.graph.edges import LevelGraph
from headwater.graph.nodes import Node, node_id, typed_name
from headwater.node_facets import kind_of
from headwater.plugins.changes.models import CodeDifference, DiffAnswer, SchemaDifference
from headwater.projection import Run, RunState, State, outcome
from headwater.projection.derived import ancestry_of, records_of
from headwater.projection.facet_books import FacetBook, Stamp, pack, parsed
from headwater.query.parameters import LevelName
from headwater.runs.models import RunInfo
from headwater.runs.service import run_info

Edge = tuple[Node, Node]
"""The ends of an edge, in the direction of the data."""


class Compared(NamedTuple):
    """The nodes and edges of two states: all of them, or those that may differ."""

    before: State
    after: State
    old_nodes: set[Node]
    new_nodes: set[Node]
    old_edges: set[Edge]
    new_edges: set[Edge]

    def answer(
        self,
        level: LevelName,
        schemas: list[SchemaDifference],
        code: list[CodeDifference],
        failed: list[RunInfo],
    ) -> DiffAnswer:
        """Return the differences. `schemas` and `code` are those of nodes that both states have."""
        old_nodes, new_nodes = self.old_nodes, self.new_nodes
        changed = {item["node"] for item in (*schemas, *code)}
        in_both = {node for node in old_nodes & new_nodes if node_id(node) in changed}
        named = (old_nodes ^ new_nodes) | nodes_of(self.old_edges ^ self.new_edges) | in_both
        return {
            "level": level,
            "nodes": {
                node_id(node): {
                    **typed_name(node),
                    "kind": _kind(self.after if node in new_nodes else self.before, node),
                }
                for node in sorted(named)
            },
            "added": sorted(map(node_id, new_nodes - old_nodes)),
            "removed": sorted(map(node_id, old_nodes - new_nodes)),
            "edgesAdded": sorted(map(_shown, self.new_edges - self.old_edges)),
            "edgesRemoved": sorted(map(_shown, self.old_edges - self.new_edges)),
            "schemas": schemas,
            "code": code,
            "failed": failed,
        }


def existing(state: State, nodes: Iterable[Node]) -> set[Node]:
    """Return some nodes without datasets that were dropped or renamed."""
    return {n for n in nodes if n.type == "job" or not is_gone(state, n.dataset_name)}


def edges_of(graph: LevelGraph) -> set[Edge]:
    """Return all edges of a graph."""
    edges = set(graph.links())
    for ref, job_edges in graph.jobs.items():
        job = Node.of_job(ref)
        edges.update((Node.of_dataset(name), job) for name in job_edges.reads)
        edges.update((job, Node.of_dataset(name)) for name in job_edges.writes)
    return edges


def nodes_of(edges: Iterable[Edge]) -> set[Node]:
    """Return the ends of edges."""
    return {node for edge in edges for node in edge}


def _kind(state: State, node: Node) -> str | None:
    """Return the kind of a dataset; None for a job."""
    return kind_of(state, node) if node.type == "dataset" else None


def _shown(edge: Edge) -> list[str]:
    """Return the ids of an edge's ends, in the direction of the data."""
    return [node_id(edge[0]), node_id(edge[1])]


def failed_between(before: State, after: State, runs: Iterable[Run]) -> list[RunInfo]:
    """Return those of some runs of the later state that failed or were aborted in between.

    They are sorted, the newest first. Of a failed run and failed runs below it, only the deepest
    are listed.
    """
    failed = {
        run.key: run
        for run in runs
        if run.has_events and _has_failed(after, run) and not _has_failed(before, run)
    }
    above = {up.key for run in failed.values() for up in list(ancestry_of(after, run))[1:]}
    deepest = [run for key, run in failed.items() if key not in above]
    deepest.sort(key=lambda run: (outcome(after, run).ended or 0, run.key), reverse=True)
    return [run_info(after, run) for run in deepest]


def _has_failed(state: State, run: Run) -> bool:
    """Return True if a run, taken from any state, failed or was aborted in this state."""
    if run.first is not None and state.is_past and run.first > state.now:
        return False  # its first event is later
    own = state.runs.get(run.key)
    return own is not None and outcome(state, own).state in (RunState.FAILED, RunState.ABORTED)


def schema_difference(node: Node, before: bytes, after: bytes) -> SchemaDifference | None:
    """Return the fields that a packed schema gained and lost; None if it is equal or unknown.

    Producers name types differently: types are compared only if both schemas have one producer.
    """
    if before == after:
        return None
    schemas = parsed(before, Schema.parse), parsed(after, Schema.parse)
    is_same = schemas[0].producer == schemas[1].producer  # else compare names only
    old, new = (
        {
            f"{name}: {field.type}" if is_same else name
            for name, field in schema.fields.items()
            if not field.is_nested
        }
        for schema in schemas
    )
    if not old or not new or old == new:
        return None
    return {"node": node_id(node), "added": sorted(new - old), "removed": sorted(old - new)}


def newest_schema(state: State, node: Node) -> bytes:
    """Return the newest schema of a dataset, under any alias, as a packed facet."""
    found: tuple[Stamp, bytes] | None = None
    for record in records_of(state, node.dataset_name):
        schema = record.facets.stamped().get(Schema.KEY)
        if schema and (found is None or schema[0] > found[0]):
            found = schema
    return found[1] if found else pack({})


def code_difference(node: Node, old: FacetBook, new: FacetBook) -> CodeDifference | None:
    """Return the change of a job's commit or source code; None if neither changed.

    `old` and `new` are the facets of the job.
    """
    if all(old.packed(key) == new.packed(key) for key in (SourceCodeLocation.KEY, SourceCode.KEY)):
        return None
    versions = [book.parsed(SourceCodeLocation).version for book in (old, new)]
    is_other = old.parsed(SourceCode).sourceCode != new.parsed(SourceCode).sourceCode
    if versions[0] == versions[1] and not is_other:
        return None
    return {
        "node": node_id(node),
        "from": versions[0],
        "to": versions[1],
        "isSourceChanged": is_other,
    }
