"""Facets: the values by which a list can be filtered, with the number of items that have them.

Here, a facet is a property by which a list is filtered, not a facet of OpenLineage.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar, cast

from headwater import deadline
from headwater.query.models import Facets, ValueCount
from headwater.query.parameters import Filters

Item = TypeVar("Item")
Values = Mapping[str, Sequence[str]]
"""The values of an item, by facet; an item without any has the value NO_VALUE."""

NO_VALUE = ""
_MOST_VALUES = 200
_FACETS = ("namespace", "platform", "type", "owner", "tag", "state")


def choose(
    items: Iterable[Item],
    values_of: Callable[[Item], Values],
    wanted: Mapping[str, str],
    size_of: Callable[[Item], int] = lambda _item: 1,
) -> tuple[list[Item], Facets]:
    """Return the items that have all wanted values, and the counts of each facet of nodes.

    See `choose_by` for the arguments.
    """
    matching, counts = choose_by(_FACETS, items, values_of, wanted, size_of)
    return matching, cast("Facets", counts)


def choose_by(
    facets: Sequence[str],
    items: Iterable[Item],
    values_of: Callable[[Item], Values],
    wanted: Mapping[str, str],
    size_of: Callable[[Item], int] = lambda _item: 1,
) -> tuple[list[Item], dict[str, list[ValueCount]]]:
    """Return the items that have all wanted values, and the counts of each of the facets.

    A facet counts the items that match the other facets: as many as selecting the value would show.
    So an item that misses one wanted value counts for that facet only, one that misses two for
    none. An item may stand for several with the same values; `size_of` returns their number.

    `values_of` returns the values of an item by facet. `wanted` has the values that the user
    selected, by facet; NO_VALUE selects the items without any.
    """
    counters: dict[str, Counter[str]] = {name: Counter() for name in facets}
    matching: list[Item] = []
    for item in deadline.watched(items):
        values = values_of(item)
        missed = [name for name, value in wanted.items() if value not in values[name]]
        if not missed:
            matching.append(item)
        size = size_of(item)
        for name in values if not missed else missed[:1] if len(missed) == 1 else ():
            counter = counters[name]
            for value in values[name]:
                counter[value] += size
    counts = {name: _counted(counters[name], wanted.get(name)) for name in facets}
    return matching, counts


def wanted_values(filters: Filters, state: str | None = None) -> dict[str, str]:
    """Return the values of the parameters that filter a list, by facet."""
    values = sorted({**filters, "state": state}.items())
    return {name.rstrip("_"): str(value) for name, value in values if value is not None}


def _counted(counter: Counter[str], selected: str | None) -> list[ValueCount]:
    """Return the most frequent values, and always the selected one."""
    shown = sorted(counter, key=lambda value: (-counter[value], value))[:_MOST_VALUES]
    if selected is not None and selected not in shown:
        shown.append(selected)
    return [{"value": value, "count": counter[value]} for value in shown]
