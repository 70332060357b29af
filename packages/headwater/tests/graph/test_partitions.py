"""A load that reports its partitions replaces only these: the facet `subset` of an output."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.lineage.queries import edges_answer, tree_answer
from headwater.plugins.impact.queries import impact_answer
from headwater.plugins.provenance._answer import provenance_answer
from headwater.plugins.trust.gate import gate_answer
from headwater.projection import State
from packages.headwater.tests.plugins.incidents.test_taints import _tainted as tainted
from packages.headwater.tests.support.graphs import all_names, commit
from packages.headwater.tests.support.reports import versioned

_PARTS = "abc"


def _subset(*parts: str) -> dict[str, Any]:
    partitions = [{"identifier": part, "dimensions": {"file": part}} for part in parts]
    return {"outputCondition": {"type": "partition", "partitions": partitions}}


def _load(build: Any, number: int, parts: Iterable[str], *, commits: bool = True) -> Any:
    """Return a load of partitions from a file of its own, as version `v{number}` of raw."""
    event = build.run("COMPLETE", f"l{number}", "load", _time(number), reads=(f"file|/f{number}",))
    event["outputs"] = [output := build.dataset("db|raw")]
    if commits:
        commit(event, 10, 100)
        versioned(event, raw=f"v{number}")
    output["facets"]["lifecycleStateChange"] = _OVERWRITE
    output.setdefault("outputFacets", {})["subset"] = _subset(*parts)
    return event


def _train(build: Any, number: int, *, version: str | None = None) -> Any:
    """Return a training of its own model."""
    event = build.run("COMPLETE", f"t{number}", "train", _time(number), reads=("db|raw",),
                      writes=(f"mf|m{number}",))  # fmt: skip
    if version:
        event["inputs"][0]["facets"] = {"version": {"datasetVersion": version}}
    return event


_OVERWRITE = {"lifecycleStateChange": "OVERWRITE"}


def _time(number: int) -> str:
    return f"{number // 60:02}:{number % 60:02}:00"


def _files(state: State, node: str, *, version: str | None = None) -> set[str]:
    """Return the files in the tree of a dataset; tree and provenance must agree."""
    found = {name for name in all_names(tree_answer(state, node)["up"]) if name[:2] == "/f"}
    answer = provenance_answer(state, node)
    assert {item["name"] for item in answer["sources"] if item["name"][:2] == "/f"} == found
    return found


def test_later_load_of_one_partition_keeps_the_others(build: Any) -> None:
    events = [
        _load(build, 0, "a"), _load(build, 1, "b"), _train(build, 2),
        _load(build, 3, "a"), _train(build, 4),
    ]  # fmt: skip
    state = build.state(*events)
    assert _files(state, "m2") == {"/f0", "/f1"}
    assert _files(state, "m4") == {"/f1", "/f3"}
    assert _files(state, "raw") == {"/f1", "/f3"}
    present = {row["dataset"]["name"] for row in edges_answer(state)["items"]}
    assert present >= {"/f1", "/f3"}


def test_load_of_several_partitions_counts_until_all_are_replaced(build: Any) -> None:
    first = [_load(build, 0, "ab"), _load(build, 1, "a")]
    assert _files(build.state(*first), "raw") == {"/f0", "/f1"}
    assert _files(build.state(*first, _load(build, 2, "b")), "raw") == {"/f1", "/f2"}


def test_partition_is_also_replaced_without_a_commit_report(build: Any) -> None:
    loads = [_load(build, n, part, commits=False) for n, part in enumerate("aba")]
    assert _files(build.state(*loads), "raw") == {"/f1", "/f2"}


@pytest.mark.parametrize(
    "condition",
    [
        {"type": "compare", "comparison": "EQUAL", "left": {}, "right": {}},
        {"type": "partition", "partitions": [{"dimensions": {}}]},
    ],
)
def test_unknown_part_keeps_every_earlier_load(condition: Any, build: Any) -> None:
    unknown = _load(build, 2, "a", commits=False)
    unknown["outputs"][0]["outputFacets"]["subset"] = {"outputCondition": condition}
    state = build.state(_load(build, 0, "a"), _load(build, 1, "b"), unknown)
    assert _files(state, "raw") == {"/f0", "/f1", "/f2"}


def test_run_beside_one_with_partitions_may_have_written_any_part(build: Any) -> None:
    """The partitions of one mapped element say nothing about those of another one."""
    parent = ("d", "dag")
    elements = [
        build.run("COMPLETE", f"e{n}", "load", _time(n), parent=parent, reads=(f"file|/f{n}",),
                  writes=("db|raw",))
        for n in (0, 1)
    ]  # fmt: skip
    elements[0]["outputs"][0]["outputFacets"] = {"subset": _subset("a")}
    state = build.state(*elements, _load(build, 2, "a"), _load(build, 3, "b"))
    assert _files(state, "raw") == {"/f0", "/f1", "/f2", "/f3"}


def test_task_need_not_repeat_the_partitions_of_its_query(build: Any) -> None:
    events = []
    for number in (0, 1):
        task = (f"t{number}", "task")
        events.append(build.run("COMPLETE", *task, _time(number), writes=("db|raw",)))
        query = _load(build, number, "a")
        query["run"]["facets"]["parent"] = {
            "run": {"runId": task[0]}, "job": {"namespace": "demo", "name": task[1]},
        }  # fmt: skip
        events.append(query)
    assert _files(build.state(*events), "raw") == {"/f1"}


def test_append_to_a_partition_keeps_its_rows(build: Any) -> None:
    append = _load(build, 1, "a")
    append["outputs"][0]["facets"].pop("lifecycleStateChange")
    assert _files(build.state(_load(build, 0, "a"), append), "raw") == {"/f0", "/f1"}


def test_corrected_load_of_a_recalled_month_clears_what_is_trained_again(build: Any) -> None:
    events = [_load(build, 0, "a"), _load(build, 1, "b"), _train(build, 2)]
    taint = f"raw@v{0}"

    def refused(node: str, *more: Any) -> bool:
        state = tainted(build, [*events, *more], taint)
        return not gate_answer(state, [node])["passed"]

    assert refused("m2")
    corrected = _load(build, 3, "a")
    assert not refused("raw", corrected)
    assert refused("m2", corrected)
    assert not refused("m4", corrected, _train(build, 4))
    assert refused("m4", _load(build, 3, "b"), _train(build, 4))


def test_run_that_confirms_a_version_is_upstream_instead_of_its_writer(build: Any) -> None:
    """A count that finds the same numbers in corrected data does not write them again."""
    confirming = _load(build, 2, "a", commits=False)
    confirming["outputs"][0]["facets"] = {"version": {"datasetVersion": "v0"}}
    events = [_load(build, 0, "a"), _train(build, 1, version="v0"), confirming]
    state = build.state(*events, _train(build, 3, version="v0"))
    assert _files(state, "m1") == {"/f0"}
    assert _files(state, "m3") == {"/f2"}
    assert _files(state, "raw") == {"/f2"}


def test_provenance_of_a_version_has_the_partitions_that_it_kept(build: Any) -> None:
    loads = [_load(build, n, part) for n, part in enumerate("abab")]
    state = build.state(*loads)
    for version, files in (("v1", {"/f0", "/f1"}), ("v2", {"/f1", "/f2"})):
        answer = provenance_answer(state, "raw", version=version)
        assert {item["name"] for item in answer["sources"]} == files


_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("load"), st.sets(st.sampled_from(_PARTS), min_size=1)),
        st.tuples(st.just("train"), st.booleans()),
        st.tuples(st.just("replace"), st.sets(st.sampled_from(_PARTS))),
    ),
    min_size=1,
    max_size=9,
)


@pytest.mark.replay
@given(_STEPS, st.randoms(use_true_random=False))
def test_readers_depend_on_the_newest_load_of_each_partition(
    build: Any, steps: list[tuple[str, Any]], random: Any
) -> None:
    events, expected, contents, newest = [], {}, dict[str, int](), None
    for number, (kind, what) in enumerate(steps):
        if kind == "load":
            events.append(_load(build, number, sorted(what)))
            contents |= dict.fromkeys(what, number)
            newest = f"v{number}"
        elif kind == "replace":
            whole = commit(_load(build, number, ""), 10, 10)
            if what:
                whole["outputs"][0]["outputFacets"]["subset"] = _subset(*sorted(what))
            events.append(whole)
            contents, newest = dict.fromkeys(what or {""}, number), f"v{number}"
        else:
            events.append(_train(build, number, version=newest if what else None))
            expected[f"m{number}"] = {f"/f{n}" for n in contents.values()}
    random.shuffle(events)
    state = build.state(*events)
    if contents:
        assert _files(state, "raw") == {f"/f{n}" for n in contents.values()}
    for model, files in expected.items():
        assert _files(state, model) == files
    loaded = [f"/f{n}" for n, (kind, _) in enumerate(steps) if kind != "train"]
    reached = {
        (file, node["name"])
        for file in loaded
        for node in impact_answer(state, f"dataset:file:{file}")["affected"]
    }
    for file, (model, files) in itertools.product(loaded, expected.items()):
        assert ((file, model) in reached) is (file in files)
