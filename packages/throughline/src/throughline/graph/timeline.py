"""What ran around a node over time, and how the graph there became what it is."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

from throughline import deadline
from throughline.graph.changes import Change, Scope, changes, runs_of
from throughline.graph.edges import LevelGraph
from throughline.graph.generations import Generations
from throughline.graph.levels import Level
from throughline.graph.nodes import node_id
from throughline.graph.walk import condition_of
from throughline.projection import Run, RunState, State, outcome
from throughline.projection.derived import began_at
from throughline.spec import shown_time

_GROUPS = {
    RunState.COMPLETED: "completed",
    RunState.FAILED: "failed",
    RunState.ABORTED: "failed",
    RunState.LOST: "lost",
}


class Span(NamedTuple):
    """A time in microseconds, cut into as many parts."""

    begin: int
    end: int
    parts: int

    @property
    def width(self) -> int:
        """How long a part is, rounded up."""
        return max(1, -(-(self.end - self.begin) // self.parts))


def timeline(
    known: Generations, graph: LevelGraph, scope: Scope, level: Level, span: Span, limit: int
) -> dict[str, Any]:
    """The runs of the jobs of a scope, counted by when they began, and what changed, newest first.

    Of each change `before` is a moment at which it had not begun and `at` one at which all of it
    was told; of each part of `runs` it is one at which all of these had ended that have an end.
    `nodes` has every node that is named. A span begins no earlier than the first of all.
    """
    state = known.state
    runs = [run for ref in sorted(scope.jobs) for run in runs_of(state, ref)]
    found = list(changes(known, graph, scope, level))
    begins = [begin for run in runs if (begin := began_at(state, run))]
    first = min([*begins, *(each["at"] for each in found)], default=span.end)
    span = span._replace(begin=min(max(span.begin, first), span.end))
    within = [each for each in found if span.begin <= each["at"] <= span.end]
    within.sort(key=lambda each: (each["at"], each["node"], each["kind"]), reverse=True)
    named = {each[key] for each in within[:limit] for key in ("node", "other")} - {None}
    return {
        "from": shown_time(span.begin),
        "to": shown_time(span.end),
        "runs": _counted(state, runs, span),
        "changes": [_shown(each) for each in within[:limit]],
        "nodes": {node_id(node): node._asdict() for node in sorted(named)},
        "isMore": len(within) > limit,
    }


def _shown(change: Change) -> Change:
    other = change["other"]
    return {
        **change,
        "at": shown_time(change["at"]),
        "before": shown_time(change["before"]),
        "node": node_id(change["node"]),
        "other": node_id(other) if other else None,
    }


def _counted(state: State, runs: list[Run], span: Span) -> list[dict[str, Any]]:
    parts: dict[int, Counter[str]] = {}
    ends: dict[int, int] = {}
    for run in deadline.watched(runs):
        begin = began_at(state, run)
        if begin is None or not span.begin <= begin <= span.end:
            continue
        part = min((begin - span.begin) // span.width, span.parts - 1)
        group = _GROUPS.get(condition_of(state, run), "running")
        parts.setdefault(part, Counter())[group] += 1
        end = min(span.begin + (part + 1) * span.width, span.end)
        ends[part] = max(ends.get(part, end), outcome(state, run).ended or end)
    return [
        {
            "from": shown_time(span.begin + part * span.width),
            "to": shown_time(min(span.begin + (part + 1) * span.width, span.end)),
            "at": shown_time(ends[part]),
            **{group: parts[part][group] for group in ("completed", "failed", "lost", "running")},
        }
        for part in sorted(parts)
    ]
