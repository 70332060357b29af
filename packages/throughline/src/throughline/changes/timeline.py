"""Runs around a node over time, and the changes of the graph there."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from throughline import deadline
from throughline.changes.changes import Change, Scope, changes, runs_of
from throughline.changes.models import GraphChange, RunCounts, TimelineAnswer
from throughline.events import shown_time
from throughline.graph.edges import LevelGraph
from throughline.graph.generations import Generations
from throughline.graph.levels import Level
from throughline.graph.nodes import Node, node_id, typed_name
from throughline.projection import Run, RunState, State, outcome
from throughline.projection.derived import began_at
from throughline.runs.summary import condition_of

_GROUPS = {
    RunState.COMPLETED: "completed",
    RunState.FAILED: "failed",
    RunState.ABORTED: "failed",
    RunState.LOST: "lost",
}


class Span(NamedTuple):
    """A time span in microseconds, divided into equal parts."""

    begin: int
    end: int
    parts: int

    @property
    def width(self) -> int:
        """Return the length of a part in microseconds, rounded up."""
        return max(1, -(-(self.end - self.begin) // self.parts))


def timeline(
    generations: Generations,
    graph: LevelGraph,
    scope: Scope,
    level: Level,
    span: Span,
    limit: int,
    node: Node,
) -> TimelineAnswer:
    """Return the runs of a scope, counted by their start, and its changes, newest first.

    The span is cut to begin no earlier than the first run or change.
    """
    state = generations.state
    runs = [run for ref in sorted(scope.jobs) for run in runs_of(state, ref)]
    found = list(changes(generations, graph, scope, level))
    begins = [begin for run in runs if (begin := began_at(state, run))]
    first = min([*begins, *(change.at for change in found)], default=span.end)
    span = span._replace(begin=min(max(span.begin, first), span.end))
    within = [change for change in found if span.begin <= change.at <= span.end]
    within.sort(key=lambda change: (change.at, change.node, change.kind), reverse=True)
    named = {end for change in within[:limit] for end in (change.node, change.other) if end}
    return {
        "node": node_id(node),
        "level": level.name.lower(),
        "from": shown_time(span.begin),
        "to": shown_time(span.end),
        "runs": _counted(state, runs, span),
        "changes": [_shown(change) for change in within[:limit]],
        "nodes": {node_id(end): typed_name(end) for end in sorted(named)},
        "isMore": len(within) > limit,
    }


def _shown(change: Change) -> GraphChange:
    return {
        "kind": change.kind,
        "isGone": change.is_gone,
        "at": shown_time(change.at),
        "before": shown_time(change.before),
        "node": node_id(change.node),
        "other": node_id(change.other) if change.other else None,
        "runId": change.run_id,
        "detail": list(change.detail),
    }


def _counted(state: State, runs: list[Run], span: Span) -> list[RunCounts]:
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
            "completed": parts[part]["completed"],
            "failed": parts[part]["failed"],
            "lost": parts[part]["lost"],
            "running": parts[part]["running"],
        }
        for part in sorted(parts)
    ]
