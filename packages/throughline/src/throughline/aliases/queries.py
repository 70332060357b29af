"""Query of the aliases that users declared."""

from __future__ import annotations

from throughline.aliases.models import AliasPair
from throughline.aliases.service import aliases
from throughline.projection import State
from throughline.query.models import Page
from throughline.query.parameters import Cursor, Limit
from throughline.query.registry import Times, query


@query("aliases", Times.THEN)
def aliases_answer(state: State, limit: Limit = 1_000, cursor: Cursor = None) -> Page[AliasPair]:
    """Return the pairs of aliases that users declared, with the time of each."""
    return aliases(state, limit, cursor)
