"""Queries of changes over time."""

from __future__ import annotations

from typing import Annotated

from annotated_types import Ge, Le

from throughline.changes._diff import diff
from throughline.changes._history import history, place_of_entry
from throughline.changes._timeline import Scope, Span, timeline
from throughline.changes.models import DiffAnswer, HistoryAnswer, TimelineAnswer
from throughline.datasets.models import SchemaChange
from throughline.datasets.schemas import drift
from throughline.errors import ConfigError
from throughline.graph.current import generations_of, graph_of, level_of
from throughline.graph.nodes import find_dataset, find_node, node_id
from throughline.lineage.neighbourhood import at_level, graph_around
from throughline.projection import State
from throughline.query.models import Page
from throughline.query.pages import cut, paged
from throughline.query.parameters import Cursor, Depth, LevelName, Limit, Name
from throughline.query.registry import Times, micros_of, query


@query("timeline")
def timeline_answer(
    state: State,
    node: Name,
    up: Depth = 1,
    down: Depth = 1,
    level: LevelName = "task",
    from_: Annotated[str | None, "Start time; by default that of the first run."] = None,
    to: Annotated[str | None, "End time; by default now."] = None,
    parts: Annotated[int, Ge(1), Le(500), "Number of intervals to count runs in."] = 60,
    limit: Limit = 200,
) -> TimelineAnswer:
    """Return the runs around a node over time, and the changes of the graph there, newest first."""
    found, chosen = find_node(state, node), level_of(level)
    generations, graph = generations_of(state), graph_around(state, found, chosen)
    begin = 0 if from_ is None else micros_of(from_, "from")
    end = state.now or max((run.last or 0 for run in state.runs.values()), default=0)
    span = Span(begin, end if to is None else micros_of(to, "to"), parts)
    if span.begin > span.end:
        raise ConfigError(f"from: received {from_!r}, expected a time before {to or 'now'}")
    roots = at_level(generations, graph, found, chosen)
    scope = Scope.of(roots, graph, up, down)
    whole = graph_of(state, chosen)
    return timeline(generations, whole, scope, chosen, span, limit, found)


@query("diff", Times.BETWEEN)
def diff_answer(before: State, after: State, level: LevelName = "task") -> DiffAnswer:
    """Return the differences between two moments: nodes, edges, schemas, code and failed runs."""
    chosen = level_of(level)
    changes = diff(before, graph_of(before, chosen), after, graph_of(after, chosen))
    return {"level": chosen.name.lower(), **changes}


@query("history", Times.THEN)
def history_answer(
    state: State, node: Name, limit: Limit = 20, cursor: Cursor = None
) -> HistoryAnswer:
    """Return the history of a node, newest first: a dataset's versions and checks, a job's runs."""
    found = find_node(state, node)
    return {"node": node_id(found), **history(generations_of(state), found, limit, cursor)}


@query("drift", Times.THEN)
def drift_answer(
    state: State,
    node: Annotated[str | None, "A dataset; by default all."] = None,
    limit: Limit = 20,
    cursor: Cursor = None,
) -> Page[SchemaChange]:
    """Return the schema changes of one dataset or of all, newest first, with their runs."""
    if node is None:
        names = list(state.identity)
    else:
        found = find_dataset(state, node)
        names = [found.dataset_name]
    changes = (change for name in names for change in drift(state, name))
    about = ("drift", node)
    return paged(*cut(about, changes, place_of_entry, limit, cursor, newest_first=True))
