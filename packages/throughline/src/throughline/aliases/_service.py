"""Add and remove aliases that users declare."""

from __future__ import annotations

from throughline.errors import ConfigError, NotFoundError
from throughline.graph.nodes import find_dataset
from throughline.identity import DatasetName, canonical_name
from throughline.log import Entry, make_alias
from throughline.projection import State


def alias_entry(state: State, one: str, other: str, now: int, *, is_removed: bool) -> Entry:
    """Return the log entry that joins two ids or short names as aliases, or separates them again.

    `now` is in microseconds.

    Raises:
        NotFoundError: there is no such dataset, or the two are not joined.
        ConfigError: both are the same name.
    """
    first, second = sorted(_name_of(state, text) for text in (one, other))
    if first == second:
        raise ConfigError(f"other: received {other!r}, expected another name than {one!r}")
    if is_removed and not state.aliases.get((first, second), (None, False))[1]:
        joined = [f"{a.name} = {b.name}" for (a, b), (_, on) in state.aliases.items() if on]
        raise NotFoundError(f"{one!r} and {other!r} were not joined by an alias", joined[:5])
    previous = state.aliases.get((first, second))
    # Later than the previous entry, even if another clock was ahead.
    time = now if previous is None else max(now, previous[0].time + 1)
    return make_alias(first, second, time, is_removed=is_removed)


def _name_of(state: State, text: str) -> DatasetName:
    """Return the exact name that was entered, not the shown name of its dataset."""
    node = find_dataset(state, text)
    names = state.identity.names(node.dataset_name)
    typed = [name for name in names if name.name == text or name in _spelled(text)]
    return next(iter(typed or [name for name in names if name.name.endswith(text)] or names))


def _spelled(text: str) -> set[DatasetName]:
    """Return every name that an id can mean; namespaces contain colons too."""
    parts = text.removeprefix("dataset:").split(":")
    cuts = range(1, len(parts))
    return {canonical_name(":".join(parts[:at]), ":".join(parts[at:])) for at in cuts}
