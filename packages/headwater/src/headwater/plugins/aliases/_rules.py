"""Rules that join all pairs of names that match two patterns, such as `prod_%s` and `%s`."""

from __future__ import annotations

from headwater.errors import ConfigError, NotFoundError
from headwater.graph.nodes import Node, node_id
from headwater.identity import DatasetName, canonical_name
from headwater.lineage.name_rules import Rule, joined_pairs, listed, pairs_of, rules_of
from headwater.log import Entry
from headwater.name_rules import WILDCARD
from headwater.plugins.aliases._entry import make_alias
from headwater.projection import State


def rule_entry(state: State, one: str, other: str, now: int, *, is_removed: bool = False) -> Entry:
    """Return the log entry that adds or removes a rule; `now` is in microseconds.

    Raises:
        NotFoundError: there is no such rule to remove.
        ConfigError: a pattern is invalid, or the rule would join too many names.

    `one` and `other` are ids with one `%s` in the name, as the user wrote them.
    """
    first, second = sorted((_pattern(state, "one", one), _pattern(state, "other", other)))
    if first == second:
        raise ConfigError(f"other: received {other!r}, expected a pattern other than {one!r}")
    previous = state.aliases.get((first, second))
    if is_removed and (previous is None or previous[1] != "rule"):
        known = [f"{_id(a)} {_id(b)}" for a, b in rules_of(state)]
        message = f"there is no rule that joins {_id(first)} with {_id(second)}"
        raise NotFoundError(message, known[:5])
    if not is_removed:
        _check(state, (first, second))
    # Later than the previous entry, even if another clock was ahead.
    time = now if previous is None else max(now, previous[0].time + 1)
    return make_alias(first, second, time, "reported" if is_removed else "rule")


def _check(state: State, new: Rule) -> None:
    """Raise ConfigError if a new rule would join the names of several pairs of one rule."""
    merged = _merged(state, new)  # the datasets as if the rule was applied
    for rule in (new, *rules_of(state)):
        before, joined = joined_pairs(state, rule), joined_pairs(state, rule, merged)
        if joined and not before:
            one, other = map(_id, rule)
            raise ConfigError(
                f"the rule would join the names of several pairs of {one} = {other} into one"
                f" dataset: {WILDCARD} = {listed(joined)}. Use longer patterns, or join single"
                " names."
            )


def _merged(state: State, rule: Rule) -> dict[DatasetName, DatasetName]:
    """Return, by primary name, one of the primary names that a rule joins it with.

    Names that the rule joins with no other are missing.
    """
    groups: dict[DatasetName, set[DatasetName]] = {}
    for _, *names in pairs_of(state, rule):  # the text for `%s`, and the two names
        both = {state.identity.primary(name) for name in names}
        group = both.union(*(groups.get(name, ()) for name in both))
        groups.update(dict.fromkeys(group, group))
    return {name: min(group) for name, group in groups.items()}


def _pattern(state: State, argument: str, text: str) -> DatasetName:
    """Return the pattern in an id. Raises ConfigError if it contains none.

    `argument` is the name of the argument in messages. As namespaces contain colons too, the
    longest known namespace is taken.
    """
    parts = text.removeprefix("dataset:").split(":")
    if text.count(WILDCARD) == 1 and WILDCARD in parts[-1] and len(parts) > 1:
        cuts = [(":".join(parts[:at]), ":".join(parts[at:])) for at in range(1, len(parts))]
        known = [cut for cut in cuts if cut[0] in state.namespaces]
        pattern = canonical_name(*(known or cuts)[-1])
        if pattern.name.count(WILDCARD) == 1:
            return pattern
    raise ConfigError(
        f"{argument}: received {text!r}, expected the id of a dataset with one {WILDCARD} in its"
        f" name, such as dataset:postgres://db:5432:shop.prod_{WILDCARD}"
    )


def _id(name: DatasetName) -> str:
    """Return the id of the dataset with a name, or of a pattern."""
    return node_id(Node.of_dataset(name))
