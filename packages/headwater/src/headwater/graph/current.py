"""The graphs of a state, each updated or rebuilt after an event.

A *generation* is the runs of a task under one parent run. It is *present* if it is effective, or if
data flows from it to an effective one (graph/present.py). A level is pipelines, tasks or queries.
`state.derived` is a cache that every event empties.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import TypeVar

from headwater.errors import ConfigError
from headwater.graph.column_graph import ColumnGraph
from headwater.graph.edges import LevelGraph
from headwater.graph.effective import EffectiveGraph
from headwater.graph.generations import Generations
from headwater.graph.levels import Level
from headwater.projection import State

Answer = TypeVar("Answer")


def level_of(text: str) -> Level:
    """Return the level with a name. Raises ConfigError if there is none."""
    try:
        return Level[text.upper()]
    except KeyError:
        names = ", ".join(level.name.lower() for level in reversed(Level))
        raise ConfigError(f"level: received {text!r}, expected one of {names}") from None


def once_an_event(compute: Callable[[State], Answer]) -> Callable[[State], Answer]:
    """Decorate a function of a state, so that its result is cached until the next event.

    The cache is `state.derived`, by the function itself; every applied event empties it.
    """

    @wraps(compute)
    def cached(state: State) -> Answer:
        if compute not in state.derived:
            state.derived[compute] = compute(state)
        answer: Answer = state.derived[compute]
        return answer

    return cached


def graph_of(state: State, level: Level) -> EffectiveGraph:
    """Return the graph of the present generations at a level, for queries about a part of it.

    It is built in parts, when a query reaches them.
    """
    return _PARTS[level](state)


def whole_graph_of(state: State, level: Level) -> LevelGraph:
    """Return the whole graph at a level; the first query after an event builds it."""
    return _GRAPHS[level](state)


def _in_parts(level: Level, state: State) -> EffectiveGraph:
    return EffectiveGraph(generations_of(state), level)


def _whole(level: Level, state: State) -> LevelGraph:
    generations = generations_of(state)
    return LevelGraph.build(generations, level, generations.present.parts())


_PARTS = {level: once_an_event(partial(_in_parts, level)) for level in Level}
_GRAPHS = {level: once_an_event(partial(_whole, level)) for level in Level}


def generations_of(state: State) -> Generations:
    """Return the generations of a state, up to its newest event.

    One object per state, stored in it: later calls only process the events since (`refresh`).
    """
    generations = state.generations
    if not isinstance(generations, Generations):
        generations = state.generations = Generations(state)
    generations.refresh()
    return generations


@once_an_event
def column_graph_of(state: State) -> ColumnGraph:
    """Return the column lineage of the latest run of every job, as in Marquez's graph."""
    return ColumnGraph.current(generations_of(state))
