"""Which inputs of a step feed which outputs."""

from __future__ import annotations

import pytest

from metaflow_openlineage import Dataset
from metaflow_openlineage._stated import stated_sources

# Metaflow's own import of a moved module; it depends on which packages are installed.
pytestmark = pytest.mark.filterwarnings("ignore:The _yaml extension module")


def made(name: str, *sources: str) -> Dataset:
    return Dataset("n", name, sources=tuple(Dataset("n", source) for source in sources) or None)


def told(inputs: str, consumed: str, *outputs: Dataset) -> dict[str, str]:
    stated = stated_sources(map(made, inputs), outputs, map(made, consumed))
    return {target: "".join(name for _, name in found) for (_, target), found in stated.items()}


def test_no_lineage_if_every_output_depends_on_every_input() -> None:
    assert told("ab", "", made("c"), made("d")) == {}
    assert told("ab", "", made("c", "a", "b"), made("d")) == {}
    assert told("", "", made("c")) == {}
    assert told("a", "") == {}


def test_output_without_sources_depends_on_unconsumed_inputs() -> None:
    assert told("ab", "", made("c", "a"), made("d")) == {"c": "a", "d": "ab"}
    assert told("a", "q", made("c", "q"), made("d")) == {"c": "q", "d": "a"}


def test_input_of_step_and_query_feeds_other_outputs() -> None:
    assert told("aq", "q", made("c", "q"), made("d")) == {"c": "q", "d": "aq"}


def test_repeated_sources_of_an_output_are_merged() -> None:
    assert told("ab", "x", made("c", "a"), made("c", "b"), made("c")) == {"c": "ab"}
