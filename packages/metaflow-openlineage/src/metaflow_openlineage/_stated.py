"""Explicit lineage of a step: the inputs that feed each output."""

from __future__ import annotations

from collections.abc import Iterable

from ._dataset import Dataset

Name = tuple[str, str]
"""The namespace and name of a dataset."""


def stated_sources(
    inputs: Iterable[Dataset], outputs: Iterable[Dataset], consumed: Iterable[Dataset] = ()
) -> dict[Name, list[Name]]:
    """Return the inputs that feed each output; empty if every output depends on every input.

    An output with declared sources depends on these, any other on all `inputs`. `consumed` are the
    inputs of queries that wrote their outputs themselves: they feed only outputs that declare them.
    """
    default_sources, written = _names(inputs), list(outputs)
    declared: dict[Name, list[Name]] = {}
    for output in written:
        if output.sources is not None:
            sources = declared.setdefault((output.namespace, output.name), [])
            sources += [name for name in _names(output.sources) if name not in sources]
    lineage = {name: declared.get(name, default_sources) for name in _names(written)}
    all_inputs = {*default_sources, *_names(consumed)}
    return lineage if any(set(sources) != all_inputs for sources in lineage.values()) else {}


def _names(datasets: Iterable[Dataset]) -> list[Name]:
    return list(dict.fromkeys((dataset.namespace, dataset.name) for dataset in datasets))
