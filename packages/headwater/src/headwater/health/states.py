"""The states of all nodes, updated after events instead of being determined again.

A state changes because of

- an event about the node, about a job of the family of the node or of a job that writes it,
- a failure or a failed check upstream, or the end of one, or
- the time: a node becomes late or stops, or its open run becomes stale.

A settled node, such as a healthy one, has nothing upstream that fails. Its state is determined
again after an event of the first kind, and when its time has come. The states of all other nodes,
and of those that a failure or a check may concern, are determined again after every event and once
a minute.

Queries about a past time use a state of their own, which `kept` gives its own states.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable
from math import inf

from headwater import deadline
from headwater.events import shown_time
from headwater.graph.nodes import Node, node_ref
from headwater.health.blocked import possibly_blocked
from headwater.health.failing import checked_nodes, possibly_failing
from headwater.health.models import HealthState, NodeHealth
from headwater.health.rules import (
    NO_RUN,
    NO_WRITER,
    Found,
    found_state,
    lateness_of,
    newest_runs,
)
from headwater.kept import LastUpdate, everything, kept, watch_writers
from headwater.partial import PartialState
from headwater.projection import State, outcome
from headwater.projection.derived import last_event_time

_MINUTE = 60_000_000  # microseconds
_SETTLED = ("healthy", "ad_hoc", "streaming")


def health_of(state: State, node: Node) -> NodeHealth:
    """Return the state of a node, by the first rule that applies."""
    found = node_states(state).of(node)
    return {
        "state": found.state,
        "message": found.message,
        "at": shown_time(found.at),
        "by": list(map(node_ref, found.by)),
    }


def state_of(state: State, node: Node) -> HealthState:
    """Return the state of a node without its reason."""
    return node_states(state).of(node).state


def counts_of_states(state: State) -> Counter[tuple[str, HealthState]]:
    """Return the number of nodes by type and state."""
    states = node_states(state)
    nodes = (*map(Node.of_job, state.jobs), *map(Node.of_dataset, set(state.identity)))
    return Counter((node.type, states.of(node).state) for node in deadline.watched(nodes))


def _possibly_unhealthy(state: State) -> set[Node]:
    """Return all nodes that a failure or a failed check concerns, and possibly others.

    Nodes outside of this set have no failed job or check upstream, so their state needs no other
    node.
    """
    failing = map(Node.of_job, possibly_failing(state))
    return {*possibly_blocked(state), *checked_nodes(state), *failing}


def node_states(state: State) -> NodeStates:
    """Return the states of the nodes of a state, updated."""
    states = kept(state, NodeStates)
    states.update()
    return states


class NodeStates:
    """The states of the nodes that queries requested, as of the last update.

    One object belongs to one projection and is updated before each query. Lists that show states
    clear `touched` and `restated` after they updated the rows of these nodes.
    """

    def __init__(self, state: State) -> None:
        """Create it without any state; each state is determined when it is first requested."""
        self._state = state
        self._last = LastUpdate(state)
        self._now, self._stale_after = 0, 0
        self._found: dict[Node, Found] = {}
        self._unsettled: set[Node] = set()
        self._due: list[tuple[float, Node]] = []
        """The times until which states are valid, a heap; some are of former states."""
        self.touched: set[Node] = set()
        """The nodes that events may have changed since the set was last cleared."""
        self.restated: set[Node] = set()
        """The nodes of which only the state may have changed since the set was last cleared."""

    def update(self) -> None:
        """Drop the states that may have changed since the last update.

        If the time went back, or the time after which open runs are stale has changed, all are
        dropped.
        """
        state = self._state
        minute, stale_after = state.now // _MINUTE, state.now - state.stale_before
        is_new_event = self._last.is_needed
        if is_new_event:
            touched = self._touched()
            self.touched |= touched
            self._drop(touched)
        if is_new_event or minute != self._now // _MINUTE:
            # Nothing is kept of a partial state: it has not all nodes that fail.
            is_partial = isinstance(state, PartialState)
            concerned = set(self._found) if is_partial else _possibly_unhealthy(state)
            self._restate(self._unsettled | concerned)
        if state.now < self._now or stale_after != self._stale_after:
            self._restate(set(self._found))
        while self._due and self._due[0][0] < state.now:
            self._restate({self._due[0][1]})
            heapq.heappop(self._due)
        self._last.finish()
        self._now, self._stale_after = state.now, stale_after

    def of(self, node: Node) -> Found:
        """Return the state of a node."""
        found = self._found.get(node)
        if found is None:
            found = found_state(self._state, node)
            self._watch(node, found)
            self._found[node] = found
        return found

    def _touched(self) -> set[Node]:
        """Return the nodes that events since the last update may concern, besides failures.

        If the changes since then are no longer recorded, or aliases were removed, these are all
        nodes.
        """
        if not self._last.is_done:  # no state was determined yet
            return set()
        touched = self._last.touched()
        if touched is None:
            names, jobs = everything(self._state)
            return {*self._found, *map(Node.of_dataset, names), *map(Node.of_job, jobs)}
        return touched

    def _watch(self, node: Node, found: Found) -> None:
        """Record when the state of a node may change.

        Without events about it, a settled node changes only at a known time: when it becomes late,
        or its open run stale. All others are determined again after every event.
        """
        state = self._state
        rhythm = lateness_of(state, node, needs_reason=False)
        due = rhythm.last + rhythm.limit if rhythm else inf
        is_settled = found.state in _SETTLED or found.message in (NO_RUN, NO_WRITER)
        if not is_settled or due < state.now:
            self._unsettled.add(node)
        else:
            is_open = (r for r in newest_runs(state, node) if outcome(state, r).ended is None)
            stale = (last_event_time(state, run) + self._stale_after for run in is_open)
            due = min((due, *stale))
            if due < inf:
                heapq.heappush(self._due, (due, node))
        if node.type == "dataset":
            watch_writers(state, node.dataset_name)

    def _restate(self, nodes: set[Node]) -> None:
        """Drop the states of nodes, and record that only these may have changed."""
        self.restated |= nodes
        self._drop(nodes)

    def _drop(self, nodes: Iterable[Node]) -> None:
        for node in nodes:
            self._found.pop(node, None)
            self._unsettled.discard(node)
