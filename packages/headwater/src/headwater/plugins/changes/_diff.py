"""Differences between two states of the lineage.

A state has everything that was reported until a time. The comparison of many nodes may exceed the
time of a query; its results so far are then kept with the states, and the next query continues.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from headwater import deadline
from headwater.errors import DeadlineError
from headwater.graph.current import level_of, whole_graph_of
from headwater.graph.nodes import Node
from headwater.plugins.changes._compared import (
    Compared,
    code_difference,
    edges_of,
    existing,
    failed_between,
    newest_schema,
    nodes_of,
    schema_difference,
)
from headwater.plugins.changes._in_part import difference_in_part
from headwater.plugins.changes.models import CodeDifference, DiffAnswer, SchemaDifference
from headwater.projection import State
from headwater.query.parameters import LevelName
from headwater.query.registry import Times, query

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
    """Return the stored results about two states; empty after an event of either.

    The results are stored in `derived` of the earlier state, which an event clears. A token in
    `derived` of the later one shows if they are about it.
    """
    token = after.derived.setdefault(_progress, object())
    found: _Progress | None = before.derived.get(_Progress)
    if found is None or found.after is not token:
        found = before.derived[_Progress] = _Progress(token)
    return found


@query("diff", Times.BETWEEN)
def diff_answer(
    before: State, after: State, level: LevelName = "task", *, present: State | None = None
) -> DiffAnswer:
    """Return the differences between two moments: nodes, edges, schemas, code and failed runs."""
    progress = _progress(before, after)
    try:
        if level not in progress.answers:
            if present is None:
                progress.answers[level] = _difference(before, after, level)
            else:
                progress.answers[level] = difference_in_part(present, before, after, level)
            progress.changes.clear()
        return progress.answers[level]
    except DeadlineError:
        raise deadline.exceeded(_ADVICE) from None


def _difference(before: State, after: State, level: LevelName) -> DiffAnswer:
    """Return the differences at a level; nodes without edges are not compared.

    A dropped or renamed dataset counts as removed, even if its former edges remain.
    """
    graphs = [whole_graph_of(state, level_of(level)) for state in (before, after)]
    old_edges, new_edges = map(edges_of, graphs)
    old_nodes, new_nodes = (
        existing(before, nodes_of(old_edges)),
        existing(after, nodes_of(new_edges)),
    )
    both = sorted(old_nodes & new_nodes)
    found = _progress(before, after).changes

    def schema(node: Node) -> SchemaDifference | None:
        """Return the change of a dataset."""
        return schema_difference(node, newest_schema(before, node), newest_schema(after, node))

    def code(node: Node) -> CodeDifference | None:
        """Return the change of a job."""
        ref = node.job_ref
        return code_difference(node, before.jobs[ref].facets, after.jobs[ref].facets)

    return Compared(before, after, old_nodes, new_nodes, old_edges, new_edges).answer(
        level,
        _changes(found, both, "dataset", schema),
        _changes(found, both, "job", code),
        failed_between(before, after, after.runs.values()),
    )


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
