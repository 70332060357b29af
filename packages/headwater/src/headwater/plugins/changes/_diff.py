"""Differences between two states of the lineage.

A state has everything that was reported until a time. The comparison of many nodes may exceed the
time of a query; its results so far are then kept with the states, and the next query continues.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from headwater import deadline
from headwater.datasets.removal import is_gone
from headwater.errors import DeadlineError
from headwater.events.facets import Schema, SourceCode, SourceCodeLocation
from headwater.graph.current import level_of, whole_graph_of
from headwater.graph.levels import Level
from headwater.graph.nodes import Node, node_id, typed_name
from headwater.node_facets import kind_of
from headwater.plugins.changes.models import CodeDifference, DiffAnswer, SchemaDifference
from headwater.projection import Run, RunState, State, outcome
from headwater.projection.derived import ancestry_of, records_of
from headwater.projection.facet_books import Stamp, pack, parsed
from headwater.query.parameters import LevelName
from headwater.query.registry import Times, query
from headwater.runs.models import RunInfo
from headwater.runs.service import run_info

_ADVICE = (
    "repeat the query to continue from the lineage computed so far. If it still does not finish,"
    " request the history of one node instead, or raise HEADWATER_LONGEST_QUERY"
)
_LEAST = 500
"""Nodes that each query compares, even if its time is over, so that repeated queries end."""
Change = TypeVar("Change", SchemaDifference, CodeDifference)


@dataclass(slots=True)
class _Progress:
    """The results of queries about two states so far."""

    after: object
    """The token of the later state."""
    changes: dict[Node, SchemaDifference | CodeDifference | None] = field(default_factory=dict)
    answers: dict[LevelName, DiffAnswer] = field(default_factory=dict)


def _progress(before: State, after: State) -> _Progress:
    """Return what queries found about two states; nothing after an event of either.

    An event clears `derived`. The results are kept there by the earlier state; a token in that of
    the later one shows if they are about it.
    """
    token = after.derived.setdefault(_progress, object())
    found: _Progress | None = before.derived.get(_Progress)
    if found is None or found.after is not token:
        found = before.derived[_Progress] = _Progress(token)
    return found


@query("diff", Times.BETWEEN)
def diff_answer(before: State, after: State, level: LevelName = "task") -> DiffAnswer:
    """Return the differences between two moments: nodes, edges, schemas, code and failed runs."""
    progress = _progress(before, after)
    try:
        if level not in progress.answers:
            progress.answers[level] = _difference(before, after, level)
            progress.changes.clear()
        return progress.answers[level]
    except DeadlineError:
        raise deadline.exceeded(_ADVICE) from None


def _difference(before: State, after: State, level: LevelName) -> DiffAnswer:
    """Return the differences at a level; nodes without edges are not compared.

    A dropped or renamed dataset counts as removed, even if its former edges remain.
    """
    old_edges, new_edges = (_edges(state, level_of(level)) for state in (before, after))
    old_nodes, new_nodes = _existing(before, old_edges), _existing(after, new_edges)
    both = sorted(old_nodes & new_nodes)
    edges = old_edges ^ new_edges
    found = _progress(before, after).changes
    schemas = _changes(found, both, "dataset", lambda node: _schema(before, after, node))
    code = _changes(found, both, "job", lambda node: _code(before, after, node))
    other = {item["node"] for item in schemas} | {item["node"] for item in code}
    named = (old_nodes ^ new_nodes) | _nodes(edges) | {n for n in both if node_id(n) in other}
    return {
        "level": level,
        "nodes": {
            node_id(node): {
                **typed_name(node),
                "kind": _kind(after if node in new_nodes else before, node),
            }
            for node in sorted(named)
        },
        "added": sorted(map(node_id, new_nodes - old_nodes)),
        "removed": sorted(map(node_id, old_nodes - new_nodes)),
        "edgesAdded": sorted(map(_shown, new_edges - old_edges)),
        "edgesRemoved": sorted(map(_shown, old_edges - new_edges)),
        "schemas": schemas,
        "code": code,
        "failed": _failed(before, after),
    }


def _existing(state: State, edges: Iterable[tuple[Node, Node]]) -> set[Node]:
    """Return the ends of edges without datasets that were dropped or renamed."""
    nodes = _nodes(edges)
    return {n for n in nodes if n.type == "job" or not is_gone(state, n.dataset_name)}


def _edges(state: State, level: Level) -> set[tuple[Node, Node]]:
    """Return all edges at a level, in the direction of the data."""
    graph = whole_graph_of(state, level)
    edges = set(graph.links())
    for ref, job_edges in graph.jobs.items():
        job = Node.of_job(ref)
        edges.update((Node.of_dataset(name), job) for name in job_edges.reads)
        edges.update((job, Node.of_dataset(name)) for name in job_edges.writes)
    return edges


def _kind(state: State, node: Node) -> str | None:
    """Return the kind of a dataset; None for a job."""
    return kind_of(state, node) if node.type == "dataset" else None


def _failed(before: State, after: State) -> list[RunInfo]:
    """Return the runs that failed or were aborted between the states, newest first.

    Of a failed run and failed runs below it, only the deepest are listed.
    """
    failed = {
        run.key: run
        for run in after.runs.values()
        if run.has_events and _has_failed(after, run) and not _has_failed(before, run)
    }
    above = {up.key for run in failed.values() for up in list(ancestry_of(after, run))[1:]}
    deepest = [run for key, run in failed.items() if key not in above]
    deepest.sort(key=lambda run: (outcome(after, run).ended or 0, run.key), reverse=True)
    return [run_info(after, run) for run in deepest]


def _has_failed(state: State, run: Run) -> bool:
    """Return True if a run, taken from any state, failed or was aborted in this state."""
    own = state.runs.get(run.key)
    return own is not None and outcome(state, own).state in (RunState.FAILED, RunState.ABORTED)


def _nodes(edges: Iterable[tuple[Node, Node]]) -> set[Node]:
    """Return the ends of edges."""
    return {node for edge in edges for node in edge}


def _shown(edge: tuple[Node, Node]) -> list[str]:
    """Return the ids of an edge's ends, in the direction of the data."""
    return [node_id(edge[0]), node_id(edge[1])]


def _changes(
    found: dict[Node, Any], nodes: list[Node], type_: str, changed: Callable[[Node], Change | None]
) -> list[Change]:
    """Return the changes of the nodes of a type; add them to `found`, which has earlier ones.

    `changed` returns None for an equal node.
    """
    nodes = [node for node in nodes if node.type == type_]
    for number, node in enumerate(node for node in nodes if node not in found):
        if number >= _LEAST:
            deadline.check()
        found[node] = changed(node)
    return [change for node in nodes if (change := found[node])]


def _schema(before: State, after: State, node: Node) -> SchemaDifference | None:
    """Return the fields that the newest schema gained and lost; None if it is equal or unknown.

    Producers name types differently: types are compared only if both schemas have one producer.
    """
    packed = _newest_schema(before, node), _newest_schema(after, node)
    if packed[0] == packed[1]:
        return None
    schemas = parsed(packed[0], Schema.parse), parsed(packed[1], Schema.parse)
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


def _newest_schema(state: State, node: Node) -> bytes:
    """Return the newest schema of a dataset, under any alias, as a packed facet."""
    found: tuple[Stamp, bytes] | None = None
    for record in records_of(state, node.dataset_name):
        schema = record.facets.stamped().get(Schema.KEY)
        if schema and (found is None or schema[0] > found[0]):
            found = schema
    return found[1] if found else pack({})


def _code(before: State, after: State, node: Node) -> CodeDifference | None:
    """Return the change of a job's commit or source code; None if neither changed."""
    ref = node.job_ref
    old, new = before.jobs[ref].facets, after.jobs[ref].facets
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
