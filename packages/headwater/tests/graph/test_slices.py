"""A run that loads several partitions: each comes only from its own source, if it is reported."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.lineage.queries import columns_answer, tree_answer
from headwater.plugins.impact.queries import impact_answer
from headwater.plugins.incidents._incident import incident_answer
from headwater.plugins.provenance.queries import provenance_answer
from headwater.plugins.trust.gate import gate_answer
from headwater.projection import State
from packages.headwater.tests.plugins.incidents.test_taints import _tainted as tainted
from packages.headwater.tests.support.graphs import all_names, commit
from packages.headwater.tests.support.reports import versioned

_MONTHS = ("may", "june", "july")


def _partition(month: str) -> dict[str, Any]:
    return {"dimensions": {"month": month}}


def _load(build: Any, number: int, months: Sequence[str], *, is_new: bool = True) -> list[Any]:
    """Return a load of months: `stage` replaces staging, `merge` upserts these months of raw.

    If nothing is new, `merge` reports that it found these months up to date.
    """
    parent = (f"d{number}", "dag")
    names = [f"/{month}{number}" for month in months]
    stage = build.run("COMPLETE", f"s{number}", "stage", _time(number, 1), parent=parent,
                      reads=[f"file|{name}" for name in names], writes=("db|staging",))  # fmt: skip
    commit(stage, 10, 10)
    sources = {m: [{"namespace": "file", "name": n}] for m, n in zip(months, names, strict=True)}
    _state_sources(stage, sources)
    merge = build.run("COMPLETE", f"m{number}", "merge", _time(number, 2), parent=parent,
                      reads=("db|staging",), writes=("db|raw",))  # fmt: skip
    if is_new:
        commit(merge, 10, 100)
        version = f"v{number}"
        merge["outputs"][0]["facets"]["version"] = {"datasetVersion": version}
    staging = {"namespace": "db", "name": "staging"}
    _state_sources(merge, {m: [{**staging, "partition": _partition(m)}] for m in months})
    return [stage, merge]


def _state_sources(event: Any, sources: dict[str, Any]) -> None:
    (output,) = event["outputs"]
    output["facets"]["lifecycleStateChange"] = {"lifecycleStateChange": "OVERWRITE"}
    partitions = [_partition(month) for month in sources]
    condition = {"type": "partition", "partitions": partitions}
    stated = [{**_partition(month), "inputs": found} for month, found in sources.items()]
    output.setdefault("outputFacets", {}).update(
        subset={"outputCondition": condition},
        headwater_partitionSources={"partitions": stated},
    )


def _train(build: Any, number: int) -> Any:
    return build.run("COMPLETE", f"t{number}", "train", _time(number, 3),
                     reads=("db|raw",), writes=(f"mf|m{number}",))  # fmt: skip


def _time(number: int, minute: int) -> str:
    return f"{number:02}:{minute:02}:00"


def _files(state: State, node: str) -> set[str]:
    """Return the files in the tree of a dataset; tree and provenance must agree."""
    found = {name for name in all_names(tree_answer(state, node)["up"]) if name.startswith("/")}
    answer = provenance_answer(state, node)
    assert {item["name"] for item in answer["sources"] if item["name"].startswith("/")} == found
    return found


def _is_refused(state: State, node: str) -> bool:
    (gated,) = gate_answer(state, [node])["datasets"]
    return "no_tainted" in {violation["kind"] for violation in gated["violations"]}


@pytest.mark.parametrize("is_written", [True, False])
def test_corrected_month_clears_recall_of_its_file(*, is_written: bool, build: Any) -> None:
    """Also if the file has no writer, so that only the runs that read the version are known."""
    before = [*_load(build, 0, ("may", "june")), _train(build, 0)]
    corrected = _load(build, 1, ("may",))
    recalled = "/may0@s0"
    if is_written:
        download = build.run("COMPLETE", "s0", "download", "00:00:30", writes=("file|/may0",))
        before = [versioned(download, **{"/may0": "s0"}), *before]
    else:
        versioned(before[0], **{"/may0": "s0"})

    def refused(*nodes: str, more: Sequence[Any]) -> list[str]:
        state = tainted(build, [*before, *more], recalled)
        return [node for node in nodes if _is_refused(state, node)]

    assert refused("raw", "m0", more=[]) == ["raw", "m0"]
    later = [*corrected, _train(build, 2)]
    assert refused("raw", "m0", "m2", more=later) == ["m0"]
    incident = incident_answer(build.state(*before, *later), recalled)
    assert {node["name"] for node in incident["affected"] if node["isCurrent"]} == {"m0"}


def test_mapped_tasks_that_report_their_partitions_have_only_their_own_inputs(build: Any) -> None:
    def element(number: int, month: str) -> Any:
        event = build.run(
            "COMPLETE", f"e{number}", "load", _time(number, 0), parent=(f"d{number // 2}", "dag"),
            reads=(f"file|/{month}{number}",), writes=("db|raw",),
        )  # fmt: skip
        condition = {"type": "partition", "partitions": [_partition(month)]}
        event["outputs"][0]["outputFacets"] = {"subset": {"outputCondition": condition}}
        return event

    state = build.state(element(0, "may"), element(1, "june"), element(2, "may"))
    assert _files(state, "raw") == {"/june1", "/may2"}
    affected = impact_answer(state, "dataset:file:/may0")["affected"]
    assert "raw" not in {item["name"] for item in affected}
    assert {run["job"]["name"] for run in provenance_answer(state, "raw")["runs"]} == {"load"}
    runs = {run["run"]["runId"] for run in provenance_answer(state, "raw")["runs"]}
    assert runs == {"e1", "e2"}


def test_source_that_the_run_did_not_read_is_ignored(build: Any) -> None:
    """Then each partition may come from everything that was read."""
    events = [*_load(build, 0, ("may", "june")), *_load(build, 1, ("may",))]
    for stated in events[0]["outputs"][0]["outputFacets"]["headwater_partitionSources"][
        "partitions"
    ]:
        stated["inputs"] = [{"namespace": "file", "name": "/elsewhere"}]
    assert _files(build.state(*events), "raw") == {"/may0", "/june0", "/may1"}


def test_columns_come_from_the_sources_of_the_partitions_that_are_left(build: Any) -> None:
    events = [*_load(build, 0, ("may", "june")), *_load(build, 1, ("may",))]
    for event in events:
        made_of = [
            {"namespace": i["namespace"], "name": i["name"], "field": "x"} for i in event["inputs"]
        ]
        columns = {"fields": {"x": {"inputFields": made_of}}}
        event["outputs"][0]["facets"]["columnLineage"] = columns
    state = build.state(*events)
    (column,) = columns_answer(state, "raw")["up"]["children"]
    found = {leaf["name"] for staged in column["children"] for leaf in staged["children"]}
    assert found == {"/june0", "/may1"}


_STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(("load", "confirm")),
                  st.lists(st.sampled_from(_MONTHS), min_size=1, unique=True)),
        st.tuples(st.just("train"), st.just([])),
    ),
    min_size=1,
    max_size=8,
)  # fmt: skip


@pytest.mark.replay
@given(_STEPS, st.randoms(use_true_random=False))
def test_readers_depend_on_the_file_of_the_newest_load_of_each_month(
    build: Any, steps: list[tuple[str, list[str]]], random: Any
) -> None:
    events, expected, contents = [], {}, dict[str, str]()
    for number, (kind, months) in enumerate(steps):
        if kind == "train":
            events.append(_train(build, number))
            expected[f"m{number}"] = set(contents.values())
        else:
            events += _load(build, number, months, is_new=kind == "load")
            contents |= {month: f"/{month}{number}" for month in months}
    random.shuffle(events)
    state = build.state(*events)
    if contents:
        assert _files(state, "raw") == set(contents.values())
    for model, files in expected.items():
        assert _files(state, model) == files
    every = {f"/{m}{n}" for n, (kind, months) in enumerate(steps) for m in months}
    for file in every:
        affected = impact_answer(state, f"dataset:file:{file}")["affected"]
        reached = {item["name"] for item in affected}
        assert ("raw" in reached) is (file in contents.values())
        assert {m for m in expected if m in reached} == {m for m in expected if file in expected[m]}
