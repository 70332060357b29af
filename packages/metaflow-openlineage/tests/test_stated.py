"""The inputs of each output of a step, from explicit sources."""

from __future__ import annotations

import pytest

from metaflow_openlineage import Dataset
from metaflow_openlineage._stated import stated_sources

# Metaflow's own import of a moved module; it depends on which packages are installed.
pytestmark = pytest.mark.filterwarnings("ignore:The _yaml extension module")


def output(name: str, *sources: str) -> Dataset:
    return Dataset("n", name, sources=tuple(Dataset("n", source) for source in sources) or None)


def sources_of(inputs: str, consumed: str, *outputs: Dataset) -> dict[str, str]:
    stated = stated_sources(map(output, inputs), outputs, map(output, consumed))
    return {target: "".join(name for _, name in found) for (_, target), found in stated.items()}


def test_no_lineage_if_every_output_depends_on_every_input() -> None:
    assert sources_of("ab", "", output("c"), output("d")) == {}
    assert sources_of("ab", "", output("c", "a", "b"), output("d")) == {}
    assert sources_of("", "", output("c")) == {}
    assert sources_of("a", "") == {}


def test_output_without_sources_depends_on_unconsumed_inputs() -> None:
    assert sources_of("ab", "", output("c", "a"), output("d")) == {"c": "a", "d": "ab"}
    assert sources_of("a", "q", output("c", "q"), output("d")) == {"c": "q", "d": "a"}


def test_input_of_step_and_query_feeds_other_outputs() -> None:
    assert sources_of("aq", "q", output("c", "q"), output("d")) == {"c": "q", "d": "aq"}


def test_output_without_sources_depends_on_outputs_read_back() -> None:
    outputs = output("k"), Dataset("n", "c", sources=()), output("d")
    stated = stated_sources([], outputs, read_back=[("n", "k")])
    assert {
        name: "".join(source for _, source in found) for (_, name), found in stated.items()
    } == {
        "k": "",
        "c": "",
        "d": "k",
    }


def test_repeated_sources_of_an_output_are_merged() -> None:
    assert sources_of("ab", "x", output("c", "a"), output("c", "b"), output("c")) == {"c": "ab"}
