"""The rules of users that join names, with the pairs of names that they join.

A user defines a rule as two names with one wildcard, such as `s3://b|raw/*` and `hive|raw.*`. All
names that match with the same text for the wildcard become one dataset. The *primary name* of a
dataset is the one of its joined names under which it is shown.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from headwater import deadline
from headwater.health.findings import some
from headwater.identity import DatasetName
from headwater.name_rules import WILDCARD, value_in
from headwater.projection import State

Rule = tuple[DatasetName, DatasetName]
"""Two patterns of names, in sorted order."""
Pair = tuple[str, DatasetName, DatasetName]
"""The text that the wildcard of a rule stands for, and the two names that the rule joins."""
_NONE: Mapping[DatasetName, DatasetName] = {}


def rules_of(state: State) -> list[Rule]:
    """Return the rules of a state."""
    return sorted(rule for rule, (_, relation) in state.aliases.items() if relation == "rule")


def pairs_of(state: State, rule: Rule) -> list[Pair]:
    """Return the pairs of names that a rule joins.

    Only pairs of which both names were reported count.
    """
    pairs: list[Pair] = []
    for name in deadline.watched(_names(state)):
        value = value_in(rule[0], name)
        if value is not None:
            other = DatasetName(rule[1].namespace, rule[1].name.replace(WILDCARD, value))
            if other != name and other in state.identity:
                pairs.append((value, name, other))
    return sorted(pairs)


def _names(state: State) -> set[DatasetName]:
    """Return all reported names, also those that are only symlinks."""
    return {name for primary in state.identity for name in state.identity.names(primary)}


def joined_pairs(
    state: State, rule: Rule, merged: Mapping[DatasetName, DatasetName] = _NONE
) -> list[Pair]:
    """Return several pairs of a rule whose names became one dataset; empty if there are none.

    That is a mistake: the pairs of a rule should stay different datasets. To check a rule before it
    is added, pass in `merged` the new primary names that it would give to datasets.
    """
    datasets: defaultdict[DatasetName, list[Pair]] = defaultdict(list)
    for pair in pairs_of(state, rule):
        primary = state.identity.primary(pair[1])
        datasets[merged.get(primary, primary)].append(pair)
    return next((joined for joined in datasets.values() if len(joined) > 1), [])


def listed(pairs: list[Pair]) -> str:
    """Return the wildcard texts of some pairs as a short list."""
    return some(dict.fromkeys(repr(value) for value, _, _ in pairs))
