"""Query of the aliases that users declared."""

from __future__ import annotations

from headwater.events import shown_time
from headwater.graph.nodes import dataset_ref, name_of
from headwater.lineage.name_rules import pairs_of
from headwater.lineage.orphans import Pair, jobs_of, suggested_pairs
from headwater.plugins.aliases.models import AliasPair, SuggestedAlias
from headwater.projection import State
from headwater.query.models import Page
from headwater.query.pages import cut, paged
from headwater.query.parameters import Cursor, Limit
from headwater.query.registry import Times, query


@query("aliases", Times.THEN)
def aliases_answer(state: State, limit: Limit = 1_000, cursor: Cursor = None) -> Page[AliasPair]:
    """Return the names that users joined or separated, and the rules, with the time of each."""
    pairs = [pair for pair, (_, relation) in state.aliases.items() if relation != "reported"]
    found, more = cut(("aliases",), pairs, lambda pair: (*pair[0], *pair[1]), limit, cursor)
    joined: list[AliasPair] = [
        {
            "one": name_of(one),
            "other": name_of(other),
            "isSeparate": state.aliases[one, other][1] == "different",
            "isRule": (is_rule := state.aliases[one, other][1] == "rule"),
            "pairCount": len(pairs_of(state, (one, other))) if is_rule else None,
            "since": shown_time(state.aliases[one, other][0].time),
        }
        for one, other in found
    ]
    return paged(joined, more)


@query("aliases/suggested", Times.THEN)
def suggested_aliases_answer(
    state: State, limit: Limit = 100, cursor: Cursor = None
) -> Page[SuggestedAlias]:
    """Return pairs of names that may be one dataset, the most likely first.

    One is written and never read, the other is read and never written. The score is the sum of the
    points for equal columns, spelling, location and order of time. Nothing is joined until a user
    joins the pair.
    """
    pairs = suggested_pairs(state)
    about = ("aliases/suggested",)
    found, more = cut(about, pairs, _place, limit, cursor)
    return paged([_suggested(state, pair) for pair in found], more)


def _place(pair: Pair) -> tuple[int | str, ...]:
    return 100 - pair.score, *pair.written, *pair.read


def _suggested(state: State, pair: Pair) -> SuggestedAlias:
    """Return a suggested pair of names as part of the answer."""
    return {
        "score": pair.score,
        "written": dataset_ref(pair.written),
        "read": dataset_ref(pair.read),
        "evidence": [
            {"kind": item.kind, "message": item.message, "points": item.points}
            for item in pair.evidence
        ],
        "writers": [name_of(ref) for ref in jobs_of(state, [pair.written], is_read=False)],
        "readers": [name_of(ref) for ref in jobs_of(state, [pair.read], is_read=True)],
        "otherCount": pair.others,
    }
