"""Query of the aliases that users declared."""

from __future__ import annotations

from headwater.events import shown_time
from headwater.graph.nodes import name_of
from headwater.plugins.aliases.models import AliasPair
from headwater.projection import State
from headwater.query.models import Page
from headwater.query.pages import cut, paged
from headwater.query.parameters import Cursor, Limit
from headwater.query.registry import Times, query


@query("aliases", Times.THEN)
def aliases_answer(state: State, limit: Limit = 1_000, cursor: Cursor = None) -> Page[AliasPair]:
    """Return the pairs of names that users joined or separated, with the time of each."""
    pairs = [pair for pair, (_, relation) in state.aliases.items() if relation != "reported"]
    found, more = cut(("aliases",), pairs, lambda pair: (*pair[0], *pair[1]), limit, cursor)
    joined: list[AliasPair] = [
        {
            "one": name_of(one),
            "other": name_of(other),
            "isSeparate": state.aliases[one, other][1] == "different",
            "since": shown_time(state.aliases[one, other][0].time),
        }
        for one, other in found
    ]
    return paged(joined, more)
