"""Join and separate names of datasets, as users declare."""

from __future__ import annotations

from headwater.errors import ConfigError, NotFoundError
from headwater.events import Relation
from headwater.graph.nodes import Node, node_id
from headwater.identity import DatasetName, canonical_name
from headwater.log import Entry
from headwater.lookup import find_dataset
from headwater.plugins.aliases._entry import make_alias
from headwater.plugins.aliases._rules import rule_entry
from headwater.projection import State

Pair = tuple[DatasetName, DatasetName]


def stated_entry(
    state: State,
    one: str,
    other: str,
    now: int,
    *,
    is_removed: bool = False,
    is_separate: bool = False,
    is_rule: bool = False,
) -> Entry:
    """Return the log entry of a statement about two names or patterns; see `alias_entry`.

    Raises:
        NotFoundError: as `alias_entry` and `rule_entry`.
        ConfigError: also if a rule is meant to separate names.

    The caller stores the entry.
    """
    if not is_rule:
        return alias_entry(state, one, other, now, is_removed=is_removed, is_separate=is_separate)
    if is_separate:
        raise ConfigError("isSeparate: received true for a rule, which only joins")
    return rule_entry(state, one, other, now, is_removed=is_removed)


def alias_entry(
    state: State,
    one: str,
    other: str,
    now: int,
    *,
    is_removed: bool = False,
    is_separate: bool = False,
) -> Entry:
    """Return the log entry that joins two ids or short names as aliases, or separates them.

    `is_separate` states that the names are two datasets: a symlink joins or may join them, or they
    are similar. `is_removed` removes either statement. `now` is in microseconds.

    Raises:
        NotFoundError: there is no such dataset, no statement to remove, or names to separate are
            joined only through other names.
        ConfigError: both are the same name.
    """
    names = _name_of(state, one), _name_of(state, other)
    first, second = sorted(names)
    if first == second:
        raise ConfigError(f"other: received {other!r}, expected another name than {one!r}")
    # The last statement about the pair: `same`, `different` or `rule`; `reported`: it was removed.
    previous = state.aliases.get((first, second))
    relation = previous[1] if previous else "reported"
    if is_removed and relation == "reported":
        stated = [
            f"{a.name} {'=' if joined == 'same' else '≠'} {b.name}"
            for (a, b), (_, joined) in state.aliases.items()
            if joined in ("same", "different")
        ]
        raise NotFoundError(
            f"{one!r} and {other!r} were neither joined nor separated by a user", stated[:5]
        )
    if is_separate and relation != "same":
        _check_separable(state, (first, second))
    # Later than the previous entry, even if another clock was ahead.
    time = now if previous is None else max(now, previous[0].time + 1)
    statement: Relation = "reported" if is_removed else "different" if is_separate else "same"
    return make_alias(first, second, time, statement)


def _check_separable(state: State, pair: Pair) -> None:
    """Raise NotFoundError if two names are joined only through others; suggest those.

    Names that nothing joins can be separated: they may only look like one dataset.
    """
    identity = state.identity
    if pair in identity.symlinks or pair[::-1] in identity.symlinks:
        return
    if identity.primary(pair[0]) != identity.primary(pair[1]):
        return
    one, other = (node_id(Node.of_dataset(name)) for name in pair)
    message = f"{one} and {other} are joined only through other names"
    names = set(identity.names(pair[0]))
    pairs = [
        " ".join(node_id(Node.of_dataset(name)) for name in link)
        for link in sorted(identity.symlinks)
        if names.issuperset(link) and set(link) & set(pair)
    ]
    raise NotFoundError(f"{message}; separate a pair of names that a symlink joins", pairs[:5])


def _name_of(state: State, text: str) -> DatasetName:
    """Return the exact name that was entered, not the shown name of its dataset.

    Raises NotFoundError if there is no such dataset. A short name is compared with all its names.
    """
    if spelled := [name for name in sorted(_spelled(text)) if name in state.identity]:
        return spelled[0]
    node = find_dataset(state, text)
    names = state.identity.names(node.dataset_name)
    typed = [name for name in names if name.name == text]
    return next(iter(typed or [name for name in names if name.name.endswith(text)] or names))


def _spelled(text: str) -> set[DatasetName]:
    """Return every name that an id can mean; namespaces contain colons too."""
    parts = text.removeprefix("dataset:").split(":")
    cuts = range(1, len(parts))
    return {canonical_name(":".join(parts[:at]), ":".join(parts[at:])) for at in cuts}
