"""Which inputs of a step feed which of its outputs, where that is not all of them."""

from __future__ import annotations

from collections.abc import Iterable

from ._dataset import Dataset

Name = tuple[str, str]
"""The namespace and name of a dataset."""


def stated_sources(
    inputs: Iterable[Dataset], outputs: Iterable[Dataset], consumed: Iterable[Dataset] = ()
) -> dict[Name, list[Name]]:
    """Return the inputs that feed each output; empty if every output depends on every input.

    An output with stated sources depends on these, any other on all `inputs`. What a query read to
    write its result itself is `consumed`: it feeds only outputs that state it.
    """
    free, written = _names(inputs), list(outputs)
    found: dict[Name, list[Name]] = {}
    for output in written:
        if output.sources is not None:
            held = found.setdefault((output.namespace, output.name), [])
            held += [name for name in _names(output.sources) if name not in held]
    found = {name: found.get(name, free) for name in _names(written)}
    every = {*free, *_names(consumed)}
    return found if any(set(sources) != every for sources in found.values()) else {}


def _names(datasets: Iterable[Dataset]) -> list[Name]:
    return list(dict.fromkeys((each.namespace, each.name) for each in datasets))
