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
    read_back: Iterable[Name] = (),
) -> dict[Name, list[Name]]:
    """Return the sources of each output; empty if nothing is known beyond inputs and outputs.

    An output with sources depends on these; other outputs (None) depend on all `inputs` and on the
    outputs in `read_back`, which the run wrote and then read. `consumed` are the inputs of queries
    that also wrote outputs; they feed only outputs that declare them. A run without inputs states
    sources too, because the inputs of its queries would otherwise feed all outputs.
    """
    default_sources, written = list(dict.fromkeys(inputs)), list(outputs)
    all_inputs = {*default_sources, *consumed}
    default_sources += [name for name in dict.fromkeys(read_back) if name not in all_inputs]
    declared: dict[Name, list[Name]] = {}
    for output, sources in written:
        if sources is not None:
            known = declared.setdefault(output, [])
            known += [name for name in sources if name not in known]
    lineage = {
        output: declared[output]
        if output in declared
        else [name for name in default_sources if name != output or name in all_inputs]
        for output, _ in written
    }
    is_more = any(set(sources) != all_inputs for sources in lineage.values())
    return lineage if is_more or (declared and not all_inputs) else {}
