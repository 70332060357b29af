"""Explicit lineage of a step: the inputs that feed each output."""

from __future__ import annotations

from collections.abc import Iterable

from headwater_client import stated

from ._dataset import Dataset

Name = tuple[str, str]
"""The namespace and name of a dataset."""


def stated_sources(
    inputs: Iterable[Dataset],
    outputs: Iterable[Dataset],
    consumed: Iterable[Dataset] = (),
    read_back: Iterable[Name] = (),
) -> dict[Name, list[Name]]:
    """Return the inputs that feed each output; empty if every output depends on every input.

    An output with declared sources depends on these, any other on all `inputs` and on the outputs
    in `read_back`, which the step wrote and then read. `consumed` are the inputs of queries that
    wrote their outputs themselves: they feed only outputs that declare them.
    """
    written = [
        (name_of(item), None if item.sources is None else [name_of(i) for i in item.sources])
        for item in outputs
    ]
    return stated.stated_sources(map(name_of, inputs), written, map(name_of, consumed), read_back)


def name_of(dataset: Dataset) -> Name:
    """Return the namespace and name of a dataset."""
    return dataset.namespace, dataset.name
