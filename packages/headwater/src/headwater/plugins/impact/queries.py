"""Queries of impact and paths."""

from __future__ import annotations

from headwater.graph.current import generations_of, level_of
from headwater.graph.nodes import node_id
from headwater.lineage import models
from headwater.lookup import find_dataset, find_node
from headwater.partial import PartialState
from headwater.plugins.impact._drop import drop_verdict, unknown_readers
from headwater.plugins.impact._impact import column_impact, impact
from headwater.plugins.impact._paths import path_answer
from headwater.projection import State
from headwater.query.parameters import Depth, Field, LevelName, Name
from headwater.query.registry import Times, query

__all__ = ["impact_answer", "path_answer"]


@query("impact", Times.THEN)
def impact_answer(
    state: State,
    node: Name,
    field: Field = None,
    level: LevelName = "task",
    depth: Depth = 20,
) -> models.ImpactAnswer:
    """Return the nodes that a change of a node or of one column affects, with tags.

    For a column, `affected` takes values from it, and `indirect` has rows that it filters, joins,
    groups or sorts. `possible` may be affected (no column lineage reported). `drop` states
    whether the column can be dropped: safe, unsafe or unknown, with reasons. Without a column,
    `unknown` names jobs and views that may also read the dataset, through its folder or its files.
    """
    found = find_node(state, node) if field is None else find_dataset(state, node)
    generations = generations_of(state)
    if isinstance(state, PartialState):
        state.will_walk("down", *found)
    if field is None:
        affected = impact(generations, found, level_of(level), depth)
        return {
            "node": node_id(found),
            "depth": depth,
            "level": level,
            "affected": affected,
            "unknown": unknown_readers(generations, found),
        }
    reached = column_impact(generations, found, field, depth)
    answer: models.ImpactAnswer = {
        "node": node_id(found),
        "depth": depth,
        "field": field,
        "affected": reached.affected,
        "indirect": reached.indirect,
        "possible": reached.possible,
    }
    if depth > 0:
        answer["drop"] = drop_verdict(
            generations, found, field, reached.affected, reached.indirect, reached.unreported
        )
    return answer
