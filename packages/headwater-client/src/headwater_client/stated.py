"""Explicit lineage of a run: the inputs that feed each output."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["stated_sources"]

Name = tuple[str, str]
"""The namespace and name of a dataset."""


def stated_sources(
    inputs: Iterable[Name],
    outputs: Iterable[tuple[Name, Sequence[Name] | None]],
    consumed: Iterable[Name] = (),
) -> dict[Name, list[Name]]:
    """Return the inputs that feed each output; empty if every output depends on every input.

    An output with sources depends on these; other outputs (None) depend on all `inputs`. `consumed`
    are the inputs of queries that also wrote outputs; they feed only outputs that declare them.
    """
    default_sources, written = list(dict.fromkeys(inputs)), list(outputs)
    declared: dict[Name, list[Name]] = {}
    for output, sources in written:
        if sources is not None:
            known = declared.setdefault(output, [])
            known += [name for name in sources if name not in known]
    lineage = {output: declared.get(output, default_sources) for output, _ in written}
    all_inputs = {*default_sources, *consumed}
    return lineage if any(set(sources) != all_inputs for sources in lineage.values()) else {}
