"""Rows of all jobs or datasets, updated after events, for lists with filters and their counts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

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
_Key = tuple[tuple[str, ...], ...]


@dataclass(slots=True, eq=False)
class Group:
    """The nodes of one type with the same values of all facets."""

    values: Values
    nodes: dict[Node, Place] = field(default_factory=dict)
    """The nodes, with their sort keys by activity."""


class Rows:
    """The groups of all nodes, as of the last update."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._groups: dict[str, dict[_Key, Group]] = defaultdict(dict)
        self._rows: dict[Node, Group] = {}
        self._missing: dict[str, dict[Node, None]] = {
            "job": dict.fromkeys(map(Node.of_job, state.jobs)),
            "dataset": dict.fromkeys(map(Node.of_dataset, set(state.identity))),
        }

    def update(self, states: NodeStates) -> None:
        """Remove the rows that may have changed since the last update."""
        for node in states.touched:
            self._remove(node)
            self._missing[node.type][node] = None
        states.touched.clear()
        for node in deadline.watched(tuple(states.restated)):
            if node in self._rows and self._rows[node].values["state"] != (states.of(node).state,):
                self._remove(node)
                self._missing[node.type][node] = None
            states.restated.discard(node)

    def groups(self, type_: str) -> list[Group]:
        """Return the groups of all nodes of a type.

        If a deadline ends it, the next call continues.
        """
        missing = self._missing[type_]
        for node in deadline.watched(list(missing)):
            if exists(self._state, node):
                self.of(node)
            del missing[node]
        return list(self._groups[type_].values())

    def groups_with(self, nodes: Iterable[Node]) -> list[Group]:
        """Return groups of some nodes only."""
        found: dict[int, Group] = {}
        for node in deadline.watched(nodes):
            whole = self.of(node)
            part = found.setdefault(id(whole), Group(whole.values))
            part.nodes[node] = whole.nodes[node]
        return list(found.values())

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


def choose_rows(
    state: State, type_: str, nodes: Iterable[Node] | None, wanted: Mapping[str, str]
) -> tuple[list[tuple[Node, Place]], Facets]:
    """Return the nodes of a type that have all wanted values, and the counts of each facet.

    `nodes` are the nodes to choose from, by default all. A sort key comes with each node: that by
    activity, which ends with the one by name (see `by_name`).
    """
    rows = rows_of(state)
    groups = rows.groups(type_) if nodes is None else rows.groups_with(nodes)
    matching, counts = choose(
        groups, lambda group: group.values, wanted, lambda group: len(group.nodes)
    )
    return [row for group in matching for row in group.nodes.items()], counts


def by_name(row: tuple[Node, Place]) -> Place:
    """Return the sort key of a row by name."""
    return row[1][-_NAME_PARTS:]


def by_activity(row: tuple[Node, Place]) -> Place:
    """Return the sort key of a row by the last write, or by the start of the newest run."""
    return row[1]
