"""Overdue jobs and datasets. Only these have findings about lateness.

A job that only runs below others, such as a task, has no finding of its own.

The time after which a node is overdue is determined once, and again after events about it. A query
reads only the nodes whose time has passed. In a large store, the first queries before a deadline
check only some nodes each.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from math import inf

from headwater import deadline
from headwater.graph.nodes import Node
from headwater.health.failing import recent_roots
from headwater.health.freshness import rhythm_of_runs
from headwater.health.states import node_states
from headwater.health.writers import may_have_rhythm, overdue_writes_after
from headwater.kept import LastUpdate, exists, kept, watch_writers
from headwater.projection import State
from headwater.query.models import NodeType

_SECONDS, _LEAST = 0.7, 500
"""Seconds after which a query returns a partial answer, and the nodes that it always checks."""


def overdue_nodes(state: State, *, in_part: bool = False) -> Overdue:
    """Return the overdue nodes of a state. With `in_part`, some may be missing (`uncounted`)."""
    overdue = kept(state, Overdue)
    overdue.update(in_part=in_part)
    return overdue


def overdue_after(state: State, node: Node) -> float:
    """Return the time, in microseconds, after which a node is late, unless another rule applies.

    It is infinite without evidence of a schedule.
    """
    if node.type == "dataset":
        return overdue_writes_after(state, node.dataset_name)
    job = state.jobs.get(node.job_ref)
    may_have_one = job is not None and may_have_rhythm(state, job.runs)
    rhythm = rhythm_of_runs(state, node.job_ref) if may_have_one else None
    return rhythm.last + rhythm.limit if rhythm else inf


class Overdue:
    """The nodes whose usual interval has passed, as of the last update.

    `_after` has the time, in microseconds, after which each node is overdue; `_unchecked` the nodes
    of which it must be determined.
    """

    def __init__(self, state: State) -> None:
        """Start without nodes; `update` checks them."""
        self._state = state
        self._now = state.now
        self._after: dict[Node, float] = {}
        self._next: list[tuple[float, Node]] = []
        """A heap of the times in `_after` that have not passed. Some are outdated."""
        self._overdue: set[Node] = set()
        self._unchecked: dict[Node, None] = {}
        self._last = LastUpdate(state)

    @property
    def uncounted(self) -> int:
        """The number of nodes that are not checked yet."""
        return len(self._unchecked)

    def of(self, type_: NodeType) -> Iterator[Node]:
        """Yield the overdue jobs or datasets among the checked nodes, in no order."""
        return (node for node in self._overdue if node.type == type_)

    def update(self, *, in_part: bool = False) -> None:
        """Check the nodes that are new or that events concern, and add those whose time has passed.

        With `in_part`, check only some. If a deadline ends it, the next call continues. If the time
        is earlier than before, as in a query about the past, all times are compared again.
        """
        state = self._state
        self._find_changed()
        if state.now < self._now:
            self._overdue.clear()
            self._next = [(time, node) for node, time in self._after.items()]
            heapq.heapify(self._next)
        self._now = state.now
        states = node_states(state)
        waiting = list(self._unchecked)
        some = deadline.within(_SECONDS, waiting, least=_LEAST)
        for node in some if in_part else deadline.watched(waiting):
            if exists(state, node) and self._check(node):
                states.of(node)  # slow, so the time limit must include it
            del self._unchecked[node]
        while self._next and self._next[0][0] < state.now:
            time, node = heapq.heappop(self._next)
            if self._after.get(node) == time:
                self._overdue.add(node)

    def _find_changed(self) -> None:
        """Mark the nodes that events since the last update concern as unchecked.

        These are all nodes at the first update, and after more changes than the state records.
        """
        state = self._state
        if not self._last.is_needed:
            return
        touched: Iterable[Node] | None = self._last.touched()
        if touched is None:
            self._after.clear()
            self._overdue.clear()
            touched = (*map(Node.of_job, state.jobs), *map(Node.of_dataset, set(state.identity)))
        for node in touched:
            self._after.pop(node, None)
            self._overdue.discard(node)
            self._unchecked[node] = None
        self._last.finish()

    def _check(self, node: Node) -> bool:
        """Determine the time after which a node is overdue; return True if it has passed.

        It is infinite (never) for a job whose runs are all below others, such as a task. A dataset
        is checked again after events about the jobs that write it (`watch_writers`).
        """
        is_part = node.type == "job" and not recent_roots(self._state, node.job_ref)
        time = inf if is_part else overdue_after(self._state, node)
        if node.type == "dataset":
            watch_writers(self._state, node.dataset_name)
        if time < inf:
            self._after[node] = time
            heapq.heappush(self._next, (time, node))
        return time < self._state.now
