"""Rows of all jobs or datasets, updated after events, for lists with filters and their counts.

A list of a large store is filtered by the values of groups instead of those of nodes: most jobs
share their values with others. Rows are determined on request and kept from query to query.

A *facet* is a property to filter by, such as the owner (query/filters.py); a *place* is a sort key.
`NodeStates` has the nodes that events may have changed (`touched`), and those of which only the
state may have changed (`restated`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from headwater import deadline
from headwater.filter_values import determine_values
from headwater.graph.nodes import Node
from headwater.health.states import NodeStates, node_states
from headwater.kept import exists, kept
from headwater.nodes.rows import place_by_activity
from headwater.projection import State
from headwater.query.filters import Values, choose
from headwater.query.models import Facets
from headwater.query.pages import Place

_NAME_PARTS = 4  # of a sort key by name
_SECONDS, _LEAST = 0.7, 500
"""Seconds after which a partial list is returned, and the rows that are determined in any case."""
_Key = tuple[tuple[str, ...], ...]
"""The values of all facets, in the order of the facets."""


@dataclass(slots=True, eq=False)
class Group:
    """The nodes of one type with the same values of all facets."""

    values: Values
    nodes: dict[Node, Place] = field(default_factory=dict)
    """The nodes, with their sort keys by activity."""


class Rows:
    """The groups of all nodes, as of the last update."""

    def __init__(self, state: State) -> None:
        """Create it without rows: all nodes are missing, and each query adds some."""
        self._state = state
        self._groups: dict[str, dict[_Key, Group]] = defaultdict(dict)
        self._rows: dict[Node, Group] = {}
        self._missing: dict[str, dict[Node, None]] = {
            "job": dict.fromkeys(map(Node.of_job, state.jobs)),
            "dataset": dict.fromkeys(map(Node.of_dataset, set(state.identity))),
        }
        self._unordered = set(self._missing)

    def update(self, states: NodeStates) -> None:
        """Remove the rows that may have changed since the last update.

        `states` are the states of the nodes, which know what events changed. It must be called
        before rows are read; `rows_of` does both.
        """
        for node in states.touched:
            self._remove(node)
            self._missing[node.type][node] = None
        states.touched.clear()
        for node in deadline.watched(tuple(states.restated)):
            if node in self._rows and self._rows[node].values["state"] != (states.of(node).state,):
                self._remove(node)
                self._missing[node.type][node] = None
            states.restated.discard(node)

    def groups(self, type_: str, *, in_part: bool = False) -> list[Group]:
        """Return the groups of all nodes of a type. If a deadline ends it, the next call continues.

        With `in_part`, the groups lack the nodes that would take too long; see `uncounted`.

        `type_` is `job` or `dataset`. In part, nodes with recent runs come first.
        """
        missing = self._missing[type_]
        if in_part and type_ in self._unordered and len(missing) > _LEAST:
            newest_first = sorted(missing, key=partial(_last_use, self._state), reverse=True)
            missing = self._missing[type_] = dict.fromkeys(newest_first)
            self._unordered.discard(type_)
        for node in _some(list(missing)) if in_part else deadline.watched(list(missing)):
            if exists(self._state, node):
                self.of(node)
            del missing[node]
        return list(self._groups[type_].values())

    def groups_with(self, nodes: Iterable[Node], *, in_part: bool = False) -> list[Group]:
        """Return groups of some nodes only; `in_part` as for `groups`.

        Nodes without a row at the end of the time are left out.
        """
        nodes = list(nodes)
        missing = [node for node in nodes if node not in self._rows]
        for node in _some(missing) if in_part else deadline.watched(missing):
            self.of(node)
        groups: dict[int, Group] = {}
        for node in nodes:
            if (whole := self._rows.get(node)) is not None:
                part = groups.setdefault(id(whole), Group(whole.values))
                part.nodes[node] = whole.nodes[node]
        return list(groups.values())

    def uncounted(self, type_: str) -> list[Node]:
        """Return the nodes of a type whose rows are not determined yet."""
        return [node for node in self._missing[type_] if exists(self._state, node)]

    def has(self, node: Node) -> bool:
        """Return True if the row of a node is determined."""
        return node in self._rows

    def of(self, node: Node) -> Group:
        """Return the group of a node."""
        group = self._rows.get(node)
        if group is None:
            current = node_states(self._state).of(node).state
            values = {**determine_values(self._state, node), "state": (current,)}
            key = tuple(map(tuple, values.values()))
            group = self._groups[node.type].setdefault(key, Group(values))
            group.nodes[node] = place_by_activity(self._state, node)
            self._rows[node] = group
        return group

    def _remove(self, node: Node) -> None:
        group = self._rows.pop(node, None)
        if group is not None:
            del group.nodes[node]
            if not group.nodes:
                del self._groups[node.type][tuple(map(tuple, group.values.values()))]


def rows_of(state: State) -> Rows:
    """Return the rows of a state, updated."""
    rows = kept(state, Rows)
    rows.update(node_states(state))
    return rows


def values_with_state(state: State, node: Node) -> Values:
    """Return the facet values of a node, including its state."""
    return rows_of(state).of(node).values


class Chosen(NamedTuple):
    """The rows of a list, each a node with its sort key by activity."""

    rows: list[tuple[Node, Place]]
    facets: Facets
    uncounted: list[Node] = []
    """The nodes to choose from whose values are not determined yet; they are not in `rows`."""


def choose_rows(
    state: State,
    type_: str,
    nodes: Iterable[Node] | None,
    wanted: Mapping[str, str],
    *,
    in_part: bool = False,
) -> Chosen:
    """Return the nodes of a type that have all wanted values, and the counts of each facet.

    `nodes` are the nodes to choose from, by default all. A sort key comes with each node: that by
    activity, which ends with the one by name (see `by_name`). With `in_part`, nodes whose values
    take too long to determine are in `uncounted` instead.

    `type_` is `job` or `dataset`. `wanted` has the selected values by facet. An answer that is
    partial marks its counts, and the client repeats the request.
    """
    rows = rows_of(state)
    if nodes is None:
        groups = rows.groups(type_, in_part=in_part)
        uncounted = rows.uncounted(type_)
    else:
        nodes = list(nodes)
        groups = rows.groups_with(nodes, in_part=in_part)
        uncounted = [node for node in nodes if not rows.has(node)]
    matching, counts = choose(
        groups, lambda group: group.values, wanted, lambda group: len(group.nodes)
    )
    chosen = [row for group in matching for row in group.nodes.items()]
    return Chosen(chosen, counts, uncounted)


def _some(nodes: Iterable[Node]) -> Iterable[Node]:
    """Yield as many nodes as the time for a partial list allows."""
    return deadline.within(_SECONDS, nodes, least=_LEAST)


def _last_use(state: State, node: Node) -> int:
    """Return about the time by which lists sort a node, without determining its generations."""
    if node.type == "job":
        runs = state.jobs[node.job_ref].runs
    else:
        record = state.datasets.get(node.dataset_name)
        runs = record.writers if record else set()
    return max((state.runs[key].last or 0 for key in runs), default=0)


def by_name(row: tuple[Node, Place]) -> Place:
    """Return the sort key of a row by name."""
    return row[1][-_NAME_PARTS:]


def by_activity(row: tuple[Node, Place]) -> Place:
    """Return the sort key of a row by the last write, or by the start of the newest run."""
    return row[1]
